// Package endpoint decides how much silence makes a turn's end: little when the sound, the words and the model agree that
// the caller has finished, much while the sentence is open. Nothing in here knows clocks or goroutines.
package endpoint

import "math"

// Signals are what is known of a turn at a moment of silence.
type Signals struct {
	Sound  Probability // That it is over, by how it sounded.
	Fall   Fall        // How the voice faded at its end.
	Text   string      // What was said, as far as it is known.
	Closed Probability // That the sentence is over, by how the recogniser would punctuate it.
	Over   Probability // That it is over, by the language model that is to answer.
}

// Probability is a probability, or nothing: its zero value is unknown.
type Probability struct {
	known bool
	odds  float64 // Natural logarithm.
}

// Likely returns the probability p. What is all but certain counts no more than 99 %: models are surer than they should be.
func Likely(p float32) Probability {
	q := min(max(float64(p), 0.01), 0.99)
	return Probability{known: true, odds: math.Log(q / (1 - q))}
}
