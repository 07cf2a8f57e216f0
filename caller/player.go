package caller

import (
	"slices"
	"time"

	"riposte/audio"
)

// player is the caller's loudspeaker. It plays what has come, in real time: a sample is heard when it has arrived and all before it
// has been played. It is a step function of events and times. Positions are samples since epoch at rate.
type player struct {
	rate  int
	epoch time.Time
	live  bool // Sound comes when it is to be played: the server does the pausing, and there is nothing to be thrown away.

	queue []*stretch // What is to be played, or was not long ago, in order.
	end   int64      // Behind the last sample of it.
	held  bool       // Whether it pauses,
	since int64      // and since when.
	holds []Hold
}

// stretch is a part of an answer's sound that is played without a break.
type stretch struct {
	of      *response
	from, n int   // Samples of the answer's sound.
	at      int64 // When the first of them is played.
}

// Hold is a time in which the caller's loudspeaker paused, since the server asked for it.
type Hold struct {
	From  time.Time
	Until time.Time // Zero while it lasts.
	Taken bool      // It ended with an interruption, and not with more of the answer.
}

// pos returns a time as a position.
func (p *player) pos(t time.Time) int64 {
	return int64(t.Sub(p.epoch)) * int64(p.rate) / int64(time.Second)
}

// time returns a position as a time.
func (p *player) time(pos int64) time.Time {
	return p.epoch.Add(time.Duration(pos * int64(time.Second) / int64(p.rate)))
}

// by returns the position that has been played by now.
func (p *player) by(now time.Time) int64 {
	if p.held && !p.live {
		return min(p.since, p.pos(now))
	}
	return p.pos(now)
}

// ends returns when all that came so far will have been played; as long as the player pauses, that is as far away as it was.
func (p *player) ends(now time.Time) time.Time {
	if p.held && !p.live {
		return now.Add(p.time(p.end).Sub(p.time(p.since)))
	}
	return p.time(p.end)
}

// remembered is for how long the player knows what it has played.
const remembered = time.Second

// play takes the n samples of r's sound that begin with sample from.
func (p *player) play(r *response, from, n int, now time.Time) {
	old := p.by(now) - int64(audio.Samples(remembered, p.rate))
	p.queue = slices.DeleteFunc(p.queue, func(s *stretch) bool { return s.at+int64(s.n) < old })
	at := max(p.end, p.by(now))
	p.end = at + int64(n)
	if len(p.queue) > 0 {
		if last := p.queue[len(p.queue)-1]; last.of == r && last.from+last.n == from && last.at+int64(last.n) == at {
			last.n += n
			return
		}
	}
	s := &stretch{of: r, from: from, n: n, at: at}
	p.queue = append(p.queue, s)
	r.stretches = append(r.stretches, s)
}

// hold pauses.
func (p *player) hold(now time.Time) {
	if !p.held {
		p.held, p.since = true, p.pos(now)
		p.holds = append(p.holds, Hold{From: now})
	}
}

// release goes on where the player paused.
func (p *player) release(now time.Time) {
	if !p.held {
		return
	}
	if p.live {
		p.free(now, false)
		return
	}
	late := p.pos(now) - p.since
	for i := 0; i < len(p.queue); i++ {
		s := p.queue[i]
		if s.at >= p.since {
			s.at += late
			continue
		}
		done := int(p.since - s.at)
		if done >= s.n {
			continue
		}
		rest := &stretch{of: s.of, from: s.from + done, n: s.n - done, at: p.pos(now)}
		s.n = done
		p.queue = slices.Insert(p.queue, i+1, rest)
		i++
		s.of.stretches = slices.Insert(s.of.stretches, slices.Index(s.of.stretches, s)+1, rest)
	}
	if p.end > p.since {
		p.end += late
	}
	p.free(now, false)
}

// empty throws away what has not been played.
func (p *player) empty(now time.Time) {
	if p.live {
		p.free(now, true)
		return
	}
	cut := p.by(now)
	for _, s := range p.queue {
		s.n = int(max(0, min(int64(s.n), cut-s.at)))
	}
	p.end = min(p.end, cut)
	p.free(now, true)
}

// free ends a pause.
func (p *player) free(now time.Time, taken bool) {
	if p.held {
		p.held = false
		h := &p.holds[len(p.holds)-1]
		h.Until, h.Taken = now, taken
	}
}

// paused returns for how long in all the player paused between two times.
func (p *player) paused(from, to time.Time) (d time.Duration) {
	for _, h := range p.holds {
		until := h.Until
		if until.IsZero() || until.After(to) {
			until = to
		}
		if h.From.After(from) {
			d += max(0, until.Sub(h.From))
		} else {
			d += max(0, until.Sub(from))
		}
	}
	return d
}

// sounding returns the n samples that are played from a position on, which must be in the past.
func (p *player) sounding(from int64, n int) audio.PCM {
	out := make(audio.PCM, n)
	to := from + int64(n)
	if p.held && !p.live {
		to = min(to, p.since)
	}
	for _, s := range p.queue {
		begin, end := max(from, s.at), min(to, s.at+int64(s.n))
		if begin < end {
			copy(out[begin-from:end-from], s.of.sound[s.from+int(begin-s.at):])
		}
	}
	return out
}

// played returns how many samples of r's sound have been played by now.
func (p *player) played(r *response, now time.Time) int {
	by, n := p.by(now), int64(0)
	for _, s := range r.stretches {
		n += max(0, min(by-s.at, int64(s.n)))
	}
	return int(n)
}

// plays returns when a sample of r's sound is played, or would have been.
func (p *player) plays(r *response, sample int) time.Time {
	s := r.stretches[0]
	for _, next := range r.stretches {
		if next.from > sample {
			break
		}
		s = next
	}
	return p.time(s.at + int64(sample-s.from))
}
