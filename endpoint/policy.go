package endpoint

import (
	"math"
	"time"
)

// Policy turns signals into a wait. Its zero value is ready to use.
type Policy struct {
	Shortest time.Duration // The wait when everything says that the turn is over. It defaults to 200 ms.
	Usual    time.Duration // The wait when nothing says anything. It defaults to 500 ms.
	Doubtful time.Duration // The wait when sound and model say that more is to come. It defaults to 560 ms: they are wrong too often for more.
	Longest  time.Duration // The wait when the words say so: the sentence is open. It defaults to 1,600 ms.
	Weights  *Weights      // How much each signal counts. It defaults to DefaultWeights.
}

// ByEagerness returns the policy for one of the degrees in which a turn may be taken to be over where that is not clear: "low", "medium" or
// "high". Anything else is medium.
func ByEagerness(degree string) Policy {
	switch degree {
	case "low":
		return Policy{Usual: 800 * time.Millisecond, Doubtful: 1200 * time.Millisecond, Longest: 3 * time.Second}
	case "high":
		return Policy{Usual: 350 * time.Millisecond, Doubtful: 450 * time.Millisecond, Longest: 900 * time.Millisecond}
	}
	return Policy{}
}

// Weights are those of a logistic regression: the log-odds that the turn is over are their sum, each signal's times its
// weight. A signal that is not known adds nothing.
type Weights struct {
	Bias     float64
	Sound    float64 // For the log-odds by the sound,
	Fall     float64 // for each dB that the voice fell further than usual,
	Closed   float64 // for the log-odds by the recogniser,
	Over     float64 // and for those by the language model.
	Complete float64 // For a text that needs no more,
	Open     float64 // and for one that cannot end so, which is negative.
}

// DefaultWeights have about the proportions of a regression over acted dialogue (88 pauses inside sentences and 911 ends of lines in
// an adventure game) and over the recordings that `riposte bench endpoint` reports on, and a size at which half of the ends take the shortest
// wait. No witness is good: where a sentence might end, voices often sound as if it did.
var DefaultWeights = Weights{Sound: 0.5, Fall: 0.4, Closed: 2, Over: 0.2, Complete: 4, Open: -4}

// Wait returns how much silence, from the last voiced sample on, ends the turn. pauses are those that the caller has made.
func (p Policy) Wait(s Signals, pauses *Pauses) time.Duration {
	p = p.withDefaults()
	f := formOf(s.Text)
	if f == spelling {
		return max(p.Longest, pauses.Longest()*5/4)
	}
	longest := max(p.Doubtful, pauses.Usual()*5/4)
	if f == open {
		longest = p.Longest
	}
	return p.wait(p.Weights.over(s, f), min(longest, p.Longest), pauses)
}

// wait returns the wait for a turn that is over with the probability q: the shortest from 0.95 on, the usual at a half and the
// longest below 0.1. Who makes longer pauses inside of turns than usual is given time for them.
func (p Policy) wait(q float64, longest time.Duration, pauses *Pauses) time.Duration {
	usual := min(max(p.Usual, pauses.Usual()*5/4), longest)
	between := func(a, b time.Duration, share float64) time.Duration {
		return a + time.Duration(float64(b-a)*min(max(share, 0), 1))
	}
	if q >= 0.5 {
		return between(usual, min(p.Shortest, usual), (q-0.5)/(sure-0.5))
	}
	return between(longest, usual, (q-unsure)/(0.5-unsure))
}

// sure and unsure are the probabilities from which a turn is as good as over, or as good as not.
const (
	sure   = 0.95
	unsure = 0.1
)

// Where each witness says neither one thing nor the other.
var (
	even   = math.Log(0.7 / 0.3)     // Smart Turn is fond of ends,
	whole  = math.Log(0.913 / 0.087) // recognisers end most texts with a full stop,
	modest = math.Log(0.1 / 0.9)     // and language models give that much to the end of a message that may well be one.
)

// usualFall is how far, in dB, voices fall, and mostFall how much more or less of it counts.
const (
	usualFall = 12
	mostFall  = 8
)

// over returns the probability that the turn is over.
func (w *Weights) over(s Signals, f form) float64 {
	odds := w.Bias
	if s.Sound.known {
		odds += w.Sound * (s.Sound.odds - even)
	}
	if s.Fall.known {
		odds += w.Fall * min(max(s.Fall.db-usualFall, -mostFall), mostFall)
	}
	if s.Closed.known {
		odds += w.Closed * (s.Closed.odds - whole)
	}
	if s.Over.known {
		odds += w.Over * (s.Over.odds - modest)
	}
	switch f {
	case complete:
		odds += w.Complete
	case open:
		odds += w.Open
	}
	return 1 / (1 + math.Exp(-odds))
}

func (p Policy) withDefaults() Policy {
	or := func(d, to time.Duration) time.Duration {
		if d == 0 {
			return to
		}
		return d
	}
	p.Shortest, p.Usual = or(p.Shortest, 200*time.Millisecond), or(p.Usual, 500*time.Millisecond)
	p.Doubtful, p.Longest = or(p.Doubtful, 560*time.Millisecond), or(p.Longest, 1600*time.Millisecond)
	if p.Weights == nil {
		p.Weights = &DefaultWeights
	}
	return p
}
