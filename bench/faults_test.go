package bench

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
	"riposte/caller"
)

func TestRightly(t *testing.T) {
	hang, late := Fault{budget.LLM, Hanging}, Fault{budget.LLM, Delayed}
	for _, c := range []struct {
		fault          Fault
		verdict, blame string
		first          First
		want           bool
	}{
		{Fault{}, "met", "", Answered, true},
		{Fault{}, "masked", "llm", Opened, false},
		{Fault{}, "over", "stt", Answered, false},
		{Fault{}, "failed", "llm", Apologised, false},
		{Fault{}, "", "", Answered, false},
		{late, "masked", "llm", Opened, true},
		{late, "over", "llm", Answered, true},
		{late, "masked", "tts", Opened, false},
		{late, "met", "", Answered, false},
		{late, "failed", "llm", Opened, false}, // it was only late
		{hang, "failed", "llm", Opened, true},
		{hang, "failed", "stt", Opened, false},
		{hang, "masked", "llm", Hedged, true},
		{hang, "masked", "llm", Apologised, false},
		{hang, "", "", Nothing, false},
	} {
		if got := rightly(c.fault, FaultTrial{Verdict: c.verdict, Blame: c.blame, First: c.first}); got != c.want {
			t.Errorf("%v, %s, blame %q, first %s: %t", c.fault, c.verdict, c.blame, c.first, got)
		}
	}
}

func TestFirst(t *testing.T) {
	b := FaultRun{Openers: []string{"Let me see.", "One moment."}, Apology: "Sorry."}
	report := func(kind string, at time.Duration) *caller.Report {
		return &caller.Report{Total: 800 * time.Millisecond, Actions: []caller.Action{{Kind: kind, At: at}}}
	}
	for _, c := range []struct {
		turn caller.Turn
		want First
	}{
		{caller.Turn{}, Nothing},
		{caller.Turn{Audible: 1, Answer: "One moment. It is noon.", Report: report("opener", 1)}, Opened},
		{caller.Turn{Audible: 1, Answer: "One moment. It is noon."}, Opened},
		{caller.Turn{Audible: 1, Answer: "One moment. It is noon.", Report: &caller.Report{Verdict: "met"}}, Answered}, // the model says so
		{caller.Turn{Audible: 1, Answer: "Some words without a sound. One moment.", Report: report("cached_clause", 1)}, Opened},
		{caller.Turn{Audible: 1, Answer: "Sorry."}, Apologised},
		{caller.Turn{Audible: 1, Answer: "Sorry.", Report: &caller.Report{Verdict: "failed"}}, Apologised},
		{caller.Turn{Audible: 1, Answer: "Sorry.", Report: &caller.Report{Verdict: "met"}}, Answered},
		{caller.Turn{Audible: 1, Answer: "It is noon."}, Answered},
		{caller.Turn{Audible: 1, Answer: "It is noon.", Report: report("hedge", 1)}, Hedged},
		{caller.Turn{Audible: 1, Answer: "It is noon.", Report: report("best_hypothesis", 1)}, Hypothesis},
		{caller.Turn{Audible: 1, Answer: "It is noon.", Report: report("hedge", time.Second)}, Answered}, // after that
	} {
		if got := b.first(c.turn); got != c.want {
			t.Errorf("%+v: %s, want %s", c.turn, got, c.want)
		}
	}
}

// A service whose voice is late in some turns and fails in others is measured, and so are the turns between them.
func TestFaultRun(t *testing.T) {
	var i Injector
	clips := said(t)
	(&service{voice: i.Voice(newFakeVoice())}).run(t, func(t *testing.T, c caller.Caller) {
		seen := 0
		b := FaultRun{
			Caller: c, Clips: clips, Faults: []Fault{{budget.TTS, Delayed}, {budget.TTS, Failing}}, Times: 6, Seed: 1, Injector: &i,
			Plan: budget.DefaultPlan, Each: func(FaultTrial) { seen++ },
		}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if r.Turns != 24 || seen != 24 || len(r.Trials) != 24 || r.Failed != 6 || len(r.Faults) != 2 || r.Machine.Cores == 0 || r.Seed != 1 {
			t.Fatalf("%+v", r)
		}
		late, broken := r.Faults[0], r.Faults[1]
		if r.Clean.Turns != 12 || r.Clean.HeardAtCaller != 1 || r.Clean.Failed != 0 || r.Clean.Gap.P95 > 890 {
			t.Errorf("without a fault: %+v", r.Clean)
		}
		if late.Fault != "tts.delay" || late.Turns != 6 || late.HeardAtCaller != 0 || late.Gap.P50 < 1700 || late.Gap.P50 > 2200 || late.First[Answered] != 6 {
			t.Errorf("late: %+v", late)
		}
		if broken.Fault != "tts.error" || broken.Failed != 6 || broken.First[Nothing] != 6 || broken.Right != 0 {
			t.Errorf("broken: %+v", broken)
		}
		if late.Verdicts["none"] != 6 { // this service says nothing of the kind
			t.Errorf("verdicts: %v", late.Verdicts)
		}
	})
}

// Who ends a run early has what was measured until then.
func TestFaultRunEnded(t *testing.T) {
	var i Injector
	clips := said(t)
	(&service{voice: i.Voice(newFakeVoice())}).run(t, func(t *testing.T, c caller.Caller) {
		ctx, cancel := context.WithCancel(t.Context())
		b := FaultRun{Caller: c, Clips: clips, Faults: Faults, Times: 1, Injector: &i, Plan: budget.DefaultPlan, Each: func(FaultTrial) { cancel() }}
		r, err := b.Run(ctx)
		if !errors.Is(err, context.Canceled) || r.Turns != 1 {
			t.Errorf("%d turns, %v", r.Turns, err)
		}
	})
}

func TestFaultRunWithoutClips(t *testing.T) {
	if _, err := (&FaultRun{Injector: &Injector{}}).Run(t.Context()); !errors.Is(err, ErrCorpus) {
		t.Error(err)
	}
	if _, err := (&DiskRun{}).Run(t.Context()); !errors.Is(err, ErrCorpus) {
		t.Error(err)
	}
}

// fakeDisk keeps a turn whenever somebody looks, unless it is blocked.
type fakeDisk struct {
	blocked bool
	kept    int
}

func (d *fakeDisk) Block(context.Context) error { d.blocked = true; return nil }
func (d *fakeDisk) Free() error                 { d.blocked = false; return nil }

func (d *fakeDisk) Kept(context.Context) (int, error) {
	if !d.blocked {
		d.kept++
	}
	return d.kept, nil
}

func TestDiskRun(t *testing.T) {
	clips := said(t)
	(&service{voice: newFakeVoice()}).run(t, func(t *testing.T, c caller.Caller) {
		disk := &fakeDisk{}
		var states strings.Builder
		b := DiskRun{
			Caller: c, Clips: clips, Times: 3, Disk: disk, Plan: budget.DefaultPlan,
			Each: func(_ int, blocked bool, _ caller.Turn, err error) {
				if err != nil || blocked != disk.blocked {
					t.Errorf("blocked %t, %v", blocked, err)
				}
				states.WriteString(map[bool]string{true: "b", false: "f"}[blocked])
			},
		}
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if states.String() != "bffbbf" || disk.blocked {
			t.Errorf("the disk was %s", states.String())
		}
		if r.Blocked.Turns != 3 || r.Free.Turns != 3 || r.Failed != 0 || r.Blocked.Written != 0 || r.Free.Written != 3 ||
			r.Blocked.HeardAtCaller != 1 || r.Free.Gap.P50 < 300 || r.Blocked.Gap.P50 < 300 {
			t.Errorf("%+v", r)
		}
	})
}

// Nothing gets into a locked file, and what waits gets there when it is free.
func TestLockedFile(t *testing.T) {
	f := &LockedFile{Path: filepath.Join(t.TempDir(), "traces.db")}
	if n, err := f.Kept(t.Context()); err != nil || n != 0 {
		t.Fatalf("before there is one: %d, %v", n, err)
	}
	r := &store.Recorder{Path: f.Path}
	r.Start()
	kept := func(want int, patience time.Duration) {
		t.Helper()
		n, err := 0, error(nil)
		for deadline := time.Now().Add(patience); time.Now().Before(deadline) && n != want; time.Sleep(10 * time.Millisecond) {
			if n, err = f.Kept(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n != want {
			t.Fatalf("%d turns are kept, want %d", n, want)
		}
	}
	r.TurnEnded(trace.Turn{ID: "a", Call: "call"})
	kept(1, 10*time.Second)
	if err := f.Block(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.TurnEnded(trace.Turn{ID: "b", Call: "call"})
	time.Sleep(time.Second) // four times as long as it takes otherwise
	kept(1, time.Second)
	if err := f.Free(); err != nil {
		t.Fatal(err)
	}
	kept(2, 10*time.Second)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
