package export

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
)

// event is one of Chrome's trace events, which Perfetto reads as well. Times are microseconds.
type event struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	Scope string         `json:"s,omitempty"` // Of a moment.
	Time  int64          `json:"ts"`
	Took  int64          `json:"dur,omitempty"`
	Call  int            `json:"pid"`
	Turn  int            `json:"tid"`
	About map[string]any `json:"args,omitempty"`
}

// The phases of events.
const (
	span     = "X"
	instant  = "i"
	metadata = "M"
)

// Perfetto writes turns as Chrome trace events, which https://ui.perfetto.dev and chrome://tracing show: a process for each call, in it
// a thread for each turn, with its stages, marks, words and events. It ends with the first error.
func Perfetto(out io.Writer, turns iter.Seq2[trace.Turn, error]) error {
	w := bufio.NewWriter(out)
	fmt.Fprint(w, `{"displayTimeUnit":"ms","traceEvents":[`)
	calls := map[string]int{}
	between := ""
	write := func(e event) error {
		text, err := json.Marshal(e)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n%s", between, text)
		between = ","
		return err
	}
	for t, err := range turns {
		if err != nil {
			return err
		}
		call, known := calls[t.Call]
		if !known {
			call = len(calls) + 1
			calls[t.Call] = call
			if err := write(event{Name: "process_name", Phase: metadata, Call: call, About: map[string]any{"name": "call " + t.Call}}); err != nil {
				return fmt.Errorf("writing for Perfetto: %w", err)
			}
		}
		for _, e := range events(t) {
			e.Call, e.Turn = call, t.Number
			if err := write(e); err != nil {
				return fmt.Errorf("writing for Perfetto: %w", err)
			}
		}
	}
	fmt.Fprint(w, "\n]}\n")
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing for Perfetto: %w", err)
	}
	return nil
}

// events returns those of a turn.
func events(t trace.Turn) []event {
	r := t.Report
	zero := r.SpeechEnd.UnixMicro()
	if r.SpeechEnd.IsZero() {
		zero = 0
	}
	moment := func(name string, at time.Duration, about map[string]any) event {
		return event{Name: name, Phase: instant, Scope: "t", Time: zero + at.Microseconds(), About: about}
	}
	all := []event{
		{Name: "thread_name", Phase: metadata, About: map[string]any{"name": fmt.Sprintf("turn %d %s", t.Number, r.Verdict)}},
		{Name: "turn", Phase: span, Time: zero, Took: max(r.Total, r.Marks[budget.Done]).Microseconds(), About: map[string]any{
			"id": t.ID, "said": t.Said, "answer": t.Answer, "verdict": r.Verdict, "blame": r.Blame, "status": t.Status, "reason": t.Reason, "route": t.Route,
			"version": t.Version, "gap_ms": float64(r.Total.Microseconds()) / 1000, "budget_ms": float64(r.Plan.Total().Microseconds()) / 1000,
			"tokens": map[string]int{"input": t.Tokens.Input, "cached": t.Tokens.Cached, "output": t.Tokens.Output},
		}},
	}
	var begin time.Duration
	for _, s := range budget.Stages {
		took, ok := r.Stages[s]
		if !ok {
			break
		}
		about := map[string]any{"share_ms": float64(r.Plan.Share(s).Microseconds()) / 1000}
		if m := t.Models[s]; m != "" {
			about["model"] = m
		}
		if w, ok := t.Work[s]; ok {
			about["runs"], about["waited_ms"], about["ran_ms"] = w.Runs, float64(w.Waited.Microseconds())/1000, float64(w.Ran.Microseconds())/1000
		}
		all = append(all, event{Name: string(s), Phase: span, Time: zero + begin.Microseconds(), Took: took.Microseconds(), About: about})
		begin += took
	}
	all = append(all, moment("budget", r.Plan.Total(), nil))
	for _, m := range marks {
		if at, ok := r.Marks[m]; ok {
			all = append(all, moment(string(m), at, nil))
		}
	}
	for _, w := range t.Words {
		all = append(all, moment("words", w.At, map[string]any{"text": w.Text, "stable": w.Stable}))
	}
	for _, a := range r.Actions {
		all = append(all, moment(string(a.Kind), a.At, map[string]any{"stage": a.Stage}))
	}
	for _, e := range t.Events {
		if e.Kind != trace.KindAction || len(r.Actions) == 0 {
			all = append(all, moment(e.Kind, e.At, map[string]any{"detail": e.Detail}))
		}
	}
	return all
}
