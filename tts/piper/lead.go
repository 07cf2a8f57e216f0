package piper

import (
	"time"

	"riposte/audio"
)

const (
	// audible is the level, of 1, from which on sound counts: -46 dBFS, above a voice's breath and below its softest
	// consonants.
	audible = 0.005
	// keptLead is how much silence stays ahead of the first sound, so that a soft consonant keeps its onset.
	keptLead = 5 * time.Millisecond
)

// lead takes away the silence with which a unit begins.
type lead struct {
	rate int
	done bool
}

// trim returns what is left of the next samples: all of them once sound has been heard.
func (l *lead) trim(sound []float32) []float32 {
	if l.done {
		return sound
	}
	for i, s := range sound {
		if s >= audible || s <= -audible {
			l.done = true
			from := max(0, i-audio.Samples(keptLead, l.rate))
			return fadeIn(sound[from:], i-from)
		}
	}
	return nil
}

// fadeIn raises the first n samples from nothing, since silence that is cut in the middle would begin with a step.
func fadeIn(sound []float32, n int) []float32 {
	for i := range n {
		sound[i] *= float32(i) / float32(n)
	}
	return sound
}
