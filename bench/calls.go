package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"riposte/audio"
	"riposte/bench/stub"
	"riposte/caller"
)

// Calls holds many conversations with a service at once, in real time. Callers come one after the other; who is refused tries
// again when the service says so, until the patience is at its end.
type Calls struct {
	Caller caller.Caller
	// Telephone makes the calls in place of Caller where it is not nil.
	Telephone *Telephone
	Clips     []Clip        // What callers say, each in an order of its own, drawn by Seed.
	Calls     int           // Callers.
	Turns     int           // Of each call.
	Ramp      time.Duration // From the first caller's coming to the last one's.
	Patience  time.Duration // How long a caller who is refused goes on trying; 0 is not at all.
	Seed      uint64
	// Usage says what the service has used so far. nil when that cannot be known.
	Usage func(ctx context.Context) (Usage, error)
	// Stubs are the times that the service's engines take where they are stubs: then one call that does not count comes before the others,
	// and what the service adds to these times is measured. nil is for real engines.
	Stubs *stub.Delays
	// Settle has the service give back the memory that it does not need. nil does not.
	Settle func(ctx context.Context) error
	Each   func(CallEvent) // Called for all that happens, by one goroutine at a time, where it is not nil.
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
	Added     Percentiles    `json:"added_ms"`           // With stubs: what of the gap is neither theirs nor the silence that ended the turn; see Calls.floor.
	Frames    int            `json:"frames"`             // Of 20 ms, of answers.
	Missed    int            `json:"missed_frames"`      // Of these, those that had not come when they were to be played, in the middle of an answer.
	LatePart  float64        `json:"late_part"`          // The part of the frames that these are.
	LateMs    Percentiles    `json:"caller_late_ms"`     // By how much the callers' own frames left late: what this machine could not do in time.
	CPU       float64        `json:"cpu_s_per_call_s"`   // Of the service, for each second of each call; 0 when it is not known.
	RSS       int64          `json:"rss_bytes"`          // Of the service, at its most.
	RSSPer    int64          `json:"rss_per_call"`       // What of that it did not have before the calls, by the calls at once.
	Idle      Usage          `json:"service_idle"`       // What it had before the calls,
	Most      Usage          `json:"service_most"`       // and the most that it had of each.
	CallerCPU float64        `json:"caller_cores"`       // Cores that the callers took.
	CallerOf  int            `json:"caller_cores_of"`    // Cores that they could take.
	Starved   bool           `json:"callers_starved"`    // They were late by themselves: the times say little of the service.
	Held      float64        `json:"call_seconds"`       // Of all calls.
	Took      float64        `json:"seconds"`            // In all.
}

// maxRetry bounds how long a caller waits before trying again, whatever the service says.
const maxRetry = 5 * time.Second

// Run holds the calls. The error is one because of which nothing can be measured; what was measured until ctx ended comes with
// its cause.
func (b *Calls) Run(ctx context.Context) (CallsResult, error) {
	m := &manyCalls{Calls: b, turns: newTally(b.Seed), codes: map[string]int{}}
	m.turns.deaf = b.Telephone.deaf()
	if len(b.Clips) == 0 {
		return CallsResult{}, fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	if err := m.prepare(ctx); err != nil {
		return CallsResult{}, err
	}
	before, err := b.usage(ctx)
	if err != nil {
		return CallsResult{}, err
	}
	began, cpu := time.Now(), ownCPU()
	m.most = before
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
	r.CallerCPU, r.CallerOf = (ownCPU()-cpu).Seconds()/r.Took, runtime.GOMAXPROCS(0)
	r.Starved = r.LateMs.P99 > ms(starving) || r.CallerCPU > occupied*float64(r.CallerOf)
	if b.Usage != nil {
		r.Idle, r.Most = before, m.most.most(after)
		r.RSS = r.Most.RSS
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

const (
	// starving is by how much one in a hundred of the callers' frames may leave late: a quarter of a frame.
	starving = 5 * time.Millisecond
	// occupied is the part of their cores' time that callers may take. Beyond it they wait for each other.
	occupied = 0.9
)

// ownCPU returns what this process has used of the cores.
func ownCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// floor returns what the gap of a turn cannot be less than, whatever service has these stubs: the silence that ended the turn, as samples
// of the caller's sound, and what model and voice take for their first sound behind that; or, where the answer was begun in that silence,
// whichever of both is longer. A recogniser that is not done when the turn is decided is waited for. Over WebRTC sound waits at the
// caller's own side as well.
func (b *Calls) floor(t caller.Turn) (d time.Duration) {
	if b.Telephone != nil {
		d = b.Telephone.Waits()
	} else if b.Caller.Wire == caller.WebRTC {
		d = cmp.Or(b.Caller.Buffer, caller.DefaultBuffer)
	}
	speak := b.Stubs.Clause() + b.Stubs.TTS
	if t.Report != nil && t.Report.Guesses.Stood {
		return d + max(t.Silence, b.Stubs.STT+speak)
	}
	return d + max(t.Silence, b.Stubs.STT) + speak
}

// prepare reads the clips, and warms up a service that has stubs.
func (m *manyCalls) prepare(ctx context.Context) error {
	for _, c := range m.Clips {
		pcm, rate, err := c.Sound()
		if err != nil {
			return err
		}
		if m.Stubs != nil { // to the sample: real talkers' clips end where somebody noted it
			pcm = pcm[:audio.LastVoiced(pcm, rate)]
		}
		own := m.rate()
		if pcm, err = audio.Resample(pcm, rate, own); err != nil {
			return err
		}
		m.speeches = append(m.speeches, caller.Speech{Sound: pcm, Rate: own, Voiced: len(pcm)})
	}
	if m.Stubs == nil {
		return nil
	}
	call, err := m.call(ctx)
	if err != nil {
		return err
	}
	_, err = call.Say(ctx, m.speeches[0])
	if err = errors.Join(err, call.Close()); err != nil {
		return fmt.Errorf("the call before those that count: %w", err)
	}
	if m.Settle != nil {
		return m.Settle(ctx)
	}
	return nil
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
	speeches []caller.Speech // What the clips say.

	mu             sync.Mutex // Guards what follows.
	turns          *tally
	codes          map[string]int
	refusals, late []time.Duration
	added          []time.Duration
	admitted       int
	holding, peak  int
	frames, missed int
	held           time.Duration
	faults         []string // What the service did against the protocol of a telephone wire.
	most           Usage
}

// come is one caller, from coming to hanging up.
func (m *manyCalls) come(ctx context.Context, n int) {
	if m.Calls.Calls > 1 && rest(ctx, m.Ramp*time.Duration(n)/time.Duration(m.Calls.Calls-1)) != nil {
		return
	}
	order := rand.New(rand.NewPCG(m.Seed, uint64(n))).Perm(len(m.Clips))
	var call heldCall
	var since time.Time
	defer func() { m.leave(call, since) }()
	known := false // Whether this caller has been taken before.
	for turn := range m.Turns {
		which := order[turn%len(order)]
		c := m.Clips[which]
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
			came, err = say(ctx, call, m.speeches[which])
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
func (m *manyCalls) dial(ctx context.Context, n int) (heldCall, error) {
	for began := time.Now(); ; {
		dialed := time.Now()
		call, err := m.call(ctx)
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
func (m *manyCalls) leave(call heldCall, since time.Time) {
	if call == nil {
		return
	}
	frames, missed := call.frames()
	late := call.Late()
	err := call.Close()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holding--
	m.held += time.Since(since)
	m.late = append(m.late, late...)
	m.frames, m.missed = m.frames+frames, m.missed+missed
	if err != nil {
		m.faults = append(m.faults, strings.Split(err.Error(), "\n")...)
	}
}

// call makes a call.
func (m *manyCalls) call(ctx context.Context) (heldCall, error) {
	if m.Telephone == nil {
		call, err := m.Caller.Dial(ctx)
		if err != nil {
			return nil, err
		}
		return dialled{call, m.rate()}, nil
	}
	call, err := m.Telephone.dial(ctx)
	if err != nil {
		return nil, err
	}
	return call, nil
}

// rate is that of the callers' sound, in hertz.
func (b *Calls) rate() int {
	if b.Telephone != nil {
		return b.Telephone.Hz()
	}
	return cmp.Or(b.Caller.Format, caller.PCM).Rate()
}

// count counts a turn.
func (m *manyCalls) count(n, turn int, c Clip, came caller.Turn, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns.add(turn, c, came, err)
	if m.Stubs != nil && err == nil {
		m.added = append(m.added, came.Gap-m.floor(came))
	}
	m.tell(CallEvent{Caller: n + 1, Turn: turn + 1, Clip: c, Came: came, Err: err})
}

// tell says what happened. The caller holds mu.
func (m *manyCalls) tell(e CallEvent) {
	if e.Held = m.holding; m.Each != nil {
		m.Each(e)
	}
}

// watch looks at what the service has in use every second.
func (m *manyCalls) watch(ctx context.Context) {
	for m.Usage != nil && rest(ctx, time.Second) == nil {
		if u, err := m.Usage(ctx); err == nil {
			m.mu.Lock()
			m.most = m.most.most(u)
			m.mu.Unlock()
		}
	}
}

// sum returns what all came to.
func (m *manyCalls) sum() CallsResult {
	r := CallsResult{
		TurnsResult: m.turns.sum(), Callers: m.Calls.Calls, Admitted: m.admitted, AtOnce: m.peak,
		Refused: len(m.refusals), Refusals: m.codes, RefusalMs: percentiles(m.refusals),
		Frames: m.frames, Missed: m.missed, LateMs: percentiles(m.late), Held: m.held.Seconds(), Added: percentiles(m.added),
	}
	r.Faults = m.faults
	r.LatePart = float64(r.Missed) / float64(max(1, r.Frames))
	if m.Stubs != nil { // they do not listen
		r.WER, r.WERByKind = 0, map[string]float64{}
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
