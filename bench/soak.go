package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/caller"
)

// Soak lets callers come and go at one service for a long time. Each has a life that chance has drawn: it asks, interrupts, is silent, presses
// keys, hangs up in the middle, reads nothing any more, or has a bad network; and engines have faults meanwhile. What fails without a reason
// is counted, and what the service uses is watched.
type Soak struct {
	Ways    []Way         // By which callers come, each as likely as the others.
	Clips   []Clip        // What they say.
	Calls   int           // Callers at once, some of them away for a moment.
	For     time.Duration // How long it goes on.
	Every   time.Duration // From one look at what the service uses to the next. It defaults to 5 s.
	Wait    time.Duration // How long the service may owe an answer.
	Plan    budget.Plan   // By which answers on telephone wires are judged: their verdict is not told.
	Seed    uint64        // Draws the lives.
	REST    *SoakREST     // Requests beside the calls; nil makes none.
	Strikes *Strikes      // The faults that the service's engines have; nil is none.
	Usage   func(ctx context.Context) (Usage, error)
	Settle  func(ctx context.Context) error // Has the service give back the memory that it does not need.
	Each    func(SoakEvent)                 // Called for what fails, and for each look at the service, by one goroutine at a time, where it is not nil.
}

// SoakEvent is a failure, or a look at the service.
type SoakEvent struct {
	Failure *SoakFailure // nil for a look.
	Sample  SoakSample
	Turns   int // So far.
}

// SoakFailure is something that failed for no reason.
type SoakFailure struct {
	At     float64 `json:"at_s"`   // Seconds after the beginning.
	Caller int     `json:"caller"` // The first is 1; 0 where it was a request.
	Wire   string  `json:"wire"`
	Doing  string  `json:"doing"`
	Why    string  `json:"why"`
}

// SoakSample is what the service used at one time.
type SoakSample struct {
	At   float64 `json:"at_s"` // Seconds after the beginning.
	Held int     `json:"held"` // Calls.
	Usage
}

var (
	// errHungUp is why a caller leaves in the middle of something,
	errHungUp = errors.New("the caller hangs up")
	// and errSoaked why all do.
	errSoaked = errors.New("the time is over")
	// errHeld says that a service keeps a caller who does not read.
	errHeld = errors.New("a caller who reads nothing is still served")
)

const (
	// deafWait is how long a service may go on with a caller who reads nothing: one that asks for a pong every now and then knows within
	// half a minute.
	deafWait = time.Minute
	// lostWait is how long a service may take to be done with callers whose good-bye was lost: it waits for those who may come back.
	lostWait = 90 * time.Second
	// mostSoakFailures bounds how many failures are kept; all are counted.
	mostSoakFailures = 1000
)

// soaking is one run of Soak.
type soaking struct {
	*Soak
	strikes  *Strikes
	speeches []caller.Speech
	began    time.Time

	mu     sync.Mutex // Guards what follows.
	held   int
	result SoakResult
	gaps   []timedGap
	late   []time.Duration
}

// timedGap is the gap of a turn that nothing was done to, and when it was.
type timedGap struct {
	at, gap time.Duration
}

// Run lets callers live. The error is one because of which nothing can be said, or the cause of ctx beside what was measured until then.
func (b *Soak) Run(ctx context.Context) (SoakResult, error) {
	s := &soaking{Soak: b, strikes: cmp.Or(b.Strikes, &Strikes{}), result: newSoakResult(b)}
	if len(b.Clips) == 0 {
		return s.result, fmt.Errorf("%w: it has no clip with a transcript in the language", ErrCorpus)
	}
	for _, c := range b.Clips {
		pcm, rate, err := c.Sound()
		if err != nil {
			return s.result, err
		}
		s.speeches = append(s.speeches, caller.Speech{Sound: pcm, Rate: rate, Voiced: audio.LastVoiced(pcm, rate)})
	}
	quiet := Cycles{Usage: b.Usage, Settle: b.Settle, settling: lostWait}
	if err := s.warm(ctx); err != nil {
		return s.result, fmt.Errorf("before the callers came: %w", err)
	}
	var err error
	if s.result.Before, err = quiet.settled(ctx, nil); err != nil {
		return s.result, err
	}
	s.began = time.Now()
	s.all(ctx)
	s.result.Took = time.Since(s.began).Seconds()
	if ctx.Err() == nil {
		if s.result.After, err = quiet.settled(ctx, &s.result.Before); err != nil {
			return s.result, err
		}
	}
	s.sum()
	return s.result, context.Cause(ctx)
}

// warm makes one call by each way, in which the service comes to what it always needs. An engine may have a fault already.
func (s *soaking) warm(ctx context.Context) error {
	for _, w := range s.Ways {
		from := time.Now()
		call, _, done, err := life{way: w}.dial(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
		_, err = call.Say(ctx, s.speeches[0])
		err = errors.Join(err, call.Close())
		if done(); err != nil && !s.strikes.claim(from, time.Now()) {
			return fmt.Errorf("%s: %w", w.Name, err)
		}
	}
	return nil
}

// all lets all live, until the time is over.
func (s *soaking) all(ctx context.Context) {
	ctx, stop := context.WithTimeoutCause(ctx, s.For, errSoaked)
	defer stop()
	var work sync.WaitGroup
	for n := range s.Calls {
		work.Go(func() {
			for rnd := rand.New(rand.NewPCG(s.Seed, uint64(n))); ctx.Err() == nil; {
				s.live(ctx, n, drawLife(rnd, s.Ways, len(s.speeches)))
			}
		})
	}
	work.Go(func() { s.watch(ctx) })
	if s.REST != nil {
		work.Go(func() { s.request(ctx) })
	}
	work.Wait()
}

// live leads a life.
func (s *soaking) live(ctx context.Context, who int, l life) {
	if rest(ctx, l.away) != nil {
		return
	}
	over := ctx
	if l.hangUp > 0 && !l.deaf {
		limited, hangUp := context.WithTimeoutCause(ctx, l.hangUp, errHungUp)
		defer hangUp()
		ctx = limited
	}
	from := time.Now()
	call, mute, done, err := l.dial(ctx)
	var busy *caller.BusyError
	switch {
	case ctx.Err() != nil && err != nil:
		s.count(func(r *SoakResult) { r.HungUp++ })
		return
	case errors.As(err, &busy):
		s.count(func(r *SoakResult) { r.Refused++ })
		_ = rest(over, min(max(busy.Retry, time.Second), maxRetry)) // whoever lives next sees that ctx has ended
		return
	case err != nil:
		s.fail(who, l.way.Name, "dialling", from, err)
		return
	}
	s.count(func(r *SoakResult) { s.held++; r.Calls++; r.Wires[l.way.Name]++ })
	defer s.leave(who, l, call, done)
	if rest(ctx, l.pause) != nil {
		s.count(func(r *SoakResult) { r.HungUp++ })
		return
	}
	if l.deaf {
		s.deafen(ctx, who, l, call, mute)
		return
	}
	for _, d := range l.deeds {
		if !s.act(ctx, who, l, call, d) {
			return
		}
	}
}

// leave hangs up. What a telephone wire's far side has to complain of is a failure.
func (s *soaking) leave(who int, l life, call lived, done func()) {
	late := call.Late()
	from := time.Now()
	err := call.Close()
	done()
	s.count(func(r *SoakResult) {
		s.held--
		s.late = append(s.late, late...)
		if n := len(s.late); n > mostLate {
			s.late = s.late[n-mostLate:]
		}
	})
	if err != nil {
		s.fail(who, l.way.Name, "hanging up", from, fmt.Errorf("against the wire's protocol: %s", strings.ReplaceAll(err.Error(), "\n", "; ")))
	}
}

// mostLate is of how many of the last frames that callers sent it is kept when they left.
const mostLate = 500_000

// deafen has a caller read nothing any more. It has to be let go.
func (s *soaking) deafen(ctx context.Context, who int, l life, call lived, mute func()) {
	from := time.Now()
	_, _, err := call.Talk(s.speeches[l.deeds[0].clip])
	mute()
	if err == nil {
		err = call.ended(ctx, deafWait)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		s.fail(who, l.way.Name, "reading nothing", from, fmt.Errorf("%w: %w", errHeld, err))
	default:
		s.count(func(r *SoakResult) { r.LetGo++ })
	}
}

// act does one thing, counts what came of it, and reports whether the call goes on.
func (s *soaking) act(ctx context.Context, who int, l life, call lived, d deed) bool {
	if d.kind == falls {
		return rest(ctx, d.wait) == nil
	}
	from := time.Now()
	turn, err := s.do(ctx, call, d)
	s.count(func(r *SoakResult) { r.Turns++; r.Deeds[string(d.kind)]++ })
	if ctx.Err() != nil {
		s.count(func(r *SoakResult) { r.Outcomes[string(leftOff)]++ })
		return false
	}
	o := s.judge(turn, err)
	if o == gaveUp {
		if err == nil {
			err = errors.New("the service gave up on the answer")
		}
		s.fail(who, l.way.Name, string(d.kind), from, err)
		return errors.Is(err, caller.ErrFailed) // an apology was heard, and the call goes on
	}
	s.count(func(r *SoakResult) { r.Outcomes[string(o)]++ })
	if d.kind == poses {
		s.count(func(*SoakResult) { s.gaps = append(s.gaps, timedGap{time.Since(s.began), turn.Gap}) })
	}
	return true
}

// do does one thing, and returns what came of it.
func (s *soaking) do(ctx context.Context, call lived, d deed) (caller.Turn, error) {
	first := s.speeches[d.clip]
	switch d.kind {
	case presses:
		call.press(d.keys)
		return call.answered(ctx, time.Now(), s.Wait)
	case interrupts:
		_, spoke, err := call.Talk(first)
		if err != nil {
			return caller.Turn{}, err
		}
		if err := rest(ctx, time.Until(spoke)+d.wait); err != nil {
			return caller.Turn{}, err
		}
		if _, spoke, err = call.Talk(s.speeches[d.next]); err != nil {
			return caller.Turn{}, err
		}
		return call.answered(ctx, spoke, time.Until(spoke)+s.Wait)
	}
	turn, err := call.Say(ctx, first)
	if err == nil && turn.Audible == 0 {
		err = errSilent
	}
	return turn, err
}

// fail counts something that failed: for no reason, unless an engine had a fault meanwhile.
func (s *soaking) fail(who int, wire, doing string, from time.Time, err error) {
	now := time.Now()
	if s.strikes.claim(from, now) {
		s.count(func(r *SoakResult) { r.Outcomes[string(excused)]++ })
		return
	}
	f := SoakFailure{At: now.Sub(s.began).Seconds(), Caller: who + 1, Wire: wire, Doing: doing, Why: err.Error()}
	s.count(func(r *SoakResult) {
		r.Outcomes[string(gaveUp)]++
		r.NotInjected++
		if len(r.Failures) < mostSoakFailures {
			r.Failures = append(r.Failures, f)
		}
		s.tell(SoakEvent{Failure: &f, Turns: r.Turns})
	})
}

// count changes what is counted.
func (s *soaking) count(change func(*SoakResult)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.result)
}

// tell says what happened. The caller holds mu.
func (s *soaking) tell(e SoakEvent) {
	if s.Each != nil {
		s.Each(e)
	}
}

// watch looks at what the service uses, again and again.
func (s *soaking) watch(ctx context.Context) {
	for rest(ctx, cmp.Or(s.Every, 5*time.Second)) == nil {
		u, err := s.Usage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			s.fail(-1, "metrics", "looking at the service", time.Now(), err)
			continue
		}
		s.count(func(r *SoakResult) {
			sample := SoakSample{At: time.Since(s.began).Seconds(), Held: s.held, Usage: u}
			r.Series = append(r.Series, sample)
			s.tell(SoakEvent{Sample: sample, Turns: r.Turns})
		})
	}
}
