package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"riposte/caller"
)

// Cycles sets up calls and ends them again, over and over, and looks for what the service keeps of them.
type Cycles struct {
	Caller caller.Caller
	Cycles int           // Calls that count.
	Warm   int           // Calls before them, in which the service comes to what it always needs.
	AtOnce int           // Calls that are held at the same time.
	Hold   time.Duration // How long each is held.
	Usage  func(ctx context.Context) (Usage, error)
	// Settle has the service give back the memory that it does not need.
	Settle func(ctx context.Context) error
	Each   func(done int, u Usage) // Called after each tenth of the calls, by one goroutine at a time, where it is not nil.

	settling time.Duration // How long the service may take to be done with its last call. It defaults to settleWait.
}

// CyclesResult is what Cycles measured.
type CyclesResult struct {
	Cycles   int            `json:"cycles"`
	Failed   int            `json:"failed"`
	Failures map[string]int `json:"failures"` // How often there was which.
	SetupMs  Percentiles    `json:"setup_ms"` // From dialing to a session that is agreed on.
	CloseMs  Percentiles    `json:"close_ms"` // From hanging up to a caller's side that is gone.
	Before   Usage          `json:"before"`   // What the service had in use, with no call, before those that count,
	After    Usage          `json:"after"`    // and behind them.
	PerCall  int64          `json:"rss_growth_per_cycle"`
	Leaks    []string       `json:"leaks"`       // What it kept of them; empty is as it should be.
	Took     float64        `json:"seconds"`     // In all.
	CPU      float64        `json:"cpu_s_cycle"` // Of the service, for each.

	About
}

const (
	// keptMemory is what a service may have grown by, in bytes: a share of what allocators keep in pieces, and for each cycle some that
	// belongs to no call, such as the row of its trace. A call that is not given back takes a hundred times as much.
	keptMemory, keptPerCycle = 4 << 20, 4 << 10
	// keptHeap is the same of Go's heap alone, which is measured when all garbage is gone.
	keptHeap = 1 << 20
	// keptGoroutines is how many more there may be than before: what serves the connection over which they are counted.
	keptGoroutines = 3
	// settleWait is how long the service may take to be done with a caller who has said good-bye.
	settleWait = 20 * time.Second
)

// Run runs them. The error is one because of which nothing can be said.
func (b *Cycles) Run(ctx context.Context) (CyclesResult, error) {
	r := CyclesResult{Cycles: b.Cycles, Failures: map[string]int{}, Leaks: []string{}, About: about(0)}
	if err := (&cycling{Cycles: b, result: &CyclesResult{Failures: r.Failures}}).run(ctx, b.Warm); err != nil {
		return r, err
	}
	if len(r.Failures) > 0 {
		return r, fmt.Errorf("not even the calls before those that count came about: %v", r.Failures)
	}
	var err error
	if r.Before, err = b.settled(ctx, nil); err != nil {
		return r, err
	}
	began := time.Now()
	c := &cycling{Cycles: b, result: &r, counts: true}
	if err := c.run(ctx, b.Cycles); err != nil {
		return r, err
	}
	r.Took = time.Since(began).Seconds()
	r.SetupMs, r.CloseMs = percentiles(c.setups), percentiles(c.closes)
	if r.After, err = b.settled(ctx, &r.Before); err != nil {
		return r, err
	}
	r.PerCall = (r.After.RSS - r.Before.RSS) / int64(max(1, b.Cycles))
	r.CPU = (r.After.CPU - r.Before.CPU).Seconds() / float64(max(1, b.Cycles))
	r.Leaks, r.Machine = leaks(r.Before, r.After, b.Cycles), r.Machine.after()
	return r, nil
}

// settled waits until the service is done with its calls, twice, and returns what it has in use then. It is done when it has no more
// goroutines and handles than before; without before, when their numbers do not change.
func (b *Cycles) settled(ctx context.Context, before *Usage) (u Usage, err error) {
	times := 0
	for begin := time.Now(); ; {
		if err := b.Settle(ctx); err != nil {
			return u, err
		}
		last := u
		if before != nil {
			last = *before
		}
		if u, err = b.Usage(ctx); err != nil {
			return u, err
		}
		if u.Goroutines <= last.Goroutines+keptGoroutines && u.Files <= last.Files && u.Sockets <= last.Sockets {
			times++
		}
		if times == 2 || time.Since(begin) > cmp.Or(b.settling, settleWait) {
			return u, nil
		}
		if err := rest(ctx, time.Second); err != nil {
			return u, err
		}
	}
}

// leaks says what a service has more of than before so many calls, and has no reason to.
func leaks(before, after Usage, cycles int) []string {
	out := []string{}
	more := func(what string, before, after, slack int64) {
		if after > before+slack {
			out = append(out, fmt.Sprintf("%s: %d before, %d after", what, before, after))
		}
	}
	more("goroutines", int64(before.Goroutines), int64(after.Goroutines), keptGoroutines)
	more("sockets", int64(before.Sockets), int64(after.Sockets), 0)
	more("file handles", int64(before.Files), int64(after.Files), 0)
	more("bytes of Go's heap", before.Heap, after.Heap, keptHeap+keptPerCycle*int64(cycles))
	more("bytes of memory", before.RSS, after.RSS, keptMemory+keptPerCycle*int64(cycles))
	return out
}

// cycling is some calls, one after the other in each of several places.
type cycling struct {
	*Cycles
	counts bool

	mu             sync.Mutex // Guards what follows.
	result         *CyclesResult
	begun, done    int
	setups, closes []time.Duration
}

// run makes n calls. The error is the cause of ctx.
func (c *cycling) run(ctx context.Context, n int) error {
	var all sync.WaitGroup
	for range max(1, c.AtOnce) {
		all.Go(func() {
			for c.next(n) && ctx.Err() == nil {
				setup, close, err := c.cycle(ctx)
				c.note(ctx, n, setup, close, err)
			}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// next reports whether one more call is to be made.
func (c *cycling) next(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
	return c.begun <= n
}

// cycle makes a call, holds it and hangs up.
func (c *cycling) cycle(ctx context.Context) (setup, close time.Duration, err error) {
	began := time.Now()
	call, err := c.Caller.Dial(ctx)
	if err != nil {
		return 0, 0, err
	}
	setup = time.Since(began)
	err = rest(ctx, c.Hold)
	began = time.Now()
	err = errors.Join(err, call.Close())
	return setup, time.Since(began), err
}

// note counts a call of n.
func (c *cycling) note(ctx context.Context, n int, setup, close time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	if err != nil {
		if ctx.Err() == nil {
			c.result.Failed++
			c.result.Failures[err.Error()]++
		}
		return
	}
	c.setups, c.closes = append(c.setups, setup), append(c.closes, close)
	if c.counts && c.Each != nil && c.done%max(1, n/10) == 0 {
		if u, err := c.Usage(ctx); err == nil {
			c.Each(c.done, u)
		}
	}
}
