package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"riposte/caller"
)

// Calls holds many conversations with a service at once, in real time. Callers come one after the other; who is refused tries
// again when the service says so, until the patience is at its end.
type Calls struct {
	Caller   caller.Caller
	Clips    []Clip        // What callers say, each in an order of its own, drawn by Seed.
	Calls    int           // Callers.
	Turns    int           // Of each call.
	Ramp     time.Duration // From the first caller's coming to the last one's.
	Patience time.Duration // How long a caller who is refused goes on trying; 0 is not at all.
	Seed     uint64
	// Usage says what the service has used so far. nil when that cannot be known.
	Usage func(ctx context.Context) (Usage, error)
	Each  func(CallEvent) // Called for all that happens, by one goroutine at a time, where it is not nil.
}

// Usage is what a process has used.
type Usage struct {
	CPU time.Duration // Of all its threads since it began.
	RSS int64         // Bytes of memory that it has now.
}

// CallEvent is a turn, a refusal or a giving up of one caller.
type CallEvent struct {
	Caller int // The first is 1.
	Held   int // Calls that are held now.
	Turn   int // The first is 1; 0 where no call was begun.
	Clip   Clip
	Came   caller.Turn
	Err    error
}

// CallsResult is what Calls measured: its turns as those of TurnsResult, and its calls.
type CallsResult struct {
	TurnsResult

	Callers   int            `json:"callers"`
	Admitted  int            `json:"admitted"`           // Callers who were taken sooner or later.
	AtOnce    int            `json:"at_once"`            // Most calls that were held at once.
	Refused   int            `json:"refused"`            // Refusals; one caller may have several.
	Refusals  map[string]int `json:"refusals_by_code"`   // Of these.
	RefusalMs Percentiles    `json:"refusal_ms"`         // From dialing to the refusal.
	SlowestMs float64        `json:"refusal_slowest_ms"` // Of these.
	Frames    int            `json:"frames"`             // Of 20 ms, of answers.
	Missed    int            `json:"missed_frames"`      // Of these, those that had not come when they were to be played, in the middle of an answer.
	LateMs    Percentiles    `json:"caller_late_ms"`     // By how much the callers' own frames left late: what this machine could not do in time.
	CPU       float64        `json:"cpu_s_per_call_s"`   // Of the service, for each second of each call; 0 when it is not known.
	RSS       int64          `json:"rss_bytes"`          // Of the service, at its most.
	RSSPer    int64          `json:"rss_per_call"`       // What of that came after the first call, by the calls at once.
	Held      float64        `json:"call_seconds"`       // Of all calls.
	Took      float64        `json:"seconds"`            // In all.
}

// maxRetry bounds how long a caller waits before trying again, whatever the service says.
const maxRetry = 5 * time.Second

// Run holds the calls. The error is one because of which nothing can be measured; what was measured until ctx ended comes with
// its cause.
func (b *Calls) Run(ctx context.Context) (CallsResult, error) {
	m := &manyCalls{Calls: b, turns: newTally(b.Seed), codes: map[string]int{}}
	if len(b.Clips) == 0 {
		return CallsResult{}, fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	before, err := b.usage(ctx)
	if err != nil {
		return CallsResult{}, err
	}
	began := time.Now()
	m.most = before.RSS
	watching, stop := context.WithCancel(ctx)
	var watch, all sync.WaitGroup
	watch.Go(func() { m.watch(watching) })
	for n := range b.Calls {
		all.Go(func() { m.come(ctx, n) })
	}
	all.Wait()
	stop()
	watch.Wait()
	after, err := b.usage(context.WithoutCancel(ctx))
	if err != nil {
		return CallsResult{}, err
	}
	r := m.sum()
	r.Took = time.Since(began).Seconds()
	if b.Usage != nil {
		r.RSS = max(m.most, after.RSS)
		r.RSSPer = (r.RSS - before.RSS) / int64(max(1, r.AtOnce))
		if r.Held > 0 {
			r.CPU = (after.CPU - before.CPU).Seconds() / r.Held
		}
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, nil
}

// usage asks for what the service has used, if that can be known.
func (b *Calls) usage(ctx context.Context) (Usage, error) {
	if b.Usage == nil {
		return Usage{}, nil
	}
	return b.Usage(ctx)
}

// manyCalls is one run of Calls.
type manyCalls struct {
	*Calls

	mu             sync.Mutex // Guards what follows.
	turns          *tally
	codes          map[string]int
	refusals, late []time.Duration
	admitted       int
	holding, peak  int
	frames, missed int
	held           time.Duration
	most           int64 // Bytes of memory.
}

// come is one caller, from coming to hanging up.
func (m *manyCalls) come(ctx context.Context, n int) {
	if m.Calls.Calls > 1 && rest(ctx, m.Ramp*time.Duration(n)/time.Duration(m.Calls.Calls-1)) != nil {
		return
	}
	order := rand.New(rand.NewPCG(m.Seed, uint64(n))).Perm(len(m.Clips))
	var call *caller.Call
	var since time.Time
	defer func() { m.leave(call, since) }()
	known := false // Whether this caller has been taken before.
	for turn := range m.Turns {
		c := m.Clips[order[turn%len(order)]]
		var came caller.Turn
		var err error
		if call == nil {
			if call, err = m.dial(ctx, n); call != nil {
				since = time.Now()
				m.enter(!known)
				known = true
			}
		}
		if call != nil {
			came, err = c.say(ctx, call)
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, caller.ErrBusy) && !known {
			return // It was never part of a conversation: its refusals are counted.
		}
		m.count(n, turn, c, came, err)
		if err != nil {
			m.leave(call, since)
			call = nil
		}
	}
}

// dial calls until there is room or the patience is at its end.
func (m *manyCalls) dial(ctx context.Context, n int) (*caller.Call, error) {
	for began := time.Now(); ; {
		dialed := time.Now()
		call, err := m.Caller.Dial(ctx)
		var busy *caller.BusyError
		if !errors.As(err, &busy) {
			return call, err
		}
		m.refused(n, busy, time.Since(dialed))
		wait := min(max(busy.Retry, time.Second), maxRetry)
		if time.Since(began)+wait > m.Patience || rest(ctx, wait) != nil {
			return nil, err
		}
	}
}

func (m *manyCalls) refused(n int, why *caller.BusyError, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusals = append(m.refusals, took)
	m.codes[why.Code]++
	m.tell(CallEvent{Caller: n + 1, Err: why})
}

// enter counts a call that was taken.
func (m *manyCalls) enter(first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if first {
		m.admitted++
	}
	m.holding++
	m.peak = max(m.peak, m.holding)
}

// leave hangs up, and counts what the call was like. nil is no call.
func (m *manyCalls) leave(call *caller.Call, since time.Time) {
	if call == nil {
		return
	}
	const frame = 20 * time.Millisecond
	moment, late, rate := call.Now(), call.Late(), cmp.Or(m.Caller.Format, caller.PCM).Rate()
	call.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding--
	m.held += time.Since(since)
	m.late = append(m.late, late...)
	for _, a := range moment.Answers {
		if !a.Cut() {
			m.frames += int(a.Sound.Duration(rate) / frame)
			m.missed += int((a.Starved + frame - 1) / frame)
		}
	}
}

// count counts a turn.
func (m *manyCalls) count(n, turn int, c Clip, came caller.Turn, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns.add(turn, c, came, err)
	m.tell(CallEvent{Caller: n + 1, Turn: turn + 1, Clip: c, Came: came, Err: err})
}

// tell says what happened. The caller holds mu.
func (m *manyCalls) tell(e CallEvent) {
	if e.Held = m.holding; m.Each != nil {
		m.Each(e)
	}
}

// watch looks at the service's memory every second.
func (m *manyCalls) watch(ctx context.Context) {
	for m.Usage != nil && rest(ctx, time.Second) == nil {
		if u, err := m.Usage(ctx); err == nil {
			m.mu.Lock()
			m.most = max(m.most, u.RSS)
			m.mu.Unlock()
		}
	}
}

// sum returns what all came to.
func (m *manyCalls) sum() CallsResult {
	r := CallsResult{
		TurnsResult: m.turns.sum(), Callers: m.Calls.Calls, Admitted: m.admitted, AtOnce: m.peak,
		Refused: len(m.refusals), Refusals: m.codes, RefusalMs: percentiles(m.refusals),
		Frames: m.frames, Missed: m.missed, LateMs: percentiles(m.late), Held: m.held.Seconds(),
	}
	for _, took := range m.refusals {
		r.SlowestMs = max(r.SlowestMs, ms(took))
	}
	return r
}

// rest waits for d. The error is the cause of ctx.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
