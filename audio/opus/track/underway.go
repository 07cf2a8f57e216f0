package track

import (
	"time"

	"riposte/audio"
	"riposte/audio/opus"
)

// Window keeps the most of a value over the last 5 to 10 seconds: it rises at once, and falls late. The zero value is empty.
type Window struct {
	now, before time.Duration
	full        bool // There is a before.
	since       time.Time
}

// half is how long a Window takes to begin anew, and forgets what was before the last time that it did.
const half = 5 * time.Second

// Add takes a value.
func (w *Window) Add(d time.Duration, at time.Time) {
	switch {
	case w.since.IsZero():
		w.now, w.since = d, at
	case at.Sub(w.since) > half:
		w.now, w.before, w.full, w.since = d, w.now, true, at
	default:
		w.now = max(w.now, d)
	}
}

// Most returns the most of what was taken.
func (w *Window) Most() time.Duration {
	if w.full {
		return max(w.now, w.before)
	}
	return w.now
}

// Underway knows how long a stream's packets take on their way, but for what all of them take. From that it says by when one that is missing
// would be here. Only packets that come tell it something: those that are lost say nothing of how late the others are. What the clocks of both
// sides differ by, 10 s of it, is taken for lateness. The zero value knows nothing yet.
type Underway struct {
	begun bool
	zero  time.Time // When the first packet came,
	base  uint32    // and its time.
	ts    int64     // Of the newest one, counted on from the first beyond its width.
	fast  Window    // How much earlier than the first one packets came,
	slow  Window    // and how much later.
}

const (
	unsure = time.Second     // So much is listened to before anything is said of how late packets are.
	anew   = 2 * time.Second // A packet that is so much later or earlier than all others is of another clock.
)

// Took takes note of a packet of the given time, in samples of opus.Clock, that came.
func (u *Underway) Took(ts uint32, at time.Time) {
	late := u.late(ts, at)
	if !u.begun || late-u.slow.Most() > anew || late+u.fast.Most() < -anew {
		*u = Underway{begun: true, zero: at, base: ts}
		late = 0
	}
	u.ts = u.on(ts)
	u.fast.Add(-late, at)
	u.slow.Add(late, at)
}

// By returns when a packet of the given time is here if it is as late as any that came lately. False means that too little is known.
func (u *Underway) By(ts uint32, now time.Time) (time.Time, bool) {
	if !u.begun || now.Sub(u.zero) < unsure {
		return time.Time{}, false
	}
	return u.sent(u.on(ts)).Add(u.slow.Most()), true
}

// Spread returns by how much the slowest packet lately was later than the fastest.
func (u *Underway) Spread() time.Duration { return u.slow.Most() + u.fast.Most() }

// late returns how much longer than the first packet one was underway.
func (u *Underway) late(ts uint32, at time.Time) time.Duration { return at.Sub(u.sent(u.on(ts))) }

// on counts a time on.
func (u *Underway) on(ts uint32) int64 { return u.ts + int64(int32(ts-u.base-uint32(u.ts))) }

// sent returns when a packet would be here that takes as long as the first.
func (u *Underway) sent(ts int64) time.Time {
	return u.zero.Add(audio.Duration(int(ts), opus.Clock))
}
