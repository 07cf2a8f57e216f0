package dtmf

import (
	"cmp"
	"math"
	"time"

	"riposte/audio"
)

// Digit is a key that was pressed.
type Digit struct {
	Rune   rune          // 0 to 9, *, # or A to D.
	At     time.Duration // When its sound began, from the beginning of the stream; to some 4 ms.
	Length time.Duration // How long it sounded; to some 8 ms.
}

// Detector finds digits in a stream of sound. It is a step function: all its time is counted in samples of what it was fed. Settings hold
// from the first sound on; the zero value is ready for telephone sound. It must not be used by two goroutines at once.
//
// A digit is what ITU-T Q.24 asks for: two tones that are off by no more than 2.5 %, 40 ms long (23 ms are none), 40 ms apart (10 ms are no
// gap). Speech has such tones too, for a moment and among others. What tells them apart is that a key's tones are nearly all the sound there
// is, and stay where they are.
type Detector struct {
	Rate     int     // Hertz, at least 8000. It defaults to 8000.
	Floor    float64 // The level in dBFS that each of the two tones must have. It defaults to -45, some 14 dB below what Q.24 asks for.
	Purity   float64 // The share of all power that the two tones must have, 0 to 1. It defaults to 0.9, all else 10 dB below them.
	LowOver  float64 // By how many dB the low tone may be the louder one. It defaults to 10: Q.24's 8 and what noise adds.
	HighOver float64 // By how many dB the high tone may be the louder one. It defaults to 6: Q.24's 4 and what noise adds.

	bank    *bank
	windows audio.Windows

	run   run // Windows in a row that hold the same key's tones.
	digit run // The digit that sounds, or none.
}

// Sound is looked at in windows of 16 ms, each 4 ms after the one before. Shorter ones cannot tell a key's low tone from its high one
// under noise; longer ones see too little of a sound of 40 ms. A window passes as well where a third of it lies outside of the sound: one of
// 40 ms has eight that pass, one of 23 ms no more than five.
const (
	window  = 16 * time.Millisecond
	hop     = 4 * time.Millisecond
	enough  = 6
	bridged = 6 // Windows without the digit that are no pause: an interruption of 10 ms takes five.
)

// drift is how far, as a share of its frequency, a tone may be off on the whole; wobble is how far in one window, where noise moves it.
const (
	drift  = 0.025
	wobble = 0.035
)

// run is a key's tones in a row of windows.
type run struct {
	key     rune       // 0 is none.
	first   int64      // Position of the first window's begin,
	last    int64      // and of the last one's.
	windows int        // How many in a row.
	off     [2]float64 // Sum over the windows of how far the two tones were off, as a share.
}

// steady reports whether the run is long enough for a digit, and its tones are where they must be.
func (r run) steady() bool {
	n := float64(r.windows)
	return r.windows >= enough && math.Abs(r.off[0]/n) <= drift && math.Abs(r.off[1]/n) <= drift
}

// Take takes the next sound, of any length, and returns the digits that ended in it, oldest first. A digit has ended when nothing was heard
// of it for some 30 ms.
func (d *Detector) Take(p audio.PCM) []Digit {
	if d.bank == nil {
		d.bank = newBank(cmp.Or(d.Rate, audio.G711Rate))
		d.windows = audio.Windows{Length: d.bank.window, Hop: d.bank.hop}
	}
	var ended []Digit
	for at, w := range d.windows.Take(p) {
		key, off := d.hear(w)
		if digit, ok := d.step(at, key, off); ok {
			ended = append(ended, digit)
		}
	}
	return ended
}

// Flush ends the stream, and with it the digit that sounds. The Detector is then ready for another stream.
func (d *Detector) Flush() []Digit {
	var ended []Digit
	if d.digit.key != 0 {
		ended = append(ended, d.done())
	}
	if d.bank != nil {
		d.bank.forget()
	}
	d.windows.Reset()
	d.run, d.digit = run{}, run{}
	return ended
}

// Sounding returns the digit whose sound has begun and has not ended, or 0. It is known some 35 ms after the sound began.
func (d *Detector) Sounding() rune { return d.digit.key }

// hear returns the key whose tones the window holds, and how far these are off.
func (d *Detector) hear(w audio.PCM) (digit rune, off [2]float64) {
	b := d.bank
	if !b.look(w, decibels(cmp.Or(d.Floor, -45))) {
		return 0, off
	}
	low, high := loudest(b.power[:4]), loudest(b.power[4:])
	l, h := b.tone(low, lows[low]), b.tone(4+high, highs[high])
	floor := decibels(cmp.Or(d.Floor, -45))
	switch {
	case math.Abs(l.off) > wobble || math.Abs(h.off) > wobble:
	case l.power < floor || h.power < floor:
	case l.power > h.power*decibels(cmp.Or(d.LowOver, 10)) || h.power > l.power*decibels(cmp.Or(d.HighOver, 6)):
	case l.power+h.power < cmp.Or(d.Purity, 0.9)*b.total:
	default:
		return key(low, high), [2]float64{l.off, h.off}
	}
	return 0, off
}

// step goes on with what the window at a position holds, and returns the digit that has ended with it.
func (d *Detector) step(at int64, key rune, off [2]float64) (ended Digit, ok bool) {
	if key != d.run.key {
		d.run = run{key: key, first: at}
	}
	if key != 0 {
		d.run.last = at
		d.run.windows++
		d.run.off[0] += off[0]
		d.run.off[1] += off[1]
	}
	if d.digit.key != 0 && (at-d.digit.last > int64(bridged*d.bank.hop) || key != d.digit.key && d.run.steady()) {
		ended, ok = d.done(), true
	}
	switch {
	case key == 0:
	case key == d.digit.key:
		d.digit.last = at
	case d.digit.key == 0 && d.run.steady():
		d.digit = d.run
	}
	return ended, ok
}

// done returns the digit that sounded, as it is told, and forgets it.
func (d *Detector) done() Digit {
	// The first and the last window that pass reach out of the sound, by half a hop on the average.
	r, b := d.digit, d.bank
	d.digit = run{}
	return Digit{Rune: r.key, At: audio.Duration(int(r.first)+b.hop/2, b.rate), Length: audio.Duration(int(r.last-r.first)+b.window-b.hop, b.rate)}
}

// loudest returns the index of the largest.
func loudest(powers []float64) int {
	best := 0
	for i, p := range powers {
		if p > powers[best] {
			best = i
		}
	}
	return best
}

// decibels returns the ratio of powers that db stands for.
func decibels(db float64) float64 { return math.Pow(10, db/10) }
