package phone

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"riposte/audio/dtmf"
	"riposte/transport"
)

// call is one telephone call, whichever line brings it. Three goroutines work on it: hold, which is the pipeline's, read and run.
type call struct {
	id       string
	line     Line
	marker   Marker  // The line, where it is one; nil where not,
	clearer  Clearer // like these.
	pauser   Pauser
	opening  Opening
	settings transport.Settings
	server   *Server
	limits   Limits
	end      context.CancelCauseFunc // Of the context in which the call is held.
	gone     chan struct{}           // Closed when that has ended.
	idle     *time.Timer             // Runs out when nothing comes for too long,
	full     *time.Timer             // and this when the far side wants nothing for too long.
	leading  atomic.Pointer[leading] // The far side has been asked to lead the caller elsewhere; nil before, and where it did not.
	counts   counts

	in    chan transport.Inbound // What came, not received yet.
	order order                  // Of read alone,
	ear   ear                    // like this,
	tones *dtmf.Detector         // and this, which hears keys; nil where they are messages.

	news chan struct{} // Holds something when there is something new to send,
	room chan struct{} // when there may be room for more sound,
	own  chan struct{} // and when the call itself has something to say.

	filled int // Where in what fills pauses the next of it is. Of run alone.

	writing sync.Mutex // Held while something is written to the line. It is taken before mu.

	mu     sync.Mutex
	pace   pace
	said   []transport.Inbound // What the call itself has to say, not received yet.
	answer answer
	marks  marks
}

var _ transport.Telephone = (*call)(nil)

// mostIncoming is how many things of the far side's may wait for the pipeline: 2 s of sound. Then no more is read until they are taken.
const mostIncoming = 100

func newCall(s *Server, line Line, o Opening, settings transport.Settings) *call {
	c := &call{
		id: "tel_" + rand.Text(), line: line, opening: o, server: s, limits: s.Limits.withDefaults(),
		gone: make(chan struct{}), in: make(chan transport.Inbound, mostIncoming),
		news: make(chan struct{}, 1), room: make(chan struct{}, 1), own: make(chan struct{}, 1),
	}
	c.marker, _ = line.(Marker)
	c.clearer, _ = line.(Clearer)
	c.pauser, _ = line.(Pauser)
	c.ear = ear{format: o.In, most: c.limits.Gap, ahead: c.limits.Ahead}
	if o.Toned && s.Tones && o.In.Rate >= 8000 {
		c.tones = &dtmf.Detector{Rate: o.In.Rate}
	}
	c.pace = pace{format: o.Out, ahead: o.Buffer, steady: o.Steady, pauses: c.pauser != nil}
	c.marks.name = rand.Text()
	settings.Rate, settings.Encoding = o.Out.Rate, string(o.Out.Encoding)
	settings.Lead = o.Buffer + cmp.Or(s.Ready, defaultReady)
	settings.Holds = o.Buffer == 0 || c.pauser != nil
	c.settings = settings
	return c
}

// defaultReady is Server.Ready where that is not set.
const defaultReady = 60 * time.Millisecond

// ID names the call.
func (c *call) ID() string { return c.id }

// Wire names the wire that the call came by.
func (c *call) Wire() string { return c.opening.Wire }

// hold runs the call and returns why it ended, when nothing of it is left.
func (c *call) hold(ctx context.Context) error {
	ctx, c.end = context.WithCancelCause(ctx)
	defer c.end(nil)
	expiry := time.AfterFunc(c.limits.Lifetime, func() { c.end(transport.ErrExpired) })
	defer expiry.Stop()
	c.idle = time.AfterFunc(c.limits.Idle, func() { c.end(transport.ErrIdle) })
	c.full = time.AfterFunc(c.limits.Write, c.refused)
	c.full.Stop()
	defer c.full.Stop()
	stop := context.AfterFunc(ctx, func() { close(c.gone) })
	defer stop()

	var reading, pacing sync.WaitGroup
	reading.Go(func() { c.left(c.read()) })
	pacing.Go(func() {
		if err := c.run(); err != nil {
			c.left(err)
		}
	})
	err := c.server.Hold(ctx, c, c.settings)
	if errors.Is(err, transport.ErrMachine) && ctx.Err() == nil {
		if err := c.hangUp(ctx, err); err != nil {
			c.server.log().Warn("hanging up on a machine", "call", c.id, "err", err)
		}
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause // whatever else went wrong followed from it
	}
	c.end(err)
	pacing.Wait()
	c.line.Close(err) // lets read return, which stops idle
	reading.Wait()
	return err
}

// left ends the call, whose line says why it is gone. A far side that leads the caller elsewhere often goes before it has said that it does, and
// callers hang up while nobody answers.
func (c *call) left(why error) {
	if l := c.leading.Load(); l != nil && (errors.Is(why, transport.ErrHungUp) || errors.Is(why, transport.ErrLost)) {
		select {
		case made := <-l.made:
			if made {
				why = transport.ErrTransferred
			}
		case <-time.After(goesAhead):
		}
	}
	c.end(why)
}

// read takes what the far side does until the line is gone, and says why it is.
func (c *call) read() error {
	for {
		c.idle.Reset(c.limits.Idle)
		e, err := c.line.Receive()
		c.idle.Stop() // while the pipeline takes it
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case Media:
			err = c.hearsAll(e)
		case Key:
			c.take(transport.Key{Digit: e.Digit})
		case Marked:
			c.marked(e.Name, time.Now())
		case Flow:
			c.flow(e.Stop)
		}
		if err != nil {
			return err
		}
	}
}

// hearsAll takes the caller's sound, in its order.
func (c *call) hearsAll(m Media) error {
	if !c.opening.Unordered {
		return c.hears(m)
	}
	for _, next := range c.order.take(m) {
		if err := c.hears(next); err != nil {
			return err
		}
	}
	return nil
}

// hears takes the next of the caller's sound.
func (c *call) hears(m Media) error {
	c.counts.received.Add(1)
	sound, fate, err := c.ear.take(m)
	switch {
	case err != nil:
		return err
	case fate == twice:
		c.counts.twice.Add(1)
		return nil
	case fate == filled:
		c.counts.missing.Add(1)
	}
	if len(sound.PCM) == 0 {
		return nil
	}
	if c.tones != nil {
		for _, d := range c.tones.Take(sound.PCM) {
			c.take(transport.Key{Digit: d.Rune})
		}
	}
	c.take(sound)
	return nil
}

// take has the pipeline receive something, when it does.
func (c *call) take(in transport.Inbound) {
	select {
	case c.in <- in:
	case <-c.gone:
	}
}

// says has the pipeline receive something that the call itself has to say, before what came. mu is held.
func (c *call) says(all ...transport.Inbound) {
	c.said = append(c.said, all...)
	poke(c.own)
}

// Receive waits for what the caller does next.
func (c *call) Receive(ctx context.Context) (transport.Inbound, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.mu.Lock()
		if len(c.said) > 0 {
			in := c.said[0]
			c.said = slices.Delete(c.said, 0, 1)
			c.mu.Unlock()
			return in, nil
		}
		c.mu.Unlock()
		select {
		case <-c.own:
		case in := <-c.in:
			return in, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// poke leaves something in a channel that holds one thing.
func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
