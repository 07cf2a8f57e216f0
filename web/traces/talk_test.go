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
			quicken(t)
		}
	}
	return turns
}

// quicken takes a third from what the model took.
func quicken(t *trace.Turn) {
	r := t.Report
	third := (r.Marks[budget.FirstClause] - r.Marks[budget.Final]) / 3
	third = third.Truncate(time.Microsecond)
	clock := budget.NewTurn(r.SpeechEnd)
	for _, mark := range []budget.Mark{
		budget.Received, budget.Decided, budget.Final, budget.FirstToken, budget.FirstClause, budget.FirstAudio, budget.FirstAudible, budget.Answered, budget.Done,
	} {
		at := r.Marks[mark]
		switch mark {
		case budget.FirstToken:
			at = r.Marks[budget.Final] + (at-r.Marks[budget.Final])*2/3
		case budget.FirstClause, budget.FirstAudio, budget.FirstAudible, budget.Answered, budget.Done:
			at -= third
		}
		clock.Mark(mark, r.SpeechEnd.Add(at))
	}
	t.Report = clock.Report(r.Plan)
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
	return shown(t, path), s
}
