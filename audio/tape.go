package audio

import (
	"slices"
	"time"
)

// Tape keeps the last stretch of a call's sound, by its position in the call. The zero value is not ready to use. A Tape
// must not be used by two goroutines at once.
type Tape struct {
	size  int // The most that is kept.
	chunk int // Samples of a chunk: so much memory is taken, and given back, at a time.

	chunks []PCM // nil is a chunk of digital silence.
	first  int64 // The position of the first chunk's first sample,
	start  int64 // that of the oldest sample which is kept,
	end    int64 // and the one after the newest.
	spare  PCM   // A chunk that is not needed, for the next one that is.
}

// NewTape returns a Tape that keeps the last keep of sound at rate hertz; 0 means 60 s. Memory grows with the sound that is
// kept, two bytes a sample, by a fifth of a second at a time; digital silence, such as a microphone that is muted brings, takes none.
func NewTape(rate int, keep time.Duration) *Tape {
	if keep <= 0 {
		keep = 60 * time.Second
	}
	size := max(1, Samples(keep, rate))
	return &Tape{size: size, chunk: max(1, min(size, rate/5))}
}

// Write adds p, which it copies, to the end.
func (t *Tape) Write(p PCM) {
	if skip := len(p) - t.size; skip > 0 {
		t.end += int64(skip)
		t.Forget(t.end)
		p = p[skip:]
	}
	for len(p) > 0 {
		at := int(t.end - t.first)
		if at == len(t.chunks)*t.chunk {
			t.chunks = append(t.chunks, nil)
		}
		c, n := &t.chunks[at/t.chunk], min(len(p), t.chunk-at%t.chunk)
		if *c == nil && slices.ContainsFunc(p[:n], func(s int16) bool { return s != 0 }) {
			*c = t.fresh()
		}
		if *c != nil {
			copy((*c)[at%t.chunk:], p[:n])
		}
		t.end += int64(n)
		p = p[n:]
		t.Forget(t.end - int64(t.size))
	}
}

// fresh returns a chunk of silence to be filled.
func (t *Tape) fresh() PCM {
	c := t.spare
	t.spare = nil
	if c == nil {
		return make(PCM, t.chunk)
	}
	clear(c)
	return c
}

// Forget gives back what lies before a position: nobody will ask for it.
func (t *Tape) Forget(before int64) {
	t.start = max(t.start, min(before, t.end))
	n := 0
	for n < len(t.chunks) && t.first+int64(t.chunk) <= t.start {
		if t.chunks[n] != nil {
			t.spare = t.chunks[n]
		}
		t.first += int64(t.chunk)
		n++
	}
	if n > 0 {
		left := copy(t.chunks, t.chunks[n:])
		clear(t.chunks[left:])
		t.chunks = t.chunks[:left]
	}
	if len(t.chunks) == 0 {
		t.first = t.end
	}
}

// Slice returns a copy of the samples from up to, but not including, to, as far as the tape has them, and how many of
// those that were asked for are lost because newer sound took their place, or they were forgotten. What has not been
// written yet, or lies before the call, is left out and is not counted.
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
		at := int(from - t.first)
		n := min(int(to-from), t.chunk-at%t.chunk)
		if c := t.chunks[at/t.chunk]; c != nil {
			p = append(p, c[at%t.chunk:][:n]...)
		} else {
			p = append(p, make(PCM, n)...)
		}
		from += int64(n)
	}
	return p, lost
}

// Start returns the position of the oldest sample that is still there.
func (t *Tape) Start() int64 { return t.start }

// End returns the position after the newest sample.
func (t *Tape) End() int64 { return t.end }
