package pipeline

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/transport"
)

// A turn whose caller hangs up is kept as well, once, with what was heard of its answer, and judged: who gives up has waited.
func TestHangUpIsTraced(t *testing.T) {
	for name, tt := range map[string]struct {
		wait    time.Duration // From the end of the speech on.
		ttft    time.Duration
		token   time.Duration // Of each after the first; 0 is 10 ms.
		record  bool
		wrote   int // Tokens.
		heard   string
		verdict budget.Verdict
		blame   budget.Stage
	}{
		"in mid-answer":              {wrote: 5, wait: 1500 * ms, ttft: 80 * ms, heard: "It is noon", verdict: budget.Met},
		"in mid-answer, recorded":    {wrote: 5, wait: 1500 * ms, ttft: 80 * ms, record: true, heard: "It is noon", verdict: budget.Met},
		"while the model writes":     {wrote: 6, token: 200 * ms, wait: 1500 * ms, ttft: 80 * ms, heard: "It is", verdict: budget.Over, blame: budget.LLM},
		"before the model begins":    {wait: 700 * ms, ttft: 4 * time.Second},
		"after waiting for too long": {wait: 2 * time.Second, ttft: 4 * time.Second, verdict: budget.Over, blame: budget.LLM},
	} {
		t.Run(name, func(t *testing.T) {
			var turns []trace.Turn
			e := quick()
			e.ttft, e.token, e.says = tt.ttft, cmp.Or(tt.token, e.token), "It is noon, as far as I can see, and it will be one in an hour from now, unless I am wrong."
			session(t, e, func(s *Session) {
				s.Trace, s.Record = func(t trace.Turn) { turns = append(turns, t) }, tt.record
			}, func(l *line) {
				end := l.speak(time.Second, 600*ms)
				time.Sleep(time.Until(end.Add(tt.wait)))
			})
			if len(turns) != 1 {
				t.Fatalf("%d turns were told of, want 1: %+v", len(turns), turns)
			}
			got := turns[0]
			if got.Status != string(transport.Cancelled) || got.Reason != "hung_up" || got.Report.Verdict != tt.verdict || got.Report.Blame != tt.blame {
				t.Errorf("%s %s, %q by %q, want it hung up on and %q by %q", got.Status, got.Reason, got.Report.Verdict, got.Report.Blame, tt.verdict, tt.blame)
			}
			if got.Answer != "" && tt.heard == "" || !strings.HasPrefix(got.Answer, tt.heard) || strings.Contains(got.Answer, "wrong") {
				t.Errorf("%q was heard, want %q and no more than sounded", got.Answer, tt.heard)
			}
			// Of what the model has read and written by then, where it had begun.
			if want := (trace.Tokens{Input: 10, Cached: 4, Output: tt.wrote}); tt.wrote > 0 && got.Tokens != want || tt.wrote == 0 && got.Tokens != (trace.Tokens{}) {
				t.Errorf("the tokens are %+v, want %d written", got.Tokens, tt.wrote)
			}
			if got.Said != "what time is it" {
				t.Errorf("the caller said %q", got.Said)
			}
			if tt.record && (got.Sound == nil || len(got.Sound.Caller) == 0) {
				t.Errorf("nothing is recorded: %+v", got.Sound)
			}
		})
	}
}
