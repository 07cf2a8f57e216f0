package phone

import (
	"time"

	"riposte/audio"
)

// speaker plays what comes, as the far side of a line does: in its order, in real time, what comes to an empty queue after a time. It is a step
// function of orders and times. Positions are samples since epoch at rate.
type speaker struct {
	rate  int
	epoch time.Time
	depth time.Duration // How long sound waits that comes when none is queued.
	ticks bool          // Sound begins, and marks are reached, on the multiples of a frame since epoch alone.
	held  bool

	queue  []queued
	at     int64     // All before it is played, or never will be.
	sound  audio.PCM // All that has come.
	played []Stretch
	cuts   []Cut
	most   int // Samples that were queued at most.
	ears   ears
}

// queued is sound, or a mark where n is 0.
type queued struct {
	ready int64 // Before which it is not played.
	from  int   // Of the speaker's sound.
	n     int
	mark  string
	full  bool // The mark is the end of what was sent in one piece.
}

// Stretch is sound that was played without a break.
type Stretch struct {
	From int // The first sample, of all that came in the call,
	N    int // how many there are,
	At   time.Time
	pos  int64
}

// Cut is sound that was thrown away since the service said so.
type Cut struct {
	At      time.Time
	Dropped int // Samples.
}

func (s *speaker) pos(t time.Time) int64 {
	return int64(t.Sub(s.epoch)) * int64(s.rate) / int64(time.Second)
}

func (s *speaker) time(pos int64) time.Time {
	return s.epoch.Add(time.Duration(pos * int64(time.Second) / int64(s.rate)))
}

// tick returns the first position from pos on at which something may begin.
func (s *speaker) tick(pos int64) int64 {
	if !s.ticks {
		return pos
	}
	n := int64(audio.Samples(frame, s.rate))
	return (pos + n - 1) / n * n
}

// waiting returns how many samples are queued.
func (s *speaker) waiting() (n int) {
	for _, q := range s.queue {
		n += q.n
	}
	return n
}

// play queues sound. Where more is queued than is waited for, since some came late, silence is left out: so a telephone's buffer grows short again.
func (s *speaker) play(p audio.PCM, now time.Time) {
	if s.depth > 0 && s.waiting() > audio.Samples(s.depth+frame, s.rate) {
		if _, ok := audio.FirstAudible(p, s.rate); !ok {
			return
		}
	}
	ready := s.pos(now)
	if s.waiting() == 0 && s.at <= ready {
		ready += int64(audio.Samples(s.depth, s.rate))
	}
	ready = s.tick(ready)
	s.ears.hear(p, len(s.sound), max(s.at, ready)+int64(s.waiting()))
	s.queue = append(s.queue, queued{ready: ready, from: len(s.sound), n: len(p)})
	s.sound = append(s.sound, p...)
	s.most = max(s.most, s.waiting())
}

// mark queues a mark.
func (s *speaker) mark(name string, full bool, now time.Time) {
	s.queue = append(s.queue, queued{ready: s.tick(s.pos(now)), mark: name, full: full})
}

// reached is a mark that was.
type reached struct {
	name string
	full bool
}

// advance plays what is played by now, and returns the marks that were reached.
func (s *speaker) advance(now time.Time) (marks []reached) {
	to := s.pos(now)
	for len(s.queue) > 0 && !s.held {
		q := &s.queue[0]
		if q.n == 0 {
			if max(s.at, q.ready) > to {
				break
			}
			marks = append(marks, reached{q.mark, q.full})
			s.queue = s.queue[1:]
			continue
		}
		from := max(s.at, q.ready)
		n := int(min(int64(q.n), to-from))
		if n <= 0 {
			break
		}
		s.add(Stretch{From: q.from, N: n, At: s.time(from), pos: from})
		s.at = from + int64(n)
		if q.from, q.n = q.from+n, q.n-n; q.n > 0 {
			break
		}
		s.queue = s.queue[1:]
	}
	if len(s.queue) == 0 {
		s.queue = nil
	}
	if s.held {
		s.at = max(s.at, to)
	}
	return marks
}

// add notes what was played.
func (s *speaker) add(x Stretch) {
	if n := len(s.played); n > 0 {
		if last := &s.played[n-1]; last.From+last.N == x.From && last.pos+int64(last.N) == x.pos {
			last.N += x.N
			return
		}
	}
	s.played = append(s.played, x)
}

// next returns when the next mark is reached; false where nothing is to be waited for.
func (s *speaker) next() (time.Time, bool) {
	if s.held {
		return time.Time{}, false
	}
	at := s.at
	for _, q := range s.queue {
		at = max(at, q.ready)
		if q.n == 0 {
			return s.time(at + 1), true // so that it has been by then
		}
		at += int64(q.n)
	}
	return time.Time{}, false
}

// empty throws away what has not been played, and returns the marks of it. Whether the speaker pauses is not changed.
func (s *speaker) empty(now time.Time) (marks []string) {
	for _, q := range s.queue {
		if q.n == 0 && !q.full {
			marks = append(marks, q.mark)
		}
	}
	dropped := s.waiting()
	s.cuts = append(s.cuts, Cut{At: now, Dropped: dropped})
	s.ears.cut(len(s.sound) - dropped)
	s.queue = nil
	return marks
}
