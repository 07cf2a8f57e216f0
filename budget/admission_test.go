package budget

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAdmission(t *testing.T) {
	reason := func(err error) string {
		if o, ok := errors.AsType[*Overload](err); ok && o.Retry > 0 && o.Detail != "" {
			return o.Reason
		}
		return ""
	}
	turn := func(took time.Duration) Report {
		return Report{Plan: DefaultPlan, Verdict: Met, Marks: map[Mark]time.Duration{Answered: took}}
	}
	synctest.Test(t, func(t *testing.T) {
		var load Load
		a := Admission{Plan: DefaultPlan, Load: func() Load { return load }}
		if _, err := a.Admit(0); err != nil {
			t.Fatal("the first call:", err)
		}
		// Nothing is known of the first: two more are taken, then it has to be seen what they cost,
		for i, want := range []string{"", "", "cores"} {
			if _, err := a.Admit(i + 1); reason(err) != want {
				t.Errorf("with %d calls: %v, want %q", i+1, err, want)
			}
		}
		// which shows little by little.
		time.Sleep(trial / 2)
		load.Busy = 0.2
		if _, err := a.Admit(3); reason(err) != "" {
			t.Errorf("with 3 calls after a while: %v", err)
		}
		time.Sleep(trial + ms)
		load.Busy = 0.3
		for range 30 {
			a.TurnEnded(turn(400*ms), 3)
		}
		for calls := 3; calls < 7; calls++ { // a tenth each
			if _, err := a.Admit(calls); err != nil {
				t.Errorf("with %d calls: %v", calls, err)
			}
		}
		if _, err := a.Admit(7); reason(err) != "cores" {
			t.Errorf("got %v", err)
		}
		if s := a.Strain(); s != Relaxed {
			t.Errorf("strain %v", s)
		}
		time.Sleep(gapWindow + ms)
		load = Load{Busy: 0.1, Queue: 400 * ms}
		if _, err := a.Admit(1); reason(err) != "queue" || a.Strain() != SmallModel {
			t.Errorf("got %v, strain %v", err, a.Strain())
		}
		load = Load{Busy: 0.4}
		for i, took := range []time.Duration{400, 400, 400, 400, 400, 400, 400, 850, 950} {
			a.TurnEnded(turn(took*ms), 1)
			if want := map[int]Strain{7: NoGuesses, 8: FewPartials}[i]; a.Strain() != want {
				t.Errorf("after %d turns: strain %v, want %v", i+1, a.Strain(), want)
			}
		}
		if _, err := a.Admit(1); reason(err) != "gap" {
			t.Errorf("got %v", err)
		}
		a.TurnEnded(Report{}, 1) // nobody wanted an answer
		masked := Report{Plan: DefaultPlan, Verdict: Masked, Total: 850 * ms, Marks: map[Mark]time.Duration{FirstAudible: 850 * ms, Answered: 3 * time.Second}}
		a.TurnEnded(masked, 1)
		if s := a.Strain(); s != SmallModel {
			t.Errorf("strain %v, though the answer came late behind its opener", s)
		}
		load.Busy = 0.3
		if s := a.Strain(); s != Relaxed {
			t.Errorf("strain %v, though the cores have little to do", s)
		}
		if _, err := a.Admit(0); err != nil {
			t.Errorf("a call is not taken though there is no other: %v", err)
		}
		time.Sleep(gapWindow + ms)
		if s := a.Strain(); s != Relaxed {
			t.Errorf("strain %v after a while", s)
		}
	})
}

// Each answer is judged by its own turn's plan: one that may take longer says nothing of how the others are served.
func TestAdmissionByPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patient := DefaultPlan
		patient.LLM = 3 * time.Second
		a := Admission{Plan: DefaultPlan, Load: func() Load { return Load{Busy: 0.4} }}
		ended := func(p Plan, took time.Duration) {
			a.TurnEnded(Report{Plan: p, Verdict: Met, Marks: map[Mark]time.Duration{Answered: took}}, 4)
		}
		for range 20 {
			ended(patient, 2*time.Second)
			ended(DefaultPlan, 400*ms)
		}
		if _, err := a.Admit(4); err != nil || a.Strain() != Relaxed {
			t.Errorf("no call is taken though all are answered in time: %v, strain %v", err, a.Strain())
		}
		for range 3 {
			ended(DefaultPlan, time.Second)
		}
		_, err := a.Admit(4)
		o, ok := errors.AsType[*Overload](err)
		if !ok || o.Reason != "gap" || a.Strain() != SmallModel {
			t.Fatalf("a call is taken though some are answered too late: %v, strain %v", o, a.Strain())
		}
		if want := "The callers wait for their answers for 1s now (p95); the budget is 890ms."; o.Detail != want {
			t.Errorf("refused with %q, want %q", o.Detail, want)
		}
	})
}

func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &Executor{Cores: 2}
		work := func(d time.Duration) {
			_ = x.Run(t.Context(), Job{Kind: "k"}, func(context.Context, int) error { time.Sleep(d); return nil })
		}
		for range 200 { // half of the time on one of two cores
			work(100 * ms)
			time.Sleep(100 * ms)
		}
		if b := x.Load().Busy; b < 0.2 || b > 0.28 {
			t.Errorf("busy %v, want about a quarter", b)
		}
		go work(10 * time.Second)
		time.Sleep(9 * time.Second)
		if b := x.Load().Busy; b < 0.35 {
			t.Errorf("busy %v: what runs does not count", b)
		}
		time.Sleep(time.Minute)
		if b := x.Load().Busy; b > 0.02 {
			t.Errorf("busy %v a minute later", b)
		}
	})
}

// Whoever hangs up at once leaves no trace of cost: many of them do not keep others out.
func TestAdmissionReleases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := Admission{Plan: DefaultPlan, Load: func() Load { return Load{} }}
		for i := range 100 {
			release, err := a.Admit(1)
			if err != nil {
				t.Fatalf("after %d that have hung up: %v", i, err)
			}
			release()
			release() // once more changes nothing
		}
	})
}
