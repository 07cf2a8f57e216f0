package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	"riposte/caller"
)

// Turns holds one conversation with a service, in real time: a turn is a clip, then silence until the answer has been
// heard.
type Turns struct {
	Caller caller.Caller
	// Telephone makes the call where it is not nil, and Caller one beside it, if Beside: then every clip is said on both, one after the other.
	Telephone *Telephone
	Beside    bool
	Clips     []Clip // What the caller says, in an order drawn by Seed; again from the beginning when there are more turns.
	Turns     int
	Seed      uint64
	Each      func(n int, c Clip, t caller.Turn, err error) // Called after each turn of the call that is measured, where it is not nil.
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
	Cutoffs     int                    `json:"cutoffs"`             // Answers that the service began before the caller was done, and gave up.
	Faults      []string               `json:"faults,omitempty"`    // What the service did against the protocol of a telephone wire.
	Beside      *BesideResult          `json:"beside_ws,omitempty"` // What the same clips came to over WebSocket, in turn with these.

	About
}

// BesideResult is what was measured over WebSocket beside a telephone wire.
type BesideResult struct {
	Gap         Percentiles `json:"gap_ms"`
	PlatformGap Percentiles `json:"platform_turn_gap_ms"`
	Failed      int         `json:"failed"`
	Difference  float64     `json:"difference_ms"` // Of the medians of the gaps: how much longer that of the telephone wire is.
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
	t.deaf = b.Telephone.deaf()
	if len(b.Clips) == 0 {
		return t.sum(), fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	order := rand.New(rand.NewPCG(b.Seed, 0)).Perm(len(b.Clips))
	measured := talker{tally: t, dial: b.dial}
	beside := talker{tally: newTally(b.Seed), dial: b.realtime}
	defer measured.hangUp()
	defer beside.hangUp()
	for n := range b.Turns {
		c := b.Clips[order[n%len(order)]]
		if b.Beside {
			if _, _, err := beside.say(ctx, n, c); err != nil {
				return b.sum(&measured, &beside), err
			}
		}
		turn, failed, err := measured.say(ctx, n, c)
		if err != nil {
			return b.sum(&measured, &beside), err
		}
		if b.Each != nil {
			b.Each(n, c, turn, failed)
		}
	}
	return b.sum(&measured, &beside), nil
}

// sum returns what all came to.
func (b *Turns) sum(measured, beside *talker) TurnsResult {
	measured.hangUp()
	r := measured.tally.sum()
	r.Faults = measured.faults
	if b.Beside {
		other := beside.tally.sum()
		r.Beside = &BesideResult{Gap: other.Gap, PlatformGap: other.PlatformGap, Failed: other.Failed, Difference: r.Gap.P50 - other.Gap.P50}
	}
	return r
}

// dial makes the call that is measured.
func (b *Turns) dial(ctx context.Context) (heldCall, error) {
	if b.Telephone == nil {
		return b.realtime(ctx)
	}
	call, err := b.Telephone.dial(ctx)
	if err != nil {
		return nil, err
	}
	return call, nil
}

// realtime makes a call over the Realtime protocol.
func (b *Turns) realtime(ctx context.Context) (heldCall, error) {
	call, err := b.Caller.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return dialled{call, cmp.Or(b.Caller.Format, caller.PCM).Rate()}, nil
}

// talker is one who holds a conversation.
type talker struct {
	tally  *tally
	dial   func(context.Context) (heldCall, error)
	call   heldCall // nil where there is none.
	faults []string // What the service did against the protocol of a telephone wire.
}

// say has a clip answered, and counts what came of it. failed says that nothing did; err is one that no turn could get around.
func (t *talker) say(ctx context.Context, n int, c Clip) (turn caller.Turn, failed, err error) {
	if t.call == nil {
		if t.call, err = t.dial(ctx); err != nil {
			return turn, nil, err
		}
	}
	turn, failed = c.say(ctx, t.call)
	if ctx.Err() != nil {
		return turn, failed, context.Cause(ctx)
	}
	t.tally.add(n, c, turn, failed)
	if failed != nil {
		t.hangUp()
	}
	return turn, failed, nil
}

// hangUp ends the call, if there is one.
func (t *talker) hangUp() {
	if t.call == nil {
		return
	}
	if err := t.call.Close(); err != nil {
		t.faults = append(t.faults, strings.Split(err.Error(), "\n")...)
	}
	t.call = nil
}

// say plays the clip into a call, and waits as the function say does.
func (c Clip) say(ctx context.Context, call heldCall) (caller.Turn, error) {
	pcm, rate, err := c.Sound()
	if err != nil {
		return caller.Turn{}, err
	}
	return say(ctx, call, caller.Speech{Sound: pcm, Rate: rate, Voiced: len(pcm)})
}

// say says something and waits until the answer has been heard. An answer that nobody can hear is an error.
func say(ctx context.Context, call heldCall, s caller.Speech) (caller.Turn, error) {
	turn, err := call.Say(ctx, s)
	if err == nil && turn.Audible == 0 {
		err = errSilent
	}
	return turn, err
}
