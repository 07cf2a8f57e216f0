package phone

import (
	"slices"
	"time"

	"riposte/audio"
)

// Moment is what the far side knows of a call at one time. It shares no memory that changes.
type Moment struct {
	Now      time.Time
	Sound    audio.PCM // All that has come,
	Rate     int       // its rate in hertz,
	Arrivals []Arrival // and when it did.
	Played   []Stretch // Of it, in order.
	Cuts     []Cut
	Answers  []Answer
	Waiting  int  // Samples that are to be played,
	Most     int  // and how many that were at most.
	Dropped  int  // Pieces that came to a full queue.
	Paused   bool // The service has the far side pause.
}

// Answer is audible sound with no silence of a second in it: no wire says where an answer begins.
type Answer struct {
	From, To int       // Samples of all that came.
	Begins   time.Time // When the first audible sample was played; zero before that.
	Ends     time.Time // When the last audible sample that was played had been; zero before there is any.
	Cut      bool      // Sound of it was thrown away.
}

// Now returns what is known of the call.
func (c *Call) Now() Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moment(time.Now())
}

// moment is Now for who holds mu.
func (c *Call) moment(now time.Time) Moment {
	s := &c.speaker
	if !s.ticks {
		c.advance(now)
	}
	m := Moment{
		Now: now, Sound: s.sound[:len(s.sound):len(s.sound)], Rate: s.rate, Arrivals: c.arrivals[:len(c.arrivals):len(c.arrivals)],
		Played: slices.Clone(s.played), Cuts: slices.Clone(s.cuts), Waiting: s.waiting(), Most: s.most, Dropped: c.dropped, Paused: s.held,
	}
	for _, a := range s.ears.answers {
		x := Answer{From: a.from, To: a.to, Cut: a.cut}
		x.Begins, x.Ends = m.span(a.from, a.to)
		m.Answers = append(m.Answers, x)
	}
	return m
}

// span returns when the first of some samples was played, and when the last that was had been.
func (m Moment) span(from, to int) (begins, ends time.Time) {
	for _, s := range m.Played {
		a, b := max(from, s.From), min(to, s.From+s.N)
		if a >= b {
			continue
		}
		if begins.IsZero() && a == from {
			begins = s.At.Add(audio.Duration(a-s.From, m.Rate))
		}
		ends = s.At.Add(audio.Duration(b-s.From, m.Rate))
	}
	return begins, ends
}

// Heard returns how many of the samples from one on were played, up to the first that was not.
func (m Moment) Heard(from int) int {
	to := from
	for _, s := range m.Played {
		if s.From <= to && s.From+s.N > to {
			to = s.From + s.N
		}
	}
	return to - from
}

// Gaps are the times in which there was nothing to be played, between two pieces of sound that lie no further apart than within. A pause that
// the service asked for, and what follows a cut, is none.
func (m Moment) Gaps(within time.Duration) (all []time.Duration) {
	for i := 1; i < len(m.Played); i++ {
		a, b := m.Played[i-1], m.Played[i]
		gap := b.At.Sub(a.At.Add(audio.Duration(a.N, m.Rate)))
		if a.From+a.N == b.From && gap > 0 && gap < within {
			all = append(all, gap)
		}
	}
	return all
}

// Silent returns since when nothing is to be heard; false while something is, or is going to be.
func (m Moment) Silent() (since time.Time, ok bool) {
	n := len(m.Answers)
	if n == 0 {
		return time.Time{}, true
	}
	a := m.Answers[n-1]
	if !a.Cut && m.Heard(a.From) < a.To-a.From {
		return time.Time{}, false
	}
	return a.Ends, true
}
