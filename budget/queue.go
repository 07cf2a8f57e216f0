package budget

import (
	"sync/atomic"
	"time"
)

// Queue counts how full a bounded queue has been and what was thrown away of it. Of queues of which each call has its own, one Queue
// counts all: then the fullest of them counts. It takes no lock and no memory, so it can be told of every frame of sound; a nil one
// counts nothing. It is safe for use by many goroutines.
type Queue struct {
	Name  string
	Limit int64 // What one of them may hold: nanoseconds of work or sound if it is Timed, else things.
	Timed bool

	slots [slots]atomic.Uint64 // The most that was held in each of the last spans of time: the span's number, and how much it was.
	full  atomic.Int64
	stale atomic.Int64
}

// The most that was held counts for a minute, so that whoever asks each minute misses nothing: one more slot than that has is the
// one that is being filled.
const (
	slotSpan = 5 * time.Second
	slots    = int(time.Minute/slotSpan) + 1
)

// How a slot is written: 40 bits of how much, which is 18 minutes in nanoseconds, below 24 bits of the span's number, which is two years
// and a half of them.
const (
	heldBits = 40
	mostHeld = 1<<heldBits - 1
	spanMask = 1<<(64-heldBits) - 1
)

// QueueState is what a Queue has counted, in the Queue's unit.
type QueueState struct {
	High  int64 // The most that one of them held in the last minute, or up to 5 s more.
	Full  int64 // What was thrown away so far since there was no place for it, or since it had waited for too long,
	Stale int64 // and what was since nobody wanted it any more.
}

// Hold notes how much one of the queues holds now.
func (q *Queue) Hold(n int64) {
	if q == nil {
		return
	}
	span, held := spanOf(time.Now()), uint64(min(max(0, n), mostHeld))
	s := &q.slots[span%uint64(slots)]
	for {
		old := s.Load()
		if old>>heldBits == span && old&mostHeld >= held || s.CompareAndSwap(old, span<<heldBits|held) {
			return
		}
	}
}

// Refuse counts what was thrown away since there was no place for it, or since it had waited for too long.
func (q *Queue) Refuse(n int64) {
	if q != nil {
		q.full.Add(n)
	}
}

// Discard counts what was thrown away since nobody wanted it any more, such as the sound of an answer that was interrupted.
func (q *Queue) Discard(n int64) {
	if q != nil {
		q.stale.Add(n)
	}
}

// State returns what was counted.
func (q *Queue) State() QueueState {
	if q == nil {
		return QueueState{}
	}
	out := QueueState{Full: q.full.Load(), Stale: q.stale.Load()}
	now := spanOf(time.Now())
	for i := range q.slots {
		if s := q.slots[i].Load(); (now-s>>heldBits)&spanMask < uint64(slots) {
			out.High = max(out.High, int64(s&mostHeld))
		}
	}
	return out
}

// spanOf returns the number of the span of time that t is in.
func spanOf(t time.Time) uint64 { return uint64(t.Unix()/int64(slotSpan/time.Second)) & spanMask }
