package caller

import (
	"time"

	"riposte/audio"
)

// stream is what a ledger knows of sound that comes beside the events. Such sound does not say of which answer it is: the events say
// when that of an answer begins to leave the server and when all of it has left, and they may come before the sound or after it.
type stream struct {
	of      *response // That the sound is of which comes; nil before any. One that is not among the ledger's is not known yet.
	unknown bool      // It is such a one.
	next    *response // One that has begun to leave, and of which nothing has been heard.
}

const (
	// underway is how long after an answer has left the server sound of it may still come: it lies in the jitter buffer, or was delayed.
	underway = 350 * time.Millisecond
	// between is how long at least nothing is sent between one answer and the next.
	between = 500 * time.Millisecond
	// mostUnknown is how much silence is kept that is of no answer that is known: some servers send it all the time. Where something is to
	// be heard in it, an event is late, which may take seconds where packets are lost: it is sent again and again, and the others wait.
	mostUnknown = 2 * time.Second
)

// sounds plays a piece of sound.
func (l *ledger) sounds(s sound, now time.Time) error {
	t := &l.stream
	switch over := t.of == nil || !t.unknown && t.of.over(s.at); {
	case t.next != nil && (over || s.apart > 0 || !t.of.sounding):
		t.of, t.next, t.unknown = t.next, nil, false
	case over, !t.unknown && !t.of.sounding && s.apart > between, t.unknown && (s.apart > between || l.idle(t.of)):
		t.of, t.unknown = &response{}, true
	}
	if !t.unknown {
		l.last = now
	}
	// Silence that was left out is sound of the answer. What was not there in time is not, and is missing.
	if n := l.player.pos(s.at) - l.player.end; s.paused && len(t.of.stretches) > 0 && n > 0 && n < int64(audio.Samples(mostUnknown, l.format.Rate())) {
		if err := l.add(t.of, make(audio.PCM, n), l.player.time(l.player.end)); err != nil {
			return err
		}
	}
	return l.add(t.of, s.pcm, s.at)
}

// idle returns whether so much of a response has come, in which nothing is to be heard, that it is none.
func (l *ledger) idle(r *response) bool {
	if r.sound.Duration(l.format.Rate()) <= mostUnknown {
		return false
	}
	_, ok := r.audible(l.format.Rate())
	return !ok
}

// starts notes that the sound of an answer begins to leave the server. What is played already and is of no other is of that one.
func (l *ledger) starts(id string) {
	r := l.response(id)
	if r == nil {
		return
	}
	r.sounding, r.left = true, time.Time{}
	t := &l.stream
	if !t.unknown {
		t.next = r
		return
	}
	for _, s := range t.of.stretches {
		s.of = r
		s.from += len(r.sound)
	}
	r.sound, r.stretches = append(r.sound, t.of.sound...), append(r.stretches, t.of.stretches...)
	t.of, t.unknown, t.next = r, false, nil
}

// leaves notes that all of an answer's sound has left the server, or was thrown away there.
func (l *ledger) leaves(id string, now time.Time) {
	if r := l.response(id); r != nil && r.sounding {
		r.sounding, r.left = false, now
	}
}

// over returns whether nothing can come any more of an answer whose sound comes beside the events, at a time.
func (r *response) over(at time.Time) bool { return !r.sounding && at.Sub(r.left) > underway }

// onItsWay returns whether more of an answer may come beside the events.
func (r *response) onItsWay(now time.Time) bool {
	return r.sounding || !r.left.IsZero() && !r.over(now)
}
