package audio

import "time"

// Tape keeps the last stretch of a call's sound, by its position in the call. The zero value is not ready to use. A Tape
// must not be used by two goroutines at once.
type Tape struct {
	ring []int16 // Sample n of the call lies at n % size; it grows up to size.
	size int
	end  int64
}

// NewTape returns a Tape that keeps the last keep of sound at rate hertz; 0 means 60 s. Memory grows with the sound, to
// at most two bytes a sample.
func NewTape(rate int, keep time.Duration) *Tape {
	if keep <= 0 {
		keep = 60 * time.Second
	}
	return &Tape{size: max(1, Samples(keep, rate))}
}

// Write adds p, which it copies, to the end.
func (t *Tape) Write(p PCM) {
	if skip := len(p) - t.size; skip > 0 {
		t.end += int64(skip)
		p = p[skip:]
	}
	for len(p) > 0 {
		at := int(t.end % int64(t.size))
		t.grow(min(t.size, at+len(p)))
		n := copy(t.ring[at:], p)
		t.end += int64(n)
		p = p[n:]
	}
}

// Slice returns a copy of the samples from up to, but not including, to, as far as the tape has them, and how many of
// those that were asked for are lost because newer sound took their place. What has not been written yet, or lies before
// the call, is left out and is not counted.
func (t *Tape) Slice(from, to int64) (p PCM, lost int) {
	from, to = max(0, from), min(t.end, to)
	if from >= to {
		return nil, 0
	}
	if start := t.Start(); from < start {
		lost = int(min(start, to) - from)
		from += int64(lost)
	}
	p = make(PCM, 0, to-from)
	for from < to {
		at := from % int64(t.size)
		n := min(to-from, int64(len(t.ring))-at)
		p = append(p, t.ring[at:at+n]...)
		from += n
	}
	return p, lost
}

// Start returns the position of the oldest sample that is still there.
func (t *Tape) Start() int64 { return max(0, t.end-int64(t.size)) }

// End returns the position after the newest sample.
func (t *Tape) End() int64 { return t.end }

// grow makes the ring at least n samples long. It doubles, so that a call's first minute does not copy it a thousand
// times, and it never exceeds the size that was asked for.
func (t *Tape) grow(n int) {
	if n <= len(t.ring) {
		return
	}
	ring := make([]int16, min(t.size, max(n, 2*len(t.ring))))
	copy(ring, t.ring)
	t.ring = ring
}
