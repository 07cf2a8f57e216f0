package answering

import (
	"cmp"
	"math"
	"time"

	"riposte/audio"
)

// Beep is a single steady tone, such as that after which an answering machine records.
type Beep struct {
	Frequency float64       // Hertz, to some 3.
	Level     float64       // In dBFS.
	At        time.Duration // When it began, from the beginning of the stream; to some 10 ms.
	Length    time.Duration // To some 15 ms.
}

// Beeps finds beeps in a stream of sound. It is a step function: all its time is counted in samples of what it was fed. Settings hold from
// the first sound on; the zero value is ready for what a recogniser hears. It must not be used by two goroutines at once.
//
// A beep differs from a voice in that nearly all its power lies at one frequency, which does not move, and from the two tones of a key in that
// it has one.
type Beeps struct {
	Rate     int           // Hertz, at least 8000. It defaults to audio.SpeechRate.
	Lowest   float64       // Frequency in hertz. It defaults to 300, where a telephone's band begins and voices are seldom so high.
	Highest  float64       // It defaults to 2500.
	Shortest time.Duration // It defaults to 120 ms.
	Longest  time.Duration // Tones that last longer, such as that of a line where nobody is, are none. It defaults to 3 s.
	Floor    float64       // Level in dBFS. It defaults to -45.
	Purity   float64       // The share of all power that the tone must have, 0 to 1. It defaults to 0.9: all else is 10 dB below it.
	Drift    float64       // How far from its mean the frequency may be, as a share, or 8 Hz where that is more. It defaults to 0.01.
	Sway     float64       // How far from its mean the level may be, in dB. It defaults to 3.

	spectrum *spectrum
	windows  audio.Windows
	run      tone
}

// tone is what was found of a tone in windows that follow each other.
type tone struct {
	first, last int64 // Positions of the windows' begin.
	windows     int
	missed      int     // Windows since the last one that held it.
	frequency   float64 // Mean of all windows.
	level       float64 // The same.
}

// Sound is looked at in windows of 32 ms, which tell frequencies apart that are 60 Hz from each other, each 8 ms after the one before.
const (
	window = 32 * time.Millisecond
	hop    = 8 * time.Millisecond
)

// missing is how many windows may lack a tone that then goes on: a click falls into four.
const missing = 4

// Take takes the next sound, of any length, and returns the beeps that ended in it, oldest first. A beep has ended when nothing was heard of it
// for some 40 ms.
func (b *Beeps) Take(p audio.PCM) []Beep {
	if b.spectrum == nil {
		b.spectrum = newSpectrum(cmp.Or(b.Rate, audio.SpeechRate))
		b.windows = audio.Windows{Length: b.spectrum.window, Hop: b.spectrum.hop}
	}
	var ended []Beep
	for at, w := range b.windows.Take(p) {
		frequency, level, ok := b.hear(w)
		if beep, over := b.step(at, frequency, level, ok); over {
			ended = append(ended, beep)
		}
	}
	return ended
}

// Flush ends the stream, and with it a beep that sounds. The Beeps is then ready for another stream.
func (b *Beeps) Flush() []Beep {
	var ended []Beep
	if beep, ok := b.beep(); ok {
		ended = append(ended, beep)
	}
	b.windows.Reset()
	b.run = tone{}
	return ended
}

// Sounding reports whether a beep sounds: a tone that has lasted for Shortest.
func (b *Beeps) Sounding() bool {
	_, ok := b.beep()
	return ok
}

// hear returns the one tone that a window holds.
func (b *Beeps) hear(w audio.PCM) (frequency, level float64, ok bool) {
	if w.Level() < cmp.Or(b.Floor, -45)-1 { // The window's edges may lie outside of the tone.
		return 0, 0, false
	}
	frequency, power, total := b.spectrum.peak(w)
	level = 10 * math.Log10(power)
	return frequency, level, frequency >= cmp.Or(b.Lowest, 300) && frequency <= cmp.Or(b.Highest, 2500) &&
		level >= cmp.Or(b.Floor, -45) && power >= cmp.Or(b.Purity, 0.9)*total
}

// step goes on with what the window at a position holds, and returns the beep that is over with it.
func (b *Beeps) step(at int64, frequency, level float64, ok bool) (ended Beep, over bool) {
	r := &b.run
	if ok && r.windows > 0 && b.same(frequency, level) {
		r.windows++
		r.last, r.missed = at, 0
		r.frequency += (frequency - r.frequency) / float64(r.windows)
		r.level += (level - r.level) / float64(r.windows)
		return Beep{}, false
	}
	if r.missed++; r.windows > 1 && r.missed <= missing {
		return Beep{}, false
	}
	ended, over = b.beep()
	*r = tone{}
	if ok {
		*r = tone{first: at, last: at, windows: 1, frequency: frequency, level: level}
	}
	return ended, over
}

// same reports whether a tone is the one that sounds. At its begin the window is not full of it yet.
func (b *Beeps) same(frequency, level float64) bool {
	r := &b.run
	sway := cmp.Or(b.Sway, 3)
	if r.windows < 4 {
		sway += 6
	}
	return math.Abs(frequency-r.frequency) <= max(8, cmp.Or(b.Drift, 0.01)*r.frequency) && math.Abs(level-r.level) <= sway
}

// beep returns what sounds as a beep, if it is one.
func (b *Beeps) beep() (Beep, bool) {
	r := &b.run
	if r.windows == 0 {
		return Beep{}, false
	}
	s := b.spectrum
	// The first and the last window that hold it reach out of it, by half a window on the average.
	length := audio.Duration(int(r.last-r.first)+s.hop, s.rate)
	if length < cmp.Or(b.Shortest, 120*time.Millisecond) || length > cmp.Or(b.Longest, 3*time.Second) || r.windows*s.hop*4 < int(r.last-r.first)*3 {
		return Beep{}, false
	}
	return Beep{Frequency: r.frequency, Level: r.level, At: audio.Duration(int(r.first)+s.window/2-s.hop/2, s.rate), Length: length}, true
}
