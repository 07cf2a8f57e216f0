package remote

import (
	"math/rand/v2"
	"sync"
	"time"
)

// State is whether a server is asked.
type State string

// The states.
const (
	Closed   State = "closed"    // It is asked.
	HalfOpen State = "half_open" // It answers again: the next request tells whether it works.
	Open     State = "open"      // It is not asked.
)

// breaker stops asking a server that fails, so that callers do not wait for it in vain. It opens after some failures in a row, or when the
// server says for how long it wants to be left alone, and rests; then a probe, which no caller waits for, finds out whether the server
// answers, and one request whether it works. It is safe for use by many goroutines.
type breaker struct {
	failures int           // In a row, that open it.
	rest     time.Duration // Before the first probe; twice as long before each that follows,
	longest  time.Duration // up to this.
	probe    func() error  // nil finds nothing out: the next request does.
	changed  func(State, error)

	mu     sync.Mutex
	state  State // Empty is Closed.
	failed int   // In a row.
	rests  int   // In a row.
	trial  bool  // HalfOpen: a request is on its way.
	timer  *time.Timer
	closed bool
}

// enter asks for leave to make a request, after which leave has to be called with what came of it.
func (b *breaker) enter() (leave func(err error, counts bool), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	trial := false
	switch b.state {
	case Open:
		return nil, ErrResting
	case HalfOpen:
		if b.trial {
			return nil, ErrResting
		}
		b.trial, trial = true, true
	}
	var once sync.Once
	return func(err error, counts bool) { once.Do(func() { b.left(err, counts, trial) }) }, nil
}

// left takes in what came of a request. What does not count says nothing of the server.
func (b *breaker) left(err error, counts, trial bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if trial {
		b.trial = false
	}
	switch {
	case !counts:
	case err == nil:
		b.failed = 0
		if b.state == HalfOpen {
			b.rests = 0
			b.set(Closed, nil)
		}
	case b.state == Open: // it was asked before
	default:
		b.failed++
		if wait := asked(err); wait > 0 {
			b.open(wait, err)
		} else if b.failed >= b.failures || b.state == HalfOpen {
			b.open(0, err)
		}
	}
}

// open opens it for a time; 0 goes by how often it has opened. mu is held.
func (b *breaker) open(wait time.Duration, why error) {
	if wait == 0 {
		wait = min(b.longest, b.rest<<min(b.rests, 16))
		wait += time.Duration(rand.Int64N(int64(wait)/10 + 1)) // many services need not come back at the same moment
		b.rests++
	}
	b.set(Open, why)
	if !b.closed {
		b.timer = time.AfterFunc(wait, b.look)
	}
}

// look finds out whether the server answers again.
func (b *breaker) look() {
	var err error
	if b.probe != nil {
		err = b.probe()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.closed || b.state != Open:
	case err != nil:
		b.open(asked(err), err)
	default:
		b.set(HalfOpen, nil)
	}
}

// set changes the state. mu is held.
func (b *breaker) set(s State, why error) {
	before := b.State()
	b.state = s
	if b.changed != nil && s != before {
		b.changed(s, why)
	}
}

// State returns whether the server is asked. mu is held.
func (b *breaker) State() State {
	if b.state == "" {
		return Closed
	}
	return b.state
}

// get returns the state.
func (b *breaker) get() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.State()
}

// close ends the probes.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if b.timer != nil {
		b.timer.Stop()
	}
}
