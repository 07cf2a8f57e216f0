package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"riposte/budget"
	"riposte/budget/trace"
)

// kinds are the events that are counted by their name.
var kinds = []string{
	trace.KindBargeIn, trace.KindHeld, trace.KindReleased, trace.KindContinued, trace.KindDropped, trace.KindDegraded, trace.KindTool, trace.KindFiller,
	trace.KindFault, trace.KindRedial, trace.KindTruncated, trace.KindEar,
}

// unanswered is the verdict of a turn that has none: it was not answered aloud, or nobody asked aloud.
const unanswered = "none"

// CallBegan counts a call.
func (m *Metrics) CallBegan(c trace.Call) {
	route := m.routes.of(c.Route)
	m.calls.WithLabelValues(route, m.wires.of(c.Wire)).Inc()
	// A counter that begins with its first turn would hide that turn: rates need a value before.
	for _, v := range []budget.Verdict{budget.Met, budget.Masked, budget.Over, budget.Failed, unanswered} {
		m.turns.WithLabelValues(route, string(v), "")
	}
	for _, s := range budget.Stages {
		m.turns.WithLabelValues(route, string(budget.Masked), string(s))
		m.turns.WithLabelValues(route, string(budget.Over), string(s))
	}
	for _, s := range []string{"completed", "incomplete", "cancelled", "failed"} {
		m.asides.WithLabelValues(route, s)
	}
	for _, k := range kinds {
		m.events.WithLabelValues(route, k)
	}
}

// CallEnded counts its end.
func (m *Metrics) CallEnded(c trace.Call) {
	m.ends.WithLabelValues(m.routes.of(c.Route), m.reasons.of(c.Reason)).Inc()
}

// Refused counts a call that was not taken.
func (m *Metrics) Refused(reason string) {
	m.refused.WithLabelValues(m.refusals.of(reason)).Inc()
}

// TurnEnded counts a turn and what it took.
func (m *Metrics) TurnEnded(t trace.Turn) {
	route, r := m.routes.of(t.Route), t.Report
	model := func(s budget.Stage) string { return m.models.of(t.Models[s]) }
	verdict := r.Verdict
	switch {
	case t.Status == "failed":
		verdict = budget.Failed
	case verdict == "":
		verdict = unanswered
	}
	m.turns.WithLabelValues(route, string(verdict), string(r.Blame)).Inc()
	if verdict != unanswered {
		if r.Total > 0 {
			m.gap.WithLabelValues(route, model(budget.LLM)).Observe(r.Total.Seconds())
		}
		for s, took := range r.Stages {
			m.stages.WithLabelValues(string(s), route, model(s)).Observe(took.Seconds())
		}
	}
	for _, a := range r.Actions {
		m.actions.WithLabelValues(route, string(a.Stage), m.acts.of(string(a.Kind))).Inc()
	}
	for _, e := range t.Events {
		switch {
		case slices.Contains(kinds, e.Kind):
			m.events.WithLabelValues(route, e.Kind).Inc()
		case e.Kind != trace.KindAction && e.Kind != trace.KindGuess: // those have counters of their own
			m.events.WithLabelValues(route, "other").Inc()
		}
	}
	m.arrived(t)
	m.guessed(route, t.Guesses)
	spend(m.tokens, t.Tokens, model(budget.LLM))
	for s, w := range t.Work {
		m.runs.WithLabelValues(string(s)).Add(float64(w.Runs))
		m.waited.WithLabelValues(string(s)).Add(w.Waited.Seconds())
		m.ran.WithLabelValues(string(s)).Add(w.Ran.Seconds())
	}
}

// spend counts tokens in a counter whose last label is their kind.
func spend(c *prometheus.CounterVec, t trace.Tokens, labels ...string) {
	for kind, n := range map[string]int{"read": t.Input - t.Cached, "cached": t.Cached, "written": t.Output} {
		c.WithLabelValues(append(labels[:len(labels):len(labels)], kind)...).Add(float64(max(0, n)))
	}
}

// TurnChanged counts what came of a turn after its end: when its answer was heard.
func (m *Metrics) TurnChanged(t trace.Turn) { m.arrived(t) }

// arrived counts when the caller's side heard the answer, if it has said so. It does so once in a turn.
func (m *Metrics) arrived(t trace.Turn) {
	for _, e := range t.Events {
		if e.Kind == trace.KindEar {
			m.ears.WithLabelValues(m.routes.of(t.Route)).Observe(e.At.Seconds())
		}
	}
}

// ToolRan counts a call of a tool that the service has run, and what it took.
func (m *Metrics) ToolRan(tool, outcome string, took time.Duration) {
	m.toolTimes.WithLabelValues(m.tools.of(tool), outcome).Observe(took.Seconds())
}

// guessed counts the answers that were begun before a turn was decided: at most one of them is given.
func (m *Metrics) guessed(route string, g trace.Guesses) {
	given := 0
	if g.Stood {
		given = 1
	}
	m.guesses.WithLabelValues(route, "given").Add(float64(given))
	m.guesses.WithLabelValues(route, "dropped").Add(float64(max(0, g.Tries-given)))
	m.wasted.Add(float64(max(0, g.Wasted)))
}
