package caller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"riposte/audio"
)

// Call is one call. It sends a frame every 20 ms from Dial to Close, as a microphone does: what it was given to say, and
// digital silence otherwise; in a room, what is played there as well. Say and Talk must not be called by two goroutines at once;
// Close may be called at any time.
type Call struct {
	format Format
	wait   time.Duration
	log    *slog.Logger
	line   line
	room   Room                         // nil for a headset.
	tap    func(sent, played audio.PCM) // Or nil.

	mu      sync.Mutex // Guards what follows.
	ledger  ledger
	mic     *microphone
	late    []time.Duration
	err     error         // Why the call is over.
	changed chan struct{} // Closed, and replaced, whenever ledger, mic or err change.

	hangup context.CancelFunc
	ctx    context.Context
	work   sync.WaitGroup
}

// newCall begins to listen.
func newCall(l line, f Format, wait time.Duration, log *slog.Logger) *Call {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Call{format: f, wait: wait, log: log, line: l, ledger: newLedger(f, time.Now(), l.streams()), changed: make(chan struct{})}
	c.ctx, c.hangup = context.WithCancel(context.Background())
	c.work.Go(c.listen)
	return c
}

// talk begins to send.
func (c *Call) talk() {
	c.mu.Lock()
	c.mic = newMicrophone(c.format.Rate(), time.Now())
	c.ledger.fault = "" // What was refused until here was not needed.
	c.mu.Unlock()
	c.work.Go(c.speak)
}

// Speech is something to say.
type Speech struct {
	Sound audio.PCM
	Rate  int // Hertz.
	// Voiced is the index after the last voiced sample, from which gaps count. 0 means that it is found by level; see
	// audio.LastVoiced.
	Voiced int
	Onset  int // The index of the first voiced sample.
}

// Say plays s into the call in real time and returns what came of it once the answer has been heard to its end. Where s
// ends, silence follows, so that the server can find the turn's end. The error is, wrapped, ErrNoAnswer, ErrFailed,
// ErrEnded, ErrGarbage, ErrClosed or the cause of ctx; the Turn beside it holds what had come until then.
func (c *Call) Say(ctx context.Context, s Speech) (Turn, error) {
	voiced := s.Voiced
	if voiced == 0 {
		voiced = audio.LastVoiced(s.Sound, s.Rate)
	}
	if voiced == 0 {
		return Turn{}, ErrNoVoice
	}
	sound, err := audio.Resample(s.Sound, s.Rate, c.format.Rate())
	if err != nil {
		return Turn{}, err
	}
	if err := c.hearOut(ctx); err != nil {
		return Turn{}, err
	}
	c.mu.Lock()
	start, end := c.mic.play(sound)
	spoke := start.Add(audio.Duration(voiced, s.Rate))
	x := newExchange(&c.ledger, spoke, end, spoke.Sub(c.mic.start), c.wait)
	c.mu.Unlock()
	err = c.follow(ctx, &x)
	c.mu.Lock()
	defer c.mu.Unlock()
	return x.turn(), err
}

// Talk plays s into the call in real time, from the next frame on, and waits for nothing. It returns when its first voiced sample
// is captured and when its last one has been.
func (c *Call) Talk(s Speech) (from, to time.Time, err error) {
	sound, err := audio.Resample(s.Sound, s.Rate, c.format.Rate())
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	voiced := s.Voiced
	if voiced == 0 {
		voiced = audio.LastVoiced(s.Sound, s.Rate)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	start, _ := c.mic.play(sound)
	return start.Add(audio.Duration(s.Onset, s.Rate)), start.Add(audio.Duration(voiced, s.Rate)), nil
}

// hearOut waits until nothing is being said, such as a greeting.
func (c *Call) hearOut(ctx context.Context) error {
	for begin := time.Now(); time.Since(begin) < c.wait; {
		c.mu.Lock()
		rest, changed, over := c.ledger.saying(time.Now()), c.changed, c.err
		c.mu.Unlock()
		if rest == 0 || over != nil {
			return nil
		}
		if err := sleep(ctx, changed, rest); err != nil {
			return err
		}
	}
	return nil
}

// follow waits until the turn is over.
func (c *Call) follow(ctx context.Context, x *exchange) error {
	for {
		c.mu.Lock()
		now := time.Now()
		until, ok, err := x.next(now)
		changed, over := c.changed, c.err
		if over != nil && x.settled(now) {
			ok = true // All of the answer is here: the server need not stay while it is played.
		}
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case err != nil:
			return err
		case over != nil:
			return over
		}
		if err := sleep(ctx, changed, until.Sub(now)); err != nil {
			return err
		}
	}
}

// sleep waits until something changes or d has passed. The error is the cause of ctx.
func sleep(ctx context.Context, changed <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// Close hangs up and waits for the call's goroutines. A second call does nothing.
func (c *Call) Close() error {
	c.end(ErrClosed)
	c.work.Wait()
	return nil
}

// end ends the call for the given reason, unless it is over already.
func (c *Call) end(why error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = why
		c.wake()
	}
	c.mu.Unlock()
	if !first {
		return
	}
	c.hangup()
	c.line.close(errors.Is(why, ErrClosed))
}

// wake tells those who wait that something changed. The caller holds mu.
func (c *Call) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// listen takes what comes until the call is over.
func (c *Call) listen() {
	for {
		came, err := c.line.receive()
		now := time.Now()
		if err == nil {
			err = c.take(came, now)
		}
		if err != nil {
			c.end(err)
			return
		}
	}
}

// take notes what came.
func (c *Call) take(came arrival, now time.Time) error {
	var e serverEvent
	if came.sound == nil {
		var err error
		if e, err = parse(came.event); err != nil {
			return err
		}
		c.log.Debug("event", "type", e.Type, "bytes", len(came.event))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wake()
	if came.sound != nil {
		return c.ledger.sounds(*came.sound, now)
	}
	return c.ledger.take(e, now)
}

// speak sends a frame every 20 ms until the call is over.
func (c *Call) speak() {
	for {
		c.mu.Lock()
		frame, due := c.mic.next()
		c.mu.Unlock()
		if sleep(c.ctx, nil, time.Until(due)) != nil {
			return
		}
		c.surround(frame, due)
		if err := c.line.say(frame); err != nil {
			c.end(err)
			return
		}
	}
}

// Late returns by how much each frame so far left later than it was due: what this machine could not do in time.
func (c *Call) Late() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.late)
}

// Received returns what became of the server's packets of sound so far; over a WebSocket there are none.
func (c *Call) Received() Received {
	if p, ok := c.line.(*connection); ok {
		return p.received()
	}
	return Received{}
}

// surround adds to a frame what the room brings of what was played while it was captured, and wakes those who wait for time to pass.
func (c *Call) surround(frame audio.PCM, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.late = append(c.late, time.Since(due))
	c.wake()
	if c.room == nil && c.tap == nil {
		return
	}
	played := c.ledger.player.sounding(c.ledger.player.pos(due)-int64(len(frame)), len(frame))
	if c.room != nil {
		for i, x := range c.room.Hear(played) {
			frame[i] = int16(max(-32768, min(32767, int(frame[i])+int(x))))
		}
	}
	if c.tap != nil {
		c.tap(frame, played)
	}
}

// await waits until the ledger is as wanted, for d at most.
func (c *Call) await(ctx context.Context, d time.Duration, wanted func(*ledger) bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("the server says nothing for %v", d))
	defer cancel()
	for {
		c.mu.Lock()
		ok, changed, over := wanted(&c.ledger), c.changed, c.err
		fault := c.ledger.fault
		c.mu.Unlock()
		switch {
		case ok:
			return nil
		case over != nil:
			return over
		case fault != "":
			return errors.New(fault)
		}
		if err := sleep(ctx, changed, d); err != nil {
			return err
		}
	}
}

// updates returns how often the session was updated.
func (c *Call) updates() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.updated
}

// refusal returns the server's refusal of one of the caller's events, or nil.
func (c *Call) refusal(event string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if why := c.ledger.refused[event]; why != "" {
		return errors.New(why)
	}
	return nil
}
