package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/transport"
)

// Each turn goes by the plan of the settings under which it was decided: the budget acts by it, and judges by it.
func TestPlanOfTurn(t *testing.T) {
	patient := budget.DefaultPlan
	patient.LLM = 3 * time.Second
	watching := budget.DefaultPlan
	watching.Observe = true
	hasty := budget.Plan{Mic: 40 * ms, STT: 300 * ms, LLM: 60 * ms, TTS: 100 * ms}
	for _, tt := range []struct {
		name    string
		plan    budget.Plan
		hedge   bool // There is one, which is quick.
		verdict budget.Verdict
		actions []budget.ActionKind
		heard   time.Duration // Something was, by then.
	}{
		{"the service's", budget.Plan{}, false, budget.Masked, []budget.ActionKind{budget.Opener}, budget.DefaultPlan.Total()},
		{"one that waits", patient, false, budget.Met, nil, patient.Total()},
		{"one that only judges", watching, false, budget.Over, nil, 3 * time.Second},
		{"one in a hurry", hasty, false, budget.Masked, []budget.ActionKind{budget.Opener}, hasty.Total()},
		{"one that has the hedge asked", budget.Plan{}, true, budget.Masked, []budget.ActionKind{budget.Hedge}, budget.DefaultPlan.Total()},
		{"one that waits for the hedge", patient, true, budget.Met, nil, patient.Total()},
		{"one that judges without the hedge", watching, true, budget.Over, nil, 3 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, l := newCast(), newLine(t)
				c.llm.takes = 1500 * ms
				s := enforcing(l, c)
				s.Limits.Guesses = -1 // they would begin sooner than the plan knows
				if tt.hedge {
					quick := newCast()
					quick.llm.takes = 80 * ms
					s.Hedge = quick
				}
				done := make(chan error)
				go func() { done <- s.Run(t.Context()) }()
				if tt.plan != (budget.Plan{}) {
					asked := s.Settings
					asked.Plan = tt.plan
					l.in <- transport.Configure{Settings: asked}
				}
				end := c.tell(l, "what time is it", 9*time.Second)
				close(l.hang)
				if err := <-done; !errors.Is(err, transport.ErrHungUp) {
					t.Fatal(err)
				}
				told := told[transport.TurnReport](l)
				if len(told) != 1 {
					t.Fatalf("there are %d reports", len(told))
				}
				r := told[0].Report
				want := tt.plan
				if want == (budget.Plan{}) {
					want = budget.DefaultPlan
				}
				if r.Plan != want || r.Verdict != tt.verdict {
					t.Errorf("a turn that is %s, by %+v, want %s by %+v", r.Verdict, r.Plan, tt.verdict, want)
				}
				var did []budget.ActionKind
				for _, a := range r.Actions {
					did = append(did, a.Kind)
				}
				if len(did) != len(tt.actions) || len(did) > 0 && did[0] != tt.actions[0] {
					t.Errorf("done was %v, want %v: %+v", did, tt.actions, r)
				}
				if at := firstHeard(l); at.IsZero() || at.Sub(end) > tt.heard {
					t.Errorf("something was heard after %v, want %v at most", at.Sub(end), tt.heard)
				}
			})
		})
	}
}
