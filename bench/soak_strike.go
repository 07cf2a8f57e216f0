package bench

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Drip lets engines have faults, one now and then, each in one thing that is asked of them. Which they are is drawn by Seed; whom they
// strike is whoever asks first.
type Drip struct {
	Injector *Injector
	Every    time.Duration // From one to the next, on average: half of it at least, and one and a half of it at most.
	Seed     uint64
	Struck   func(Fault, Rubbish) // Told of each that an engine had, while it is asked.
}

// Run lets faults happen until ctx ends.
func (d *Drip) Run(ctx context.Context) {
	defer d.Injector.Set(Fault{}, "")
	rnd := rand.New(rand.NewPCG(d.Seed, 0))
	for rest(ctx, d.Every/2+time.Duration(rnd.Int64N(int64(d.Every)))) == nil {
		f, what := draw(rnd)
		d.Injector.Next(f, what, func() { d.Struck(f, what) })
	}
}

// draw draws a fault.
func draw(rnd *rand.Rand) (f Fault, what Rubbish) {
	f = Faults[rnd.IntN(len(Faults))]
	if kinds := rubbish[f.Stage]; f.Kind == Garbage {
		what = kinds[rnd.IntN(len(kinds))]
	}
	return f, what
}

// Strikes are the faults that engines of a service have had. One excuses one failure. The zero value is ready.
type Strikes struct {
	mu    sync.Mutex
	at    []time.Time // Of those that nobody has claimed.
	kinds map[string]int
}

// mostStrikes bounds how many are kept that nobody has claimed: most faults are borne, and no turn is as long as a hundred of them.
const mostStrikes = 100

// Add notes a fault that an engine had at a time.
func (s *Strikes) Add(fault string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kinds == nil {
		s.kinds = map[string]int{}
	}
	s.kinds[fault]++
	s.at = append(s.at, at)
	s.at = s.at[max(0, len(s.at)-mostStrikes):]
}

// claim reports whether one that nobody has claimed struck between two times, and claims it.
func (s *Strikes) claim(from, to time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.at, func(at time.Time) bool { return !at.Before(from) && !at.After(to) })
	if i < 0 {
		return false
	}
	s.at = slices.Delete(s.at, i, i+1)
	return true
}

// Counts says how often there was which.
func (s *Strikes) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for kind, n := range s.kinds {
		out[kind] = n
	}
	return out
}
