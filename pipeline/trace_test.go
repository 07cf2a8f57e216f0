package pipeline

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/transport"
)

// A turn's trace tells what was heard when, what became of it, and what the budget did.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast()
		c.llm.takes = 1500 * ms
		c.says = "It is noon, as far as I can see. Is there anything else that I can do for you?"
		l := newLine(t)
		s := enforcing(l, c)
		s.Record = true
		s.Models = map[budget.Stage]string{budget.LLM: "fake"}
		var turns []trace.Turn
		s.Trace = func(t trace.Turn) { turns = append(turns, t) }
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		c.tell(l, "what time is it", 4*time.Second)
		c.tell(l, "stop it now please", 12*time.Second)
		close(l.hang)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) {
			t.Fatal(err)
		}
		if len(turns) != 2 {
			t.Fatalf("%d turns, want 2: %+v", len(turns), turns)
		}
		one := turns[0]
		if one.Number != 1 || one.Said != "what time is it" || one.Answer == "" || one.Models[budget.LLM] != "fake" || one.Status != "cancelled" {
			t.Errorf("got %+v", one)
		}
		if n := len(one.Words); n < 3 || one.Words[0].Text != "what" || one.Words[0].At > -600*ms || one.Words[n-1].Text != "what time is it" {
			t.Errorf("words: %+v", one.Words)
		}
		var kinds []string
		for _, e := range one.Events {
			kinds = append(kinds, e.Kind)
		}
		if !slices.Contains(kinds, trace.KindAction) || !slices.Contains(kinds, trace.KindHeld) || !slices.Contains(kinds, trace.KindBargeIn) {
			t.Errorf("events: %+v", one.Events)
		}
		if one.Report.Verdict != budget.Masked || one.Report.Blame != budget.LLM || one.Report.Marks[budget.Answered] <= one.Report.Marks[budget.FirstAudible] {
			t.Errorf("report: %+v", one.Report)
		}
		if s := one.Sound; s == nil || s.Rate != rate || s.Caller == nil || audio.PCM(s.Caller).Duration(rate) < 1200*ms ||
			audio.PCM(s.Answer).Duration(rate) < 2*time.Second || s.Offset < 2*time.Second || s.Offset > 2200*ms {
			t.Errorf("sound of %d and %d samples, %v apart", len(s.Caller), len(s.Answer), s.Offset)
		}
		// Where the recording has the caller's last voiced sample, the turn's clock is at 0; where the answer begins (here with an opener), at the first audible sound.
		last := audio.LastVoiced(audio.PCM(one.Sound.Caller), rate)
		if at := one.Sound.Begins + audio.PCM(one.Sound.Caller[:last]).Duration(rate); at.Abs() > 40*ms {
			t.Errorf("the caller's last voiced sample lies at %v of the turn's clock, want 0", at)
		}
		if at, want := one.Sound.Begins+one.Sound.Offset, one.Report.Marks[budget.FirstAudible]; (at - want).Abs() > 20*ms {
			t.Errorf("the answer's sound lies at %v of the turn's clock, want %v", at, want)
		}
		if turns[1].Number != 2 || turns[1].Said != "stop it now please" {
			t.Errorf("the second: %+v", turns[1])
		}
	})
}

// When the caller's side says that it heard an answer, the turn's trace holds it, be it said in the middle of the answer or after its end.
func TestTraceFromMouthToEar(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // Behind the beginning of what is said.
		again int           // How often the trace is told anew.
	}{{"in the middle", 2500 * ms, 0}, {"after its end", 20 * time.Second, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCast()
				c.says = "It is noon, as far as I can see. Is there anything else that I can do for you?"
				l := newLine(t)
				s := enforcing(l, c)
				s.Record = true
				var turns, again []trace.Turn
				s.Trace = func(t trace.Turn) { turns = append(turns, t) }
				s.Retrace = func(t trace.Turn) { again = append(again, t) }
				done := make(chan error)
				go func() { done <- s.Run(t.Context()) }()
				c.tell(l, "what time is it", tt.after)
				started := told[transport.ResponseStarted](l)
				if len(started) != 1 {
					t.Fatalf("%d answers, want 1", len(started))
				}
				id := started[0].Response.ID
				l.in <- transport.Heard{Response: id, MouthToEar: 640 * ms, Detail: "jitter 3 ms"}
				l.in <- transport.Heard{Ref: "twice", Response: id, MouthToEar: 650 * ms}
				l.in <- transport.Heard{Ref: "other", Response: "resp_other", MouthToEar: 650 * ms}
				time.Sleep(10 * time.Second)
				close(l.hang)
				if err := <-done; !errors.Is(err, transport.ErrHungUp) {
					t.Fatal(err)
				}
				if len(turns) != 1 || len(again) != tt.again {
					t.Fatalf("%d turns, and %d once more, want 1 and %d", len(turns), len(again), tt.again)
				}
				last := append(turns, again...)[tt.again]
				var heard []trace.Event
				for _, e := range last.Events {
					if e.Kind == trace.KindEar {
						heard = append(heard, e)
					}
				}
				if want := []trace.Event{{At: 640 * ms, Kind: trace.KindEar, Detail: "jitter 3 ms"}}; !slices.Equal(heard, want) {
					t.Errorf("events: %+v, want %+v", heard, want)
				}
				if last.ID != id || last.Sound == nil {
					t.Errorf("the turn that is told anew is not whole: %+v", last)
				}
				var codes []string
				for _, f := range told[transport.Fault](l) {
					codes = append(codes, f.Ref+" "+f.Code)
				}
				if want := []string{"twice already_heard", "other unknown_response"}; !slices.Equal(codes, want) {
					t.Errorf("faults: %q, want %q", codes, want)
				}
			})
		})
	}
}
