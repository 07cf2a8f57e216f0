package phone

import (
	"context"
	"errors"
	"time"

	"riposte/audio/dtmf"
	"riposte/transport"
)

// Parties says who is on the line.
func (c *call) Parties() transport.Parties {
	o := &c.opening
	return transport.Parties{From: o.From, To: o.To, Line: o.ID, Placed: o.Placed, Answerer: o.Answerer}
}

// Press sends keys to whoever is at the other end, by messages or as sound behind what is being said.
func (c *call) Press(_ context.Context, keys string) error {
	sound, err := dtmf.Keypad{Rate: c.opening.Out.Rate}.Sound(keys)
	if err != nil {
		return err
	}
	if p, ok := c.line.(Presser); ok {
		c.writing.Lock()
		defer c.writing.Unlock()
		return c.wrote(p.Press(keys))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	c.pace.pad(now)
	c.answer.queued = &passage{} // of no answer
	c.pace.cue(cue{at: c.pace.end(), passage: c.answer.queued})
	c.pace.push(c.opening.Out.Append(nil, sound), now)
	c.pace.pad(now)
	poke(c.news)
	return nil
}

// Transfer leads the caller to somebody else, once what was sent was heard, and ends the call.
func (c *call) Transfer(ctx context.Context, to, note string) error {
	t, ok := c.line.(Transferrer)
	if !ok {
		return transport.ErrCannot
	}
	if err := c.heard(ctx); err != nil {
		return err
	}
	l := &leading{made: make(chan bool, 2)} // for both who may see the line go
	c.leading.Store(l)
	err := t.Transfer(ctx, to, note)
	l.made <- err == nil
	l.made <- err == nil
	if err != nil {
		c.leading.CompareAndSwap(l, nil)
		return err
	}
	c.end(transport.ErrTransferred)
	return nil
}

// leading is a caller's way to somebody else, until it is known whether the far side has made it.
type leading struct{ made chan bool }

// goesAhead is how long a line that is gone may be ahead of word that its caller was led elsewhere: the way of an answer. Without word the caller
// has hung up.
const goesAhead = time.Second

// HangUp ends the call once the caller has heard what was sent.
func (c *call) HangUp(ctx context.Context) error { return c.hangUp(ctx, transport.ErrEnded) }

// hangUp is HangUp, and says why.
func (c *call) hangUp(ctx context.Context, why error) error {
	if err := c.heard(ctx); err != nil {
		return err
	}
	var err error
	if h, ok := c.line.(Hanger); ok {
		err = h.HangUp(ctx)
	}
	c.end(why) // the line goes in any case
	return err
}

// lastMarks is how long HangUp waits for marks that are late to come back.
const lastMarks = 2 * time.Second

// heard waits until the caller has heard what was sent.
func (c *call) heard(ctx context.Context) error {
	var quiet time.Time // Since when the far side should have nothing in hand.
	for {
		now := time.Now()
		c.mu.Lock()
		if !c.pace.whole() && c.pace.waiting() > 0 { // what does not fill a frame would wait for the rest of an answer that waits for this
			c.pace.pad(now)
			poke(c.news)
		}
		sounding := c.pace.waiting() > 0 || c.pace.hand(now) > 0
		marked := len(c.marks.pending) > 0
		c.mu.Unlock()
		switch {
		case sounding:
			quiet = time.Time{}
		case quiet.IsZero():
			quiet = now
		}
		if !sounding && (!marked || now.Sub(quiet) > lastMarks) {
			return nil
		}
		select {
		case <-time.After(FrameLength):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.gone:
			return errGone
		}
	}
}

// errGone says that a call has ended before something was done with it.
var errGone = errors.New("the call has ended already")
