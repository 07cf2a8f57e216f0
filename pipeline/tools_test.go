package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/scenario"
	"riposte/transport"
)

// A turn's trace says what ran, for how long and with what outcome, and what was said meanwhile.
func TestToolTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast()
		c.answers["what time is it"], c.calls["what time is it"] = "", []scenario.Call{{Tool: "time", About: "Rome"}, {Tool: "lost", About: "keys"}}
		box := &toolbox{}
		box.set(scenario.Runs{Tool: "time", Takes: 3500 * ms, Text: "noon"})
		box.set(scenario.Runs{Tool: "lost", Text: "nobody knows", Outcome: "failed"})
		l := newLine(t)
		s := enforcing(l, c)
		var turns []trace.Turn
		s.Tools, s.Waiting, s.Trace = box, Waiting{time.Second, []string{"Still looking."}}, func(t trace.Turn) { turns = append(turns, t) }
		s.Phrases, s.Openers = c, []string{"Let me see."}
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		c.tell(l, "what time is it", 9*time.Second)
		close(l.hang)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) {
			t.Fatal(err)
		}
		if len(turns) != 1 {
			t.Fatalf("%d turns were traced", len(turns))
		}
		var events []string
		for _, e := range turns[0].Events {
			if slices.Contains([]string{trace.KindTool, trace.KindFiller, trace.KindAction}, e.Kind) {
				events = append(events, e.Kind+" "+e.Detail)
			}
		}
		want := "tool time: ok after 3.5s, tool lost: failed after 0s, filler Let me see., action llm: opener, filler Still looking."
		if got := strings.Join(events, ", "); !strings.HasPrefix(got, want) {
			t.Errorf("the trace has %s\nwant %s", got, want)
		}
		if r := turns[0].Report; r.Verdict != budget.Masked || r.Total > r.Plan.Total() || !slices.Equal(turns[0].Tools, []string{"time", "lost"}) {
			t.Errorf("tools %v, report %+v", turns[0].Tools, r)
		}
	})
}

// A tool during which the call ends, as it does by one that transfers the caller, is traced as well.
func TestToolThatEndsTheCallIsTraced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast()
		c.answers["what time is it"], c.calls["what time is it"] = "", []scenario.Call{{Tool: "transfer_call", About: "sales"}}
		box := &toolbox{}
		box.set(scenario.Runs{Tool: "transfer_call", Outcome: "hangs"})
		l := newLine(t)
		s := enforcing(l, c)
		var turns []trace.Turn
		s.Tools, s.Trace = box, func(t trace.Turn) { turns = append(turns, t) }
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		c.tell(l, "what time is it", 3*time.Second)
		close(l.hang)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) {
			t.Fatal(err)
		}
		if len(turns) != 1 || !slices.Equal(turns[0].Tools, []string{"transfer_call"}) {
			t.Fatalf("the turns are %+v", turns)
		}
		var events []string
		for _, e := range turns[0].Events {
			if e.Kind == trace.KindTool {
				events = append(events, e.Detail)
			}
		}
		// The tool hears of the call's end at the same time as the one who plays: either may be the first to say what became of it.
		if len(events) != 1 || !strings.HasPrefix(events[0], "transfer_call: the call ended after ") && !strings.HasPrefix(events[0], "transfer_call: cancelled after ") {
			t.Errorf("the trace has %q", events)
		}
	})
}
