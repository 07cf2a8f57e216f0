package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"riposte/caller"
	"riposte/stt/wer"
)

// Turns holds one conversation with a service, in real time: a turn is a clip, then silence until the answer has been
// heard.
type Turns struct {
	Caller caller.Caller
	Clips  []Clip // What the caller says, in an order drawn by Seed; again from the beginning when there are more turns.
	Turns  int
	Seed   uint64
	Each   func(n int, c Clip, t caller.Turn, err error) // Called after each turn, where it is not nil.
}

// TurnsResult is what Turns measured. Every turn counts: those that failed, under Failed.
type TurnsResult struct {
	Turns       int                    `json:"turns"`
	Failed      int                    `json:"failed"`
	Failures    []TurnFailure          `json:"failures"`             // In the order of the turns.
	Gap         Percentiles            `json:"gap_ms"`               // At the caller: last voiced sample to first audible one.
	PlatformGap Percentiles            `json:"platform_turn_gap_ms"` // As the service says.
	Stages      map[string]Percentiles `json:"stages_ms"`
	Verdicts    map[string]int         `json:"verdicts"`
	WER         float64                `json:"wer"`
	WERByKind   map[string]float64     `json:"wer_by_kind"`
	Guesses     Guesses                `json:"guesses"`
	Cutoffs     int                    `json:"cutoffs"` // Answers that the service began before the caller was done, and gave up.

	About
}

// TurnFailure is a turn that was not answered.
type TurnFailure struct {
	Turn int    `json:"turn"` // The first is 1.
	Clip string `json:"clip"` // Its file.
	Why  string `json:"why"`
}

// Guesses sums up the answers that the service began before it was certain that the caller was done.
type Guesses struct {
	Tries  int `json:"tries"`
	Stood  int `json:"stood"`         // Turns that were answered by one of them.
	Wasted int `json:"wasted_tokens"` // Tokens of those that were thrown away.
}

// Run holds the conversation. A turn that fails is counted, and the conversation goes on with a new call; the error is one
// that no turn could get around.
func (b *Turns) Run(ctx context.Context) (TurnsResult, error) {
	r := TurnsResult{
		Turns: b.Turns, About: about(b.Seed), Stages: map[string]Percentiles{}, Verdicts: map[string]int{"met": 0, "masked": 0, "over": 0},
		WERByKind: map[string]float64{}, Failures: []TurnFailure{},
	}
	if len(b.Clips) == 0 {
		return r, fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	order := rand.New(rand.NewPCG(b.Seed, 0)).Perm(len(b.Clips))

	var gaps, platform []time.Duration
	stages := map[string][]time.Duration{}
	var words wer.Count
	byKind := map[string]wer.Count{}
	var call *caller.Call
	defer func() { hangUp(call) }()
	for n := range b.Turns {
		c := b.Clips[order[n%len(order)]]
		pcm, rate, err := c.Sound()
		if err != nil {
			return r, err
		}
		if call == nil {
			if call, err = b.Caller.Dial(ctx); err != nil {
				return r, err
			}
		}
		turn, err := call.Say(ctx, caller.Speech{Sound: pcm, Rate: rate, Voiced: len(pcm)})
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err == nil && turn.Audible == 0 {
			err = errors.New("nothing of the answer could be heard")
		}
		if b.Each != nil {
			b.Each(n, c, turn, err)
		}
		count := wer.WER(c.Transcript, turn.Transcript) // a turn that failed has missed all its words
		words = words.Add(count)
		for _, kind := range c.Kinds {
			byKind[kind] = byKind[kind].Add(count)
		}
		r.Cutoffs += turn.Cutoffs
		if err != nil {
			r.Failed++
			r.Failures = append(r.Failures, TurnFailure{n + 1, c.File, err.Error()})
			hangUp(call)
			call = nil
			continue
		}
		gaps = append(gaps, turn.Gap)
		if turn.Report == nil {
			continue
		}
		platform = append(platform, turn.Report.Total)
		r.Guesses.Tries += turn.Report.Guesses.Tries
		r.Guesses.Wasted += turn.Report.Guesses.Wasted
		if turn.Report.Guesses.Stood {
			r.Guesses.Stood++
		}
		r.Verdicts[turn.Report.Verdict]++
		for name, took := range turn.Report.Stages {
			stages[name] = append(stages[name], took)
		}
	}
	r.Gap, r.PlatformGap, r.WER = percentiles(gaps), percentiles(platform), words.Rate()
	for name, samples := range stages {
		r.Stages[name] = percentiles(samples)
	}
	for kind, count := range byKind {
		r.WERByKind[kind] = count.Rate()
	}
	r.Machine = r.Machine.after()
	return r, nil
}

func hangUp(c *caller.Call) {
	if c != nil {
		c.Close()
	}
}
