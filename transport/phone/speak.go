package phone

import (
	"context"
	"math"
	"time"

	"riposte/audio"
	"riposte/transport"
)

// answer is what is being said.
type answer struct {
	response string
	gone     string     // The answer that was cut: what is still on its way of it is not sent.
	passages []*passage // Its items, and those of the answer before that the far side may still have sound of.
	queued   *passage   // Whose sound was queued last,
	sounding *passage   // and whose leaves.
	clause   bool       // Words have come whose sound comes next.
	first    *first     // Its first audible sound; nil before that.
	open     bool       // More sound is to come.
	dry      bool       // It was not there when it was due.
	coded    []byte     // The last sound of it, as it is written on the wire.
}

// passage is the sound of one item of an answer.
type passage struct {
	item   string
	queued time.Duration // How much of it there is,
	parts  []part        // and what of that has left.
}

// part is a piece of a passage, by its place in the call's sound.
type part struct{ from, length time.Duration }

// left notes that the next of a passage has left, as what comes at a place of the call's sound.
func (p *passage) left(from, length time.Duration) {
	if n := len(p.parts); n > 0 && p.parts[n-1].from+p.parts[n-1].length == from {
		p.parts[n-1].length += length
		return
	}
	p.parts = append(p.parts, part{from, length})
}

// heard returns how much of a passage lies before a place in the call's sound.
func (p *passage) heard(until time.Duration) (d time.Duration) {
	for _, part := range p.parts {
		d += max(0, min(part.length, until-part.from))
	}
	return min(d, p.queued)
}

// mostWaiting is how much sound may wait to leave. The pipeline keeps to a small lead, so it is far less.
const mostWaiting = time.Second

// Send takes what the service says. Of most of it a telephone hears nothing.
func (c *call) Send(ctx context.Context, out transport.Outbound) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch out := out.(type) {
	case transport.ResponseStarted:
		if !out.Response.Aside {
			c.begins(out.Response)
		}
	case transport.Words:
		if !out.Response.Aside {
			c.mu.Lock()
			c.answer.clause = true
			c.mu.Unlock()
		}
	case transport.Voice:
		if !out.Response.Aside {
			return c.voice(ctx, out)
		}
	case transport.Held:
		return c.pause()
	case transport.Released:
		return c.resume()
	case transport.SpeechStarted:
		if d := c.settings.Detection; d != nil && d.Interrupt {
			return c.cut() // what the far side has in hand of an answer that has been sent whole
		}
	case transport.ResponseDone:
		if !out.Response.Aside {
			return c.done(out)
		}
	case transport.TurnReport:
		c.reported(out)
	}
	return nil
}

// begins is the beginning of an answer.
func (c *call) begins(r transport.Response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := &c.answer
	until := c.pace.played(time.Now().Add(-c.marks.lag.late()))
	kept := a.passages[:0]
	for _, p := range a.passages {
		if p.heard(until) < p.queued {
			kept = append(kept, p)
		}
	}
	clear(a.passages[len(kept):])
	a.response, a.passages, a.queued, a.clause, a.first, a.open, a.dry = r.ID, kept, nil, false, nil, true, false
}

// voice queues an answer's next sound.
func (c *call) voice(ctx context.Context, out transport.Voice) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.pace.waiting() > mostWaiting {
		c.mu.Unlock()
		var err error
		select {
		case <-c.room:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		c.mu.Lock()
		if err != nil {
			return err
		}
	}
	a := &c.answer
	if out.Response.ID == a.gone {
		return nil
	}
	if a.queued == nil || a.queued.item != out.Response.Item {
		a.queued = &passage{item: out.Response.Item}
		a.passages = append(a.passages, a.queued)
		c.pace.cue(cue{at: c.pace.end(), passage: a.queued})
	}
	if a.clause && c.marker != nil {
		c.pace.cue(cue{at: c.pace.end(), mark: c.marks.next()})
	}
	a.clause = false
	begins := c.pace.end()
	a.coded = c.opening.Out.Append(a.coded[:0], out.PCM)
	now := time.Now()
	if a.first != nil && !c.pace.steady && c.pace.dry(now) {
		c.counts.underruns.Add(1)
	}
	c.pace.push(a.coded, now)
	a.queued.queued += audio.Duration(len(out.PCM), c.opening.Out.Rate)
	if a.first == nil {
		if at, ok := audio.FirstAudible(out.PCM, c.opening.Out.Rate); ok {
			c.audible(begins+int64(at*c.opening.Out.width()), now)
		}
	}
	poke(c.news)
	return nil
}

// audible notes that the first audible sound of the answer is at a place of what is queued: a mark goes behind its frame, since a far side comes to
// one that lies before all sound at once. mu is held.
func (c *call) audible(at int64, now time.Time) {
	a := &c.answer
	a.first = &first{response: a.response, left: now}
	if c.marker == nil {
		return
	}
	c.marks.firsts = append(c.marks.firsts, a.first)
	if n := len(c.marks.firsts); n > mostFirsts {
		c.marks.firsts = c.marks.firsts[n-mostFirsts:]
	}
	m := c.marks.next()
	m.first, m.begins = a.first, at
	c.pace.cue(cue{at: at + 1, mark: m})
}

// done is the end of an answer.
func (c *call) done(out transport.ResponseDone) error {
	if out.Status == transport.Cancelled {
		return c.cut()
	}
	if err := c.resume(); err != nil { // an answer that ended is not held any more
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pace.pad(time.Now())
	if c.answer.open && c.answer.first != nil && c.marker != nil {
		c.pace.cue(cue{at: c.pace.end(), mark: c.marks.next()})
	}
	c.answer.open = false
	poke(c.news)
	return nil
}

// pause lets nothing more be heard until resume, where the far side can be stopped.
func (c *call) pause() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	held := !c.pace.held.IsZero()
	c.pace.hold(time.Now())
	c.mu.Unlock()
	if held || c.pauser == nil {
		return nil
	}
	return c.wrote(c.pauser.Pause())
}

// resume lets the answer go on where it was held.
func (c *call) resume() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.mu.Lock()
	held := !c.pace.held.IsZero()
	since, paused := c.pace.release(time.Now())
	c.marks.shift(since, paused)
	c.mu.Unlock()
	poke(c.news)
	if !held || c.pauser == nil {
		return nil
	}
	return c.wrote(c.pauser.Resume())
}

// flow takes notice that the far side wants no more sound, or wants it again.
func (c *call) flow(stop bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stop && !c.pace.full {
		c.full.Reset(c.limits.Write)
	} else if !stop {
		c.full.Stop()
	}
	c.pace.flow(stop, time.Now())
	poke(c.news)
}

// refused ends a call whose far side has wanted no sound for too long, though there is some that it may have.
func (c *call) refused() {
	c.mu.Lock()
	defer c.mu.Unlock()
	over := false
	select {
	case <-c.gone:
		over = true
	default:
	}
	switch {
	case over, !c.pace.full: // it has just said that it does
	case c.pace.waiting() == 0, !c.pace.held.IsZero():
		c.full.Reset(c.limits.Write)
	default:
		c.end(transport.ErrSlowReader)
	}
}

// wrote ends the call where something could not be written.
func (c *call) wrote(err error) error {
	if err != nil {
		c.end(err)
	}
	return err
}

// run sends what is due until the call ends, or cannot be written any more.
func (c *call) run() error {
	c.mu.Lock()
	if c.pace.steady {
		c.pace.restart(time.Now())
	}
	c.mu.Unlock()
	frame, nothing := make([]byte, c.opening.Out.Bytes()), c.server.fill.of(c.opening.Out, c.server.Noise)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		more, err := c.step(frame, nothing[c.filled:][:len(frame)])
		if err != nil {
			return err
		}
		c.filled %= len(nothing)
		if more {
			continue
		}
		c.mu.Lock()
		at, ok := c.pace.nextAt()
		c.mu.Unlock()
		wait := time.Duration(math.MaxInt64)
		if ok {
			wait = time.Until(at)
		}
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-c.news:
		case <-c.gone:
			return nil
		}
	}
}

// step sends the next mark or frame that is due. It reports whether there was one.
func (c *call) step(frame, nothing []byte) (bool, error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	now := time.Now()
	c.mu.Lock()
	if cue, ok := c.pace.due(); ok {
		if cue.passage != nil {
			c.answer.sounding = cue.passage
		}
		if cue.mark != nil {
			c.marks.send(cue.mark, &c.pace, now)
		}
		c.mu.Unlock()
		if cue.mark == nil {
			return true, nil
		}
		return true, c.marker.Mark(cue.mark.name)
	}
	from, stalls := c.pace.sent, c.pace.stalls
	ok, sound := c.pace.take(frame, now)
	switch a := &c.answer; {
	case sound:
		a.dry = false
		if a.sounding != nil {
			a.sounding.left(from, FrameLength)
		}
	case ok && a.open && a.first != nil && c.pace.held.IsZero() && !a.dry:
		a.dry = true
		c.counts.underruns.Add(1)
	}
	c.counts.stalls.Add(int64(c.pace.stalls - stalls))
	c.mu.Unlock()
	switch {
	case !ok:
		return false, nil
	case !sound:
		frame = nothing
		c.filled += len(frame)
	}
	c.counts.sent.Add(1)
	poke(c.room)
	return true, c.line.Play(frame)
}
