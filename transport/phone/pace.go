package phone

import "time"

// pace says when each frame of what a line plays is due, what it is, and how much of it the far side has played by then. There is one schedule
// for a call: each frame is due FrameLength after the one before it, whenever that left, so nothing drifts. A new schedule begins where the far
// side has run dry, and with it is not caught up with a burst. It has no clock and asks none.
type pace struct {
	format Format
	ahead  time.Duration // How long before it is due a frame leaves.
	steady bool          // Frames of nothing fill what lies between those of sound.
	pauses bool          // The far side stops playing what it has while the sound is held.

	queue []byte // Coded sound that waits to leave. What comes first is at head.
	head  int
	taken int64 // How many bytes were taken of it in all.
	cues  []cue

	begun bool
	sent  time.Duration // How much has left in all: positions in the call's sound are counted so.
	next  time.Time     // When the next frame is due, if it follows the last one,
	until time.Time     // and until when the far side plays sound, and not nothing.
	runs  []run         // What has left, the newest last.
	held  time.Time     // Since when nothing may leave; zero while it may.
	full  bool          // The far side wants nothing for now.

	stalls int // How often frames left so late that a new schedule began.
}

// cue is what is to happen between two frames.
type cue struct {
	at      int64    // In bytes of all that was ever queued.
	passage *passage // That what follows is of; nil where that stays as it is.
	mark    *mark    // To be sent; nil for none.
}

// run is sound that is played without a break.
type run struct {
	from   time.Duration // Its position in the call's sound.
	at     time.Time     // When it is due.
	length time.Duration
}

const (
	// mostRuns is how many of them are remembered: what is asked for is seldom older than the last.
	mostRuns = 16
	// tolerance is how late a frame may come to be sent where the far side keeps nothing in hand, without a new schedule: its own jitter
	// buffer covers as much, and would grow with each new schedule.
	tolerance = FrameLength
	// stall is how late a steady line may be until what is lost is not caught up with a burst.
	stall = 200 * time.Millisecond
)

// push queues coded sound.
func (p *pace) push(coded []byte, now time.Time) {
	was := p.whole()
	if p.head > len(p.queue)/2 {
		p.queue = p.queue[:copy(p.queue, p.queue[p.head:])]
		p.head = 0
	}
	p.queue = append(p.queue, coded...)
	if !was {
		p.follow(now)
	}
}

// pad makes a whole frame of what is left of one.
func (p *pace) pad(now time.Time) {
	n := p.format.Bytes()
	if rest := (len(p.queue) - p.head) % n; rest > 0 {
		p.push(p.format.silence(n-rest), now)
	}
}

// end returns where the queue ends, for cues.
func (p *pace) end() int64 { return p.taken + int64(len(p.queue)-p.head) }

// cue has something happen when all that is queued before its place has left. Cues come in the order of their places.
func (p *pace) cue(c cue) { p.cues = append(p.cues, c) }

// whole reports whether a frame waits.
func (p *pace) whole() bool { return len(p.queue)-p.head >= p.format.Bytes() }

// leaves reports whether a frame of sound may leave when it is due.
func (p *pace) leaves() bool { return p.whole() && p.held.IsZero() && !p.full }

// waiting returns how much sound waits to leave.
func (p *pace) waiting() time.Duration { return p.format.length(len(p.queue) - p.head) }

// dry reports whether the far side has had nothing to play for a while, and none waits that is held.
func (p *pace) dry(now time.Time) bool {
	return p.begun && !p.whole() && p.held.IsZero() && !p.full && now.Sub(p.next) > tolerance
}

// hand returns how much sound has left that the far side has not played yet.
func (p *pace) hand(now time.Time) time.Duration {
	if p.pauses && !p.held.IsZero() {
		now = p.held
	}
	return max(0, p.until.Sub(now))
}

// follow lets sound that could not leave until now follow what the far side has in hand, or begin anew where it has run dry.
func (p *pace) follow(now time.Time) {
	if !p.leaves() {
		return
	}
	slack := tolerance
	if p.ahead > 0 {
		slack = 0
	}
	if !p.begun || now.Sub(p.next) > slack && !p.steady {
		p.restart(now)
	}
}

// restart begins a new schedule.
func (p *pace) restart(now time.Time) {
	p.begun, p.next = true, now
}

// hold lets no sound leave until release.
func (p *pace) hold(now time.Time) {
	if p.held.IsZero() {
		p.held = now
	}
}

// release lets sound leave again. It returns since when and for how long the far side has paused, which is 0 where it cannot.
func (p *pace) release(now time.Time) (since time.Time, paused time.Duration) {
	if p.held.IsZero() {
		return time.Time{}, 0
	}
	since, p.held = p.held, time.Time{}
	if p.pauses && p.next.After(since) {
		paused = now.Sub(since)
		at := p.played(since)
		if n := len(p.runs); n > 0 {
			r := &p.runs[n-1]
			r.length = min(r.length, max(0, at-r.from))
			p.run(run{at, now, p.sent - at})
		}
		p.next, p.until = p.next.Add(paused), p.until.Add(paused)
	}
	p.follow(now)
	return since, paused
}

// flow says whether the far side wants sound.
func (p *pace) flow(stop bool, now time.Time) {
	p.full = stop
	p.follow(now)
}

// nextAt returns when something is to be done next; false when nothing is before more comes.
func (p *pace) nextAt() (time.Time, bool) {
	switch {
	case len(p.cues) > 0 && p.cues[0].at <= p.taken && !p.full:
		return time.Time{}, true
	case p.leaves():
		return p.next.Add(-p.ahead), true
	case p.steady && p.begun && !p.full && (p.held.IsZero() || !p.pauses):
		return p.next, true
	}
	return time.Time{}, false
}

// due returns the next cue that is due.
func (p *pace) due() (c cue, ok bool) {
	if len(p.cues) == 0 || p.cues[0].at > p.taken || p.full {
		return cue{}, false
	}
	c, p.cues = p.cues[0], p.cues[1:]
	if len(p.cues) == 0 {
		p.cues = nil
	}
	return c, true
}

// take writes what leaves by now to frame. It reports whether anything does, and whether that is sound, and not nothing.
func (p *pace) take(frame []byte, now time.Time) (ok, sound bool) {
	at, ok := p.nextAt()
	if !ok || now.Before(at) {
		return false, false
	}
	if sound = p.leaves(); sound {
		p.head += copy(frame, p.queue[p.head:p.head+len(frame)])
		p.taken += int64(len(frame))
	}
	if p.steady && now.Sub(p.next) > stall {
		p.stalls++
		p.restart(now)
	}
	if n := len(p.runs); n > 0 && p.runs[n-1].end().Equal(p.next) {
		p.runs[n-1].length += FrameLength
	} else {
		p.run(run{p.sent, p.next, FrameLength})
	}
	p.sent += FrameLength
	if p.next = p.next.Add(FrameLength); sound {
		p.until = p.next
	}
	return true, sound
}

// run notes what is played after all that was before.
func (p *pace) run(r run) {
	if len(p.runs) == mostRuns {
		p.runs = p.runs[:copy(p.runs, p.runs[1:])]
	}
	p.runs = append(p.runs, r)
}

// end is when it has been played.
func (r run) end() time.Time { return r.at.Add(r.length) }

// played returns up to which position the far side has played the call's sound at a time, by the schedule.
func (p *pace) played(at time.Time) time.Duration {
	if p.pauses && !p.held.IsZero() && at.After(p.held) {
		at = p.held
	}
	for i := len(p.runs) - 1; i >= 0; i-- {
		if r := p.runs[i]; !r.at.After(at) {
			return r.from + min(r.length, at.Sub(r.at))
		}
	}
	if len(p.runs) > 0 {
		return p.runs[0].from
	}
	return 0
}

// cut throws away what has not left, and with it what the far side has in hand where that has been emptied.
func (p *pace) cut(now time.Time, emptied bool) {
	p.taken += int64(len(p.queue) - p.head)
	p.queue, p.head, p.cues, p.held = p.queue[:0], 0, nil, time.Time{}
	if !emptied {
		return
	}
	p.until = now
	if p.next.After(now) && !p.steady {
		p.next = now
	}
}
