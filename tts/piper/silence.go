package piper

import (
	"math"
	"time"

	"riposte/audio"
)

const (
	// audible is the level, of 1, from which on sound counts: -46 dBFS, above a voice's breath and below the body of its
	// softest consonants.
	audible = 0.005
	// breathing is the level (RMS) of a consonant's onset: -60 dBFS. What is below it is silence. An f, an h or a th is
	// above it for up to 20 ms before it is audible.
	breathing = 0.001
	// grain is how long the stretches are whose level is looked at.
	grain = 2500 * time.Microsecond
	// longestOnset is how much ahead of the first sound may be an onset.
	longestOnset = 20 * time.Millisecond
	// ramp is how long the sound takes to rise from nothing where silence was cut, and to fall to it, so that no step is heard.
	ramp = 2500 * time.Microsecond
	// keptTail is the silence behind words that read on. Voices leave 100 to 200 ms there, as if a sentence had ended.
	keptTail = 30 * time.Millisecond
)

// silence takes away the silence with which a unit begins, and that behind a unit which reads on.
type silence struct {
	rate  int
	tail  bool // Whether the silence at the end goes.
	begun bool
	taken int       // Samples of the unit that went ahead of its first sound.
	held  []float32 // Silence that is part of the unit if sound follows it.
}

// trim returns what can be spoken of the next samples.
func (l *silence) trim(sound []float32) []float32 {
	if !l.begun {
		i := firstAudible(sound)
		if i < 0 {
			l.taken += len(sound)
			return nil
		}
		l.begun = true
		from := max(0, l.onset(sound, i)-audio.Samples(ramp, l.rate))
		l.taken += from
		sound = sound[from:]
		fade(sound[:min(i-from, audio.Samples(ramp, l.rate))], false)
	}
	if !l.tail {
		return sound
	}
	end := len(sound)
	for end > 0 && !isAudible(sound[end-1]) {
		end--
	}
	if end == 0 {
		l.held = append(l.held, sound...)
		return nil
	}
	out := sound[:end:end]
	if len(l.held) > 0 {
		out = append(l.held, out...)
	}
	l.held = append([]float32(nil), sound[end:]...)
	return out
}

// rest returns what is left at the end of the unit: all of the silence that is short, and the beginning of a longer one.
func (l *silence) rest() []float32 {
	if n := l.left(); len(l.held) > n {
		l.held = l.held[:n]
		fade(l.held[n-min(n, audio.Samples(ramp, l.rate)):], true)
	}
	held := l.held
	l.held = nil
	return held
}

// left returns how many samples would be left if the unit ended here.
func (l *silence) left() int { return min(len(l.held), audio.Samples(keptTail, l.rate)) }

// onset returns where the sound begins that is audible at i.
func (l *silence) onset(sound []float32, i int) int {
	n, least := audio.Samples(grain, l.rate), max(0, i-audio.Samples(longestOnset, l.rate))
	for i-n >= least && level(sound[i-n:i]) >= breathing {
		i -= n
	}
	return i
}

// firstAudible returns the place of the first audible sample, -1 where there is none.
func firstAudible(sound []float32) int {
	for i, s := range sound {
		if isAudible(s) {
			return i
		}
	}
	return -1
}

func isAudible(s float32) bool { return s >= audible || s <= -audible }

// level returns the RMS of samples, of 1.
func level(sound []float32) float64 {
	sum := 0.0
	for _, s := range sound {
		sum += float64(s) * float64(s)
	}
	return math.Sqrt(sum / float64(max(1, len(sound))))
}

// fade raises samples from nothing or, down, lowers them to it.
func fade(sound []float32, down bool) {
	for i := range sound {
		at := i
		if down {
			at = len(sound) - 1 - i
		}
		sound[i] *= float32(at) / float32(len(sound))
	}
}
