package bench

import (
	"errors"
	"time"

	"riposte/caller"
	"riposte/stt/wer"
)

// errSilent says that an answer came in which nothing is to be heard.
var errSilent = errors.New("nothing of the answer could be heard")

// tally counts turns, as they come.
type tally struct {
	result         TurnsResult
	gaps, platform []time.Duration
	ways           []time.Duration // The gap, less the service's own, of each turn.
	stages         map[string][]time.Duration
	words          wer.Count
	byKind         map[string]wer.Count
	deaf           bool // Nobody tells what was heard.
}

func newTally(seed uint64) *tally {
	return &tally{
		result: TurnsResult{
			About: about(seed), Stages: map[string]Percentiles{}, Verdicts: map[string]int{"met": 0, "masked": 0, "over": 0},
			WERByKind: map[string]float64{}, Failures: []TurnFailure{},
		},
		stages: map[string][]time.Duration{}, byKind: map[string]wer.Count{},
	}
}

// add counts the n-th turn, the first being 0. err is why it failed.
func (t *tally) add(n int, c Clip, turn caller.Turn, err error) {
	r := &t.result
	if !t.deaf {
		count := wer.WER(c.Transcript, turn.Transcript) // a turn that failed has missed all its words
		t.words = t.words.Add(count)
		for _, kind := range c.Kinds {
			t.byKind[kind] = t.byKind[kind].Add(count)
		}
	}
	r.Turns++
	r.Cutoffs += turn.Cutoffs
	if err != nil {
		r.Failed++
		r.Failures = append(r.Failures, TurnFailure{n + 1, c.File, err.Error()})
		return
	}
	t.gaps = append(t.gaps, turn.Gap)
	if turn.Report == nil {
		return
	}
	t.platform = append(t.platform, turn.Report.Total)
	t.ways = append(t.ways, turn.Gap-turn.Report.Total)
	r.Guesses.Tries += turn.Report.Guesses.Tries
	r.Guesses.Wasted += turn.Report.Guesses.Wasted
	if turn.Report.Guesses.Stood {
		r.Guesses.Stood++
	}
	r.Verdicts[turn.Report.Verdict]++
	for name, took := range turn.Report.Stages {
		t.stages[name] = append(t.stages[name], took)
	}
}

// sum returns what all came to.
func (t *tally) sum() TurnsResult {
	r := t.result
	r.Gap, r.PlatformGap, r.WER = percentiles(t.gaps), percentiles(t.platform), t.words.Rate()
	r.Way = percentiles(t.ways)
	for name, samples := range t.stages {
		r.Stages[name] = percentiles(samples)
	}
	for kind, count := range t.byKind {
		r.WERByKind[kind] = count.Rate()
	}
	r.Machine = r.Machine.after()
	return r
}
