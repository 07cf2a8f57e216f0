package audio

import (
	"sort"
	"time"
)

const (
	// clockWindow is how much sound the capture line looks back on. Within it some frame nearly always comes through
	// undelayed, and two clocks that differ by 100 ppm drift apart by only 0.2 ms.
	clockWindow = 2 * time.Second
	// clockPause is how much sound must be missing between two frames before the caller is taken to have stopped sending.
	// Networks rarely hold frames back that long without losing the call.
	clockPause = 500 * time.Millisecond
	// clockLines bounds what is remembered. The line moves at most once a frame: with frames of 20 ms that is 20 s of the
	// worst jitter, and far more than that as a rule. Older positions get the oldest line.
	clockLines = 1000
)

// Clock is a caller's audio clock: it says at which time of the wall clock a sample was captured, from nothing but the
// times at which frames arrive.
//
// A frame arrives when its last sample was captured or later: the network adds delay and never takes any away. So the
// least delayed frame of the last two seconds of sound tells when all of that sound was captured, and jitter does not
// move it. That is the capture line. A position's time is decided when its frame arrives, from that frame and those
// before it, and never changes afterwards.
//
// Some callers send faster than real time, from a file. Each of their frames is less delayed than all before it, so
// their sound counts as captured when it arrived: no sample is older than the arrival of the frame before, and none is
// older than the first frame of the call can be. When a caller stops sending for more than 500 ms, positions no longer
// say how much time went by, and the next frame starts a new line.
//
// A Clock must not be used by two goroutines at once.
type Clock struct {
	rate  int
	end   int64     // Position after the last sample that arrived.
	last  time.Time // When it arrived.
	held  []arrival // What may become the least delayed of the window, from the oldest: see push.
	lines []line    // From the oldest; each holds from its position on.
}

// arrival is one frame: the position after it, and when the call's sample 0 would have been captured had the frame not
// been delayed.
type arrival struct {
	end  int64
	zero time.Time
}

// line says when the samples from a position on were captured: zero + position/rate, but not before floor.
type line struct {
	from  int64
	zero  time.Time
	floor time.Time
}

// NewClock returns the clock of a call at rate hertz.
func NewClock(rate int) *Clock {
	return &Clock{rate: rate}
}

// Arrived says that the next n samples of the call arrived at the given time.
func (c *Clock) Arrived(n int, at time.Time) {
	if n <= 0 {
		return
	}
	from := c.end
	c.end += int64(n)
	zero := at.Add(-c.span(c.end))
	if len(c.lines) > 0 && at.Sub(c.last)-c.span(int64(n)) > clockPause {
		c.held = c.held[:0]
	}
	least := c.push(arrival{c.end, zero})
	if len(c.lines) == 0 {
		c.draw(line{from, least, least.Add(c.span(from))})
	} else if c.lines[len(c.lines)-1].zero != least {
		c.draw(line{from, least, c.TimeOf(from)})
	}
	c.last = at
}

// TimeOf returns when the sample at position was captured. A position that has not arrived yet is expected to follow the
// latest line. Before anything has arrived the result is the zero time. Times never decrease from one position to a
// later one.
func (c *Clock) TimeOf(position int64) time.Time {
	if len(c.lines) == 0 {
		return time.Time{}
	}
	next := sort.Search(len(c.lines), func(i int) bool { return c.lines[i].from > position })
	l := c.lines[max(0, next-1)]
	t := l.zero.Add(c.span(position))
	if t.Before(l.floor) {
		t = l.floor
	}
	return t
}

// Position returns the position after the last sample that arrived.
func (c *Clock) Position() int64 { return c.end }

// push takes the next arrival into the window and returns the least delayed one's zero. What stays held is what may
// still become the least delayed: arrivals that are less delayed than all that came after them.
func (c *Clock) push(a arrival) time.Time {
	for len(c.held) > 0 && !c.held[len(c.held)-1].zero.Before(a.zero) {
		c.held = c.held[:len(c.held)-1]
	}
	c.held = append(c.held, a)
	oldest := a.end - int64(Samples(clockWindow, c.rate))
	drop := 0
	for c.held[drop].end <= oldest && drop < len(c.held)-1 {
		drop++
	}
	c.held = append(c.held[:0], c.held[drop:]...)
	return c.held[0].zero
}

// draw adds a line and forgets the oldest beyond clockLines.
func (c *Clock) draw(l line) {
	if len(c.lines) == clockLines {
		c.lines = append(c.lines[:0], c.lines[1:]...)
	}
	c.lines = append(c.lines, l)
}

// span returns how long n samples last. It does not overflow within the longest call: 2^63 ns at any rate.
func (c *Clock) span(n int64) time.Duration {
	rate := int64(c.rate)
	return time.Duration(n/rate)*time.Second + time.Duration(n%rate)*time.Second/time.Duration(rate)
}
