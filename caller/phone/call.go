package phone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"riposte/audio"
	"riposte/caller"
)

// Call is one telephone call, from the far side. It sends a frame every 20 ms from Dial to Close, as a network does: what it was given to say,
// and digital silence otherwise. Say and Talk must not be called by two goroutines at once; Close may be called at any time.
type Call struct {
	line line
	wait time.Duration
	way  network // Of what comes.
	back network // Of what is sent.

	mu       sync.Mutex // Guards what follows.
	speaker  speaker
	arrivals []Arrival
	mic      microphone
	late     []time.Duration
	faults   []string
	dropped  int  // Frames that came though nothing more was wanted.
	full     bool // The service was told to stop.
	drain    bool // It wants to know when nothing is queued.
	err      error
	changed  chan struct{} // Closed, and replaced, whenever something above changes.

	came    chan coming
	out     chan sending
	gone    chan struct{} // Closed when the call is over.
	writing chan struct{} // Closed when nothing is sent any more.
	work    sync.WaitGroup
}

// Arrival is a piece of sound that came.
type Arrival struct {
	At time.Time
	N  int // Samples.
}

// coming is what came next.
type coming struct {
	order order
	at    time.Time
	err   error
}

// sending is what is sent at a time.
type sending struct {
	at time.Time
	do func() error
}

// ErrClosed says that the call's owner has closed it.
var ErrClosed = errors.New("the call is closed")

// mostFaults bounds how many of them are kept.
const mostFaults = 100

func newCall(l line, way network, wait time.Duration) *Call {
	now := time.Now()
	_, ticks := l.(throttler)
	return &Call{
		line: l, wait: wait, way: way, back: way, speaker: speaker{rate: l.rate(), epoch: now, ticks: ticks, ears: ears{rate: l.rate()}},
		mic: microphone{rate: l.rate(), start: now}, changed: make(chan struct{}),
		came: make(chan coming, 64), out: make(chan sending, 4096), gone: make(chan struct{}), writing: make(chan struct{}),
	}
}

func (c *Call) start() {
	c.send(c.line.begin)
	c.work.Go(c.listen)
	c.work.Go(c.write)
	c.work.Go(c.run)
}

// ID is what the far side calls the call.
func (c *Call) ID() string { return c.line.id() }

// Rate is that of the call's sound, in hertz.
func (c *Call) Rate() int { return c.line.rate() }

// listen reads what comes until the call is over.
func (c *Call) listen() {
	for {
		o, err := c.line.receive(c.fault)
		select {
		case c.came <- coming{o, time.Now(), err}:
		case <-c.gone:
			return
		}
		if err != nil {
			return
		}
	}
}

// write sends what is to be sent, in its order and time, until the call is over.
func (c *Call) write() {
	defer close(c.writing)
	for {
		select {
		case s := <-c.out:
			if !c.sleep(s.at) {
				return
			}
			if err := s.do(); err != nil {
				c.end(fmt.Errorf("%w: sending: %w", caller.ErrEnded, err))
				return
			}
		case <-c.gone:
			return
		}
	}
}

// sleep waits until a time. It returns false when the call is over before.
func (c *Call) sleep(until time.Time) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.gone:
		return false
	}
}

// send has something sent, by the network's time.
func (c *Call) send(do func() error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue(do)
}

// queue is send for who holds mu.
func (c *Call) queue(do func() error) {
	at := c.back.arrives(time.Now(), c.mic.sent)
	c.mic.sent = at
	select {
	case c.out <- sending{at, do}:
	case <-c.gone:
	default:
		c.noteFault("the service does not read: %d messages wait to be sent", len(c.out))
	}
}

// run plays and speaks until the call is over.
func (c *Call) run() {
	var underway []coming // What is on its way, by when it is there.
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		c.mu.Lock()
		due := c.mic.due()
		if at, ok := c.speaker.next(); ok && at.Before(due) && !c.speaker.ticks {
			due = at
		}
		c.mu.Unlock()
		if len(underway) > 0 && underway[0].at.Before(due) {
			due = underway[0].at
		}
		timer.Reset(time.Until(due))
		select {
		case in := <-c.came:
			before := time.Time{}
			if n := len(underway); n > 0 {
				before = underway[n-1].at
			}
			in.at = c.way.arrives(in.at, before)
			underway = append(underway, in)
		case <-timer.C:
		case <-c.gone:
			return
		}
		for now := time.Now(); len(underway) > 0 && !underway[0].at.After(now); underway = underway[1:] {
			if !c.take(underway[0]) {
				return
			}
		}
		c.step(time.Now())
	}
}

// step plays and speaks what is due by now.
func (c *Call) step(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.speaker.ticks {
		if c.mic.due().After(now) {
			return // frames are played when the timer says so
		}
		c.advance(c.mic.due())
	} else {
		c.advance(now)
	}
	for !c.mic.due().After(now) {
		c.late = append(c.late, now.Sub(c.mic.due()))
		p := c.mic.next()
		c.queue(func() error { return c.line.say(p) })
	}
	c.wake()
}

// advance plays, and tells the service what it wants to know of that. The caller holds mu.
func (c *Call) advance(now time.Time) {
	for _, m := range c.speaker.advance(now) {
		if m.full {
			if t, ok := c.line.(throttler); ok {
				c.queue(func() error { return t.filled(m.name) })
			}
			continue
		}
		c.queue(func() error { return c.line.played(m.name) })
	}
	t, ok := c.line.(throttler)
	if !ok {
		return
	}
	_, _, again := t.limits()
	if c.full && c.frames() < again && !c.speaker.held {
		c.full = false
		c.queue(func() error { return t.flow(false) })
	}
	if c.drain && len(c.speaker.queue) == 0 && !c.speaker.held {
		c.drain = false
		c.queue(t.drained)
	}
}

// frames returns how many frames are queued. The caller holds mu.
func (c *Call) frames() int { return c.speaker.waiting() / audio.Samples(frame, c.line.rate()) }

// take does what the service wants. It returns false when the call is over.
func (c *Call) take(in coming) bool {
	if in.err != nil {
		c.end(fmt.Errorf("%w: %w", caller.ErrEnded, in.err))
		return false
	}
	if _, ok := in.order.(hangUp); ok {
		c.end(fmt.Errorf("%w: the service hung up", caller.ErrEnded))
		return false
	}
	c.obey(in.order, in.at)
	return true
}

// obey does what the service wants of the player.
func (c *Call) obey(wanted order, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.wake()
	if !c.speaker.ticks {
		c.advance(now)
	}
	t, _ := c.line.(throttler)
	switch o := wanted.(type) {
	case play:
		c.arrivals = append(c.arrivals, Arrival{now, len(o.pcm)})
		if t != nil {
			most, stop, _ := t.limits()
			if c.frames() >= most {
				c.dropped++
				c.noteFault("sound came to a queue of %d frames, and was thrown away", c.frames())
				return
			}
			defer func() {
				if !c.full && c.frames() >= stop {
					c.full = true
					c.queue(func() error { return t.flow(true) })
				}
			}()
		}
		c.speaker.play(o.pcm, now)
	case mark:
		c.speaker.mark(o.name, false, now)
	case filled:
		c.speaker.mark(o.id, true, now)
	case empty:
		marks := c.speaker.empty(now)
		if t == nil { // what Asterisk flushes is gone, marks and all
			for _, name := range marks {
				c.queue(func() error { return c.line.played(name) })
			}
		}
	case pause:
		c.speaker.held = true
	case resume:
		c.speaker.held = false
	case query:
		queued, full, paused := c.frames(), c.full, c.speaker.held
		c.queue(func() error { return t.status(queued, full, o.bulk, paused) })
	case drain:
		c.drain = true
	}
}

// fault notes something that the protocol does not allow.
func (c *Call) fault(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteFault(format, args...)
}

func (c *Call) noteFault(format string, args ...any) {
	if len(c.faults) < mostFaults {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

// wake tells those who wait that something changed. The caller holds mu.
func (c *Call) wake() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Talk plays s into the call in real time, from the next frame on, and waits for nothing. It returns when its first voiced sample is captured
// and when its last one has been.
func (c *Call) Talk(s caller.Speech) (from, to time.Time, err error) {
	sound, err := audio.Resample(s.Sound, s.Rate, c.line.rate())
	if err != nil {
		return time.Time{}, time.Time{}, err
	}
	voiced := s.Voiced
	if voiced == 0 {
		voiced = audio.LastVoiced(s.Sound, s.Rate)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	start := c.mic.play(sound)
	return start.Add(audio.Duration(s.Onset, s.Rate)), start.Add(audio.Duration(voiced, s.Rate)), nil
}

// Press presses a key.
func (c *Call) Press(digit rune) { c.send(func() error { return c.line.press(digit) }) }

// Late returns by how much each frame so far left later than it was due: what this machine could not do in time.
func (c *Call) Late() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.late)
}

// Close hangs up, as the network does, and waits for the call's goroutines. The error holds all that the service did against the protocol.
func (c *Call) Close() error {
	c.end(ErrClosed)
	c.work.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, f := range c.faults {
		errs = append(errs, errors.New(f))
	}
	return errors.Join(errs...)
}

// end ends the call for the given reason, unless it is over already.
func (c *Call) end(why error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = why
		close(c.gone)
		c.wake()
	}
	c.mu.Unlock()
	if !first {
		return
	}
	if errors.Is(why, ErrClosed) {
		<-c.writing
		c.line.end()
	}
	c.line.close()
}

// microphone cuts what is said into frames by an absolute schedule: frame k is due at its end, (k+1) times 20 ms after the start.
type microphone struct {
	rate  int
	start time.Time
	taken int
	queue audio.PCM
	sent  time.Time // When the newest message leaves the network.
}

func (m *microphone) due() time.Time { return m.start.Add(time.Duration(m.taken+1) * frame) }

// play says p after all that is queued, and returns when its first sample is captured.
func (m *microphone) play(p audio.PCM) time.Time {
	size := audio.Samples(frame, m.rate)
	if over := len(m.queue) % size; over > 0 {
		m.queue = append(m.queue, make(audio.PCM, size-over)...)
	}
	at := m.start.Add(time.Duration(m.taken+len(m.queue)/size) * frame)
	m.queue = append(m.queue, p...)
	return at
}

func (m *microphone) next() audio.PCM {
	p := make(audio.PCM, audio.Samples(frame, m.rate))
	n := copy(p, m.queue)
	if m.queue = m.queue[n:]; len(m.queue) == 0 {
		m.queue = nil
	}
	m.taken++
	return p
}

// Until waits until the call is as wanted and returns it as it is then. wanted is asked at each message of the service and at each frame. The
// error is caller.ErrNoAnswer, wrapped, after d, or why the call or ctx ended.
func (c *Call) Until(ctx context.Context, d time.Duration, wanted func(Moment) bool) (Moment, error) {
	deadline := time.Now().Add(d)
	for {
		c.mu.Lock()
		m, changed, over := c.moment(time.Now()), c.changed, c.err
		c.mu.Unlock()
		switch {
		case wanted(m):
			return m, nil
		case over != nil:
			return m, over
		case !m.Now.Before(deadline):
			return m, fmt.Errorf("%w within %v", caller.ErrNoAnswer, d)
		}
		timer := time.NewTimer(deadline.Sub(m.Now))
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return m, context.Cause(ctx)
		}
		timer.Stop()
	}
}
