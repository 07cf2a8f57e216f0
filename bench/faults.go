package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"riposte/budget"
	"riposte/caller"
)

// FaultRun holds a conversation with a service in real time, while its engines have faults: one in a turn, and none in half of the turns.
type FaultRun struct {
	Caller   caller.Caller
	Clips    []Clip // What the caller says, in an order drawn by Seed; again from the beginning when there are more turns.
	Faults   []Fault
	Times    int // Turns with each fault; as many without any are among them. The order is drawn by Seed.
	Seed     uint64
	Injector *Injector // Stands before the engines of the service.
	Plan     budget.Plan
	Openers  []string         // What the service says when an answer is late,
	Apology  string           // and when there is none.
	Each     func(FaultTrial) // Called after each turn, where it is not nil.
}

// turnsPerCall is how many turns a call has: a conversation that went on for hours would not fit into any model.
const turnsPerCall = 10

// FaultTrial is one turn.
type FaultTrial struct {
	Turn    int     `json:"turn"`  // The first is 1.
	Fault   string  `json:"fault"` // "clean" is none.
	Rubbish Rubbish `json:"rubbish,omitempty"`
	Clip    string  `json:"clip"`

	Gap     float64 `json:"gap_ms"` // At the caller; 0 where nothing was heard.
	Total   float64 `json:"platform_turn_gap_ms"`
	First   First   `json:"first"`
	Verdict string  `json:"verdict"` // By the service,
	Blame   string  `json:"blame"`   // and the stage that it blames.
	Right   bool    `json:"right"`
	Answer  string  `json:"answer"`
	Why     string  `json:"why,omitempty"` // The turn failed: the caller heard nothing, or the call broke off.

	gap, total time.Duration
}

// Failed reports whether the caller heard nothing, or too little to go on.
func (t FaultTrial) Failed() bool { return t.Why != "" }

// First is what the caller heard first.
type First string

// What can be heard first.
const (
	Nothing    First = "nothing"
	Opened     First = "opener"     // Words that say that an answer will come.
	Hypothesis First = "hypothesis" // The answer to what seemed to have been said, since what was said was not known in time.
	Hedged     First = "hedge"      // The answer, for which a second model was asked.
	Answered   First = "answer"     // The answer.
	Apologised First = "apology"    // Words that say that there will be none.
)

// trial is a turn to come.
type trial struct {
	fault Fault
	what  Rubbish
}

// plan draws the turns: each fault in so many, and as many without.
func (b *FaultRun) plan(rnd *rand.Rand) []trial {
	var all []trial
	for _, f := range b.Faults {
		for n := range b.Times {
			t := trial{fault: f}
			if kinds := rubbish[f.Stage]; f.Kind == Garbage {
				t.what = kinds[n%len(kinds)]
			}
			all = append(all, t, trial{})
		}
	}
	rnd.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Run holds the conversation. A turn that fails is counted, and the conversation goes on with a new call. Beside the error, which is
// one that no turn could get around or the end of ctx, is what was measured until then.
func (b *FaultRun) Run(ctx context.Context) (FaultsResult, error) {
	r := FaultsResult{About: about(b.Seed)}
	if len(b.Clips) == 0 {
		return r, fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	rnd := rand.New(rand.NewPCG(b.Seed, 0))
	order := rnd.Perm(len(b.Clips))
	c := conversation{caller: b.Caller}
	defer c.hangUp()
	defer b.Injector.Set(Fault{}, "")
	var err error
	for n, t := range b.plan(rnd) {
		var turn FaultTrial
		if turn, err = b.take(ctx, &c, b.Clips[order[n%len(order)]], t); err != nil {
			break
		}
		turn.Turn = n + 1
		r.Trials = append(r.Trials, turn)
		if b.Each != nil {
			b.Each(turn)
		}
	}
	r.sum(b.Faults, b.Plan.Total())
	r.Machine = r.Machine.after()
	return r, err
}

// take takes one turn.
func (b *FaultRun) take(ctx context.Context, c *conversation, clip Clip, t trial) (FaultTrial, error) {
	if err := c.ready(ctx); err != nil {
		return FaultTrial{}, err
	}
	b.Injector.Set(t.fault, t.what)
	turn, err := c.say(ctx, clip)
	out := FaultTrial{
		Fault: t.fault.String(), Rubbish: t.what, Clip: clip.File, First: b.first(turn), Answer: turn.Answer, gap: turn.Gap, Gap: ms(turn.Gap),
	}
	if r := turn.Report; r != nil {
		out.Verdict, out.Blame, out.total, out.Total = r.Verdict, r.Blame, r.Total, ms(r.Total)
	}
	if ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	switch {
	case err != nil && !errors.Is(err, caller.ErrFailed):
		out.Why = err.Error()
	case turn.Audible == 0:
		out.Why = "nothing could be heard"
	case t.fault != Fault{} && !b.Injector.Struck():
		out.Why = "the engine was not asked, so there was no fault"
	}
	out.Right = !out.Failed() && rightly(t.fault, out)
	if err != nil && !errors.Is(err, caller.ErrFailed) {
		c.hangUp()
	}
	return out, nil
}

// first returns what of a turn's answer was heard first: by what the service says that it did, since a model may say the words of an
// opener or of an apology that it has read; and by the words alone where the service does not say.
func (b *FaultRun) first(t caller.Turn) First {
	r := t.Report
	switch {
	case t.Audible == 0:
		return Nothing
	case r == nil && begins(t.Answer, b.Openers...):
		return Opened
	case r == nil && begins(t.Answer, b.Apology):
		return Apologised
	case r == nil:
		return Answered
	}
	first := Answered
	for _, a := range r.Actions {
		switch kind := budget.ActionKind(a.Kind); {
		case a.At > r.Total:
		case kind == budget.Opener || kind == budget.CachedClause:
			return Opened
		case kind == budget.BestHypothesis:
			first = Hypothesis
		case kind == budget.Hedge:
			first = Hedged
		}
	}
	if r.Verdict == string(budget.Failed) && begins(t.Answer, b.Apology) {
		return Apologised
	}
	return first
}

// begins reports whether an answer begins with one of the phrases, or is the beginning of one: no more than that may have been heard.
func begins(answer string, phrases ...string) bool {
	for _, p := range phrases {
		a, p := strings.TrimSpace(answer), strings.TrimSpace(p)
		if a != "" && p != "" && (strings.HasPrefix(a, p) || strings.HasPrefix(p, a)) {
			return true
		}
	}
	return false
}

// rightly reports whether a turn's verdict is: without a fault it is met, and nobody is blamed; with one the stage that has it is blamed,
// and the turn is masked or over where there was an answer, and failed where an apology ended it. Where what can be heard is an
// opener, the turn is not met, whatever the fault.
func rightly(f Fault, t FaultTrial) bool {
	verdict := budget.Verdict(t.Verdict)
	if f == (Fault{}) {
		return verdict == budget.Met && t.Blame == ""
	}
	if t.Blame != string(f.Stage) {
		return false
	}
	switch verdict {
	case budget.Masked, budget.Over:
		return t.First != Apologised
	case budget.Failed:
		return f.Kind != Delayed // a late engine is no broken one
	}
	return false
}

// conversation is one call after the other.
type conversation struct {
	caller caller.Caller
	call   *caller.Call
	turns  int
}

// ready calls, where there is no call or it has gone on for long enough.
func (c *conversation) ready(ctx context.Context) (err error) {
	if c.turns == turnsPerCall {
		c.hangUp()
	}
	if c.call == nil {
		c.turns = 0
		c.call, err = c.caller.Dial(ctx)
	}
	c.turns++
	return err
}

// say says a clip, and waits for what comes of it.
func (c *conversation) say(ctx context.Context, clip Clip) (caller.Turn, error) {
	pcm, rate, err := clip.Sound()
	if err != nil {
		return caller.Turn{}, err
	}
	return c.call.Say(ctx, caller.Speech{Sound: pcm, Rate: rate, Voiced: len(pcm)})
}

// hangUp ends the call, if there is one.
func (c *conversation) hangUp() {
	if c.call != nil {
		c.call.Close()
		c.call = nil
	}
}
