package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"riposte/budget"
	"riposte/caller"
)

// DiskRun holds a conversation with a service in real time, while the disk on which its turns are kept is blocked in every second
// turn.
type DiskRun struct {
	Caller caller.Caller
	Clips  []Clip // What the caller says, in an order drawn by Seed; each once with the disk blocked, and once not.
	Times  int    // Turns with the disk blocked; as many without.
	Seed   uint64
	Disk   Disk
	Plan   budget.Plan
	Each   func(n int, blocked bool, t caller.Turn, err error) // Called after each turn, where it is not nil.
}

// Disk is where a service keeps its turns.
type Disk interface {
	// Block lets nothing be written until Free is called.
	Block(context.Context) error
	Free() error
	// Kept returns how many turns can be read there.
	Kept(context.Context) (int, error)
}

// DiskResult is what a DiskRun measured. Every turn counts: those that failed, under Failed.
type DiskResult struct {
	Blocked DiskTurns `json:"blocked"`
	Free    DiskTurns `json:"free"`
	Failed  int       `json:"failed"`

	About
}

// DiskTurns are the turns with the disk blocked, or not.
type DiskTurns struct {
	Turns         int         `json:"turns"`
	HeardAtCaller float64     `json:"heard_at_caller"` // The share of the turns that were heard within the budget.
	Gap           Percentiles `json:"gap_ms"`          // At the caller.
	PlatformGap   Percentiles `json:"platform_turn_gap_ms"`
	// Written is how many turns were written meanwhile: none, where the disk was blocked.
	Written int `json:"written"`
	Failed  int `json:"failed"`

	gaps, totals []time.Duration
}

// Run holds the conversation. Beside the error is what was measured until then.
func (b *DiskRun) Run(ctx context.Context) (DiskResult, error) {
	r := DiskResult{About: about(b.Seed)}
	if len(b.Clips) == 0 {
		return r, fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	order := rand.New(rand.NewPCG(b.Seed, 0)).Perm(len(b.Clips))
	c := conversation{caller: b.Caller}
	defer c.hangUp()
	var err error
	for n := 0; n < 2*b.Times && err == nil; n++ {
		// Of each clip's two turns, the first is the blocked one as often as the second: models answer otherwise the second time.
		blocked := (n%2 == 0) == (n/2%2 == 0)
		into := &r.Free
		if blocked {
			into = &r.Blocked
		}
		err = b.take(ctx, &c, n, b.Clips[order[n/2%len(order)]], blocked, into)
	}
	r.Blocked.sum(b.Plan.Total())
	r.Free.sum(b.Plan.Total())
	r.Failed = r.Blocked.Failed + r.Free.Failed
	r.Machine = r.Machine.after()
	return r, err
}

// take takes one turn. What the turn before has left to be written is being written meanwhile.
func (b *DiskRun) take(ctx context.Context, c *conversation, n int, clip Clip, blocked bool, into *DiskTurns) (err error) {
	if err := c.ready(ctx); err != nil {
		return err
	}
	if blocked {
		if err := b.Disk.Block(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, b.Disk.Free()) }()
	}
	before, err := b.Disk.Kept(ctx)
	if err != nil {
		return err
	}
	turn, err := c.say(ctx, clip)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && turn.Audible == 0 {
		err = errors.New("nothing could be heard")
	}
	if b.Each != nil {
		b.Each(n, blocked, turn, err)
	}
	after, counted := b.Disk.Kept(ctx)
	if counted != nil {
		return counted
	}
	into.Turns++
	into.Written += after - before
	if err != nil {
		into.Failed++
		c.hangUp()
		return nil
	}
	into.gaps = append(into.gaps, turn.Gap)
	if turn.Report != nil {
		into.totals = append(into.totals, turn.Report.Total)
	}
	return nil
}

// sum sums up the turns. The budget is how long the gap may be.
func (d *DiskTurns) sum(budget time.Duration) {
	d.Gap, d.PlatformGap = percentiles(d.gaps), percentiles(d.totals)
	heard := 0
	for _, g := range d.gaps {
		heard += count(g <= budget)
	}
	if d.Turns > 0 {
		d.HeardAtCaller = float64(heard) / float64(d.Turns)
	}
}
