package bench

import (
	"context"
	"fmt"
	"math/rand/v2"

	"riposte/caller"
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
	Way         Percentiles            `json:"way_ms"`               // What of the first comes on top of the second: the ways there and back, and what waits on them.
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
	t := newTally(b.Seed)
	if len(b.Clips) == 0 {
		return t.sum(), fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	order := rand.New(rand.NewPCG(b.Seed, 0)).Perm(len(b.Clips))
	var call *caller.Call
	defer func() { hangUp(call) }()
	for n := range b.Turns {
		c := b.Clips[order[n%len(order)]]
		var err error
		if call == nil {
			if call, err = b.Caller.Dial(ctx); err != nil {
				return t.sum(), err
			}
		}
		turn, err := c.say(ctx, call)
		if ctx.Err() != nil {
			return t.sum(), context.Cause(ctx)
		}
		if b.Each != nil {
			b.Each(n, c, turn, err)
		}
		t.add(n, c, turn, err)
		if err != nil {
			hangUp(call)
			call = nil
		}
	}
	return t.sum(), nil
}

// say plays the clip into a call, and waits as the function say does.
func (c Clip) say(ctx context.Context, call *caller.Call) (caller.Turn, error) {
	pcm, rate, err := c.Sound()
	if err != nil {
		return caller.Turn{}, err
	}
	return say(ctx, call, caller.Speech{Sound: pcm, Rate: rate, Voiced: len(pcm)})
}

// say says something and waits until the answer has been heard. An answer that nobody can hear is an error.
func say(ctx context.Context, call *caller.Call, s caller.Speech) (caller.Turn, error) {
	turn, err := call.Say(ctx, s)
	if err == nil && turn.Audible == 0 {
		err = errSilent
	}
	return turn, err
}

func hangUp(c *caller.Call) {
	if c != nil {
		c.Close()
	}
}
