package audio

import (
	"math"
	"time"
)

// Levels are judged in windows of levelWindow: short against a syllable (some 200 ms), long against the period of the
// deepest voice (some 12 ms would be 80 Hz).
const levelWindow = 10 * time.Millisecond

const (
	// audible is the RMS level, in dBFS, from which sound counts as heard. It lies above the noise of a quiet line (some
	// -60) and below the softest beginning of a word.
	audible = -50.0
	// voicedFloor is the RMS level, in dBFS, below which no window counts as voice, however quiet the rest is.
	voicedFloor = -45.0
	// voicedRange is how far, in dB, below the loudest window voice may be. The consonants at the end of a word are 20 to
	// 25 dB softer than its vowels; the room's echo of it is softer still.
	voicedRange = 30.0
)

// FirstAudible returns the index of the first sample of the first 10 ms window whose RMS level is above -50 dBFS. It
// returns false when there is none. A last window that is not full counts as if silence filled it.
func FirstAudible(p PCM, rate int) (sample int, ok bool) {
	for i, level := range windows(p, rate) {
		if level > audible {
			return i * Samples(levelWindow, rate), true
		}
	}
	return 0, false
}

// Audible returns where the audible part of p begins and ends: the first sample of the first 10 ms window, and the index
// after the last sample of the last one, whose RMS level is above -50 dBFS. It returns false when there is none.
func Audible(p PCM, rate int) (from, to int, ok bool) {
	from, ok = FirstAudible(p, rate)
	if !ok {
		return 0, 0, false
	}
	levels := windows(p, rate)
	n := len(levels)
	for levels[n-1] <= audible {
		n--
	}
	return from, min(len(p), n*Samples(levelWindow, rate)), true
}

// LastVoiced returns the index after the last sample of the last 10 ms window whose RMS level is above both -45 dBFS and
// the loudest window's level less 30 dB: where a talker fell silent, given sound in which somebody talks. It returns 0
// when there is no such window. A last window that is not full counts as if silence filled it.
func LastVoiced(p PCM, rate int) int {
	levels := windows(p, rate)
	threshold := voicedFloor
	for _, level := range levels {
		threshold = max(threshold, level-voicedRange)
	}
	for i := len(levels) - 1; i >= 0; i-- {
		if levels[i] > threshold {
			return min(len(p), (i+1)*Samples(levelWindow, rate))
		}
	}
	return 0
}

// windows returns the level of each 10 ms of p, in dBFS.
func windows(p PCM, rate int) []float64 {
	n := Samples(levelWindow, rate)
	levels := make([]float64, 0, len(p)/n+1)
	for ; len(p) >= n; p = p[n:] {
		levels = append(levels, p[:n].Level())
	}
	if len(p) > 0 {
		levels = append(levels, p.Level()+10*math.Log10(float64(len(p))/float64(n)))
	}
	return levels
}
