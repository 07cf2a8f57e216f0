package traces

import (
	"context"
	_ "embed"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/sample"
	"riposte/budget/trace/store"
)

//go:embed testdata/talk.tsv
var talk string

// talks returns a day of turns in which people talk sense, and of which the second half has a faster model.
func talks(n int) []trace.Turn {
	m := sample.New(7, noon.Add(-time.Duration(n)*time.Minute))
	m.Every = time.Minute
	turns := m.Turns(n)
	lines := strings.Split(strings.TrimSpace(talk), "\n")
	for i := range turns {
		t := &turns[i]
		t.Said, t.Answer, _ = strings.Cut(lines[i%len(lines)], "\t")
		words := strings.Fields(t.Said)
		t.Words = nil
		for k := 2; ; k += 2 {
			k = min(k, len(words))
			text := strings.Join(words[:k], " ")
			late := time.Duration(k-len(words))*280*time.Millisecond + 40*time.Millisecond
			t.Words = append(t.Words, trace.Heard{At: late, Text: text, Stable: len(strings.Join(words[:max(k-2, 0)], " "))})
			if k == len(words) {
				break
			}
		}
		for k := range t.Events {
			if t.Events[k].Kind == trace.KindGuess {
				t.Events[k].Detail = t.Said
			}
			if t.Events[k].Kind == trace.KindBargeIn {
				t.Events[k].Detail = "wait a moment"
			}
		}
		if t.Version == "v1.5.0" && t.Report.Verdict != budget.Failed && t.Report.Verdict != budget.Masked {
			retime(t, map[budget.Stage]float64{budget.LLM: 2. / 3})
		}
	}
	// The newest are such as an engineer would look at.
	of := func(back int) *trace.Turn { return &turns[n-back] }
	retime(of(2), map[budget.Stage]float64{budget.LLM: 3.9})
	retime(of(4), map[budget.Stage]float64{budget.LLM: 3.6})
	mask(of(4))
	retime(of(7), map[budget.Stage]float64{budget.STT: 2.9})
	retime(of(9), map[budget.Stage]float64{budget.LLM: 2.9})
	mask(of(9))
	failed := of(11)
	failed.Report.Verdict, failed.Report.Blame, failed.Status, failed.Reason = budget.Failed, budget.LLM, "failed", "engine"
	failed.Events = append(failed.Events, trace.Event{At: 600 * time.Millisecond, Kind: trace.KindFault, Detail: "llm: the engine does not answer"})
	retime(of(13), map[budget.Stage]float64{budget.TTS: 5})
	return turns
}

// order is that of a turn's marks, with the stages in which they lie.
var order = []struct {
	mark  budget.Mark
	stage budget.Stage
}{
	{budget.Received, budget.Mic}, {budget.Decided, budget.STT}, {budget.Final, budget.STT}, {budget.FirstToken, budget.LLM}, {budget.FirstClause, budget.LLM},
	{budget.FirstAudio, budget.TTS}, {budget.FirstAudible, budget.TTS}, {budget.Answered, budget.TTS}, {budget.Done, ""},
}

// retime stretches what stages took, by their factors.
func retime(t *trace.Turn, factors map[budget.Stage]float64) {
	r := t.Report
	clock := budget.NewTurn(r.SpeechEnd)
	var at, before time.Duration
	for _, o := range order {
		factor, ok := factors[o.stage]
		if !ok {
			factor = 1
		}
		at += time.Duration(float64(r.Marks[o.mark]-before) * factor).Truncate(time.Microsecond)
		before = r.Marks[o.mark]
		clock.Mark(o.mark, r.SpeechEnd.Add(at))
	}
	t.Report = clock.Report(r.Plan)
}

// mask lets a phrase be heard before the answer of a turn, whose model was slow.
func mask(t *trace.Turn) {
	const acted, heard = 765 * time.Millisecond, 803 * time.Millisecond
	r := t.Report
	clock := budget.NewTurn(r.SpeechEnd)
	clock.Act(budget.LLM, budget.Opener, r.SpeechEnd.Add(acted))
	for _, o := range order {
		at := r.Marks[o.mark]
		if o.mark == budget.FirstAudible {
			at = heard
		}
		clock.Mark(o.mark, r.SpeechEnd.Add(at))
	}
	t.Report = clock.Report(r.Plan)
	t.Events = append(t.Events, trace.Event{At: acted, Kind: trace.KindAction, Detail: string(budget.Opener)})
}

// shownLive returns a page whose file is written to while it is shown, and what writes to it.
func shownLive(t testing.TB, turns []trace.Turn) (*Page, *store.Store) {
	t.Helper()
	path := kept(t, turns)
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	for i := 0; i < len(turns); i += 10 { // the call that was last goes on
		first, end := turns[i].Report.SpeechEnd, turns[min(i+9, len(turns)-1)].Report
		c := trace.Call{ID: turns[i].Call, Route: turns[i].Route, Version: turns[i].Version, Wire: "websocket", Began: first.Add(-4 * time.Second), Turns: 10}
		if i+10 < len(turns) {
			c.Ended, c.Reason = end.SpeechEnd.Add(end.Marks[budget.Done]+3*time.Second), []string{"hung_up", "hung_up", "silent"}[i/10%3]
		}
		if err := s.WriteCall(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	return shown(t, path), s
}
