package piper

import (
	"strings"
	"time"

	"riposte/audio"
)

const (
	// restWithin is how far behind where the network has a word end the voice may fall silent: an s dies away for up to 70 ms.
	restWithin = 100 * time.Millisecond
	// restAhead is how far ahead of that it may: of a t at the end often nothing is heard but that the vowel ahead of it stops,
	// as much as 130 ms early.
	restAhead = 200 * time.Millisecond
	// restLasts is how long silence is that is no part of a word: longer than the lips are closed for a p.
	restLasts = 60 * time.Millisecond
)

// sounding is where a unit lies in the sound of its text, as far as its sound has been made.
//
// The network's durations say where words end that others follow at once. Where the voice rests behind a word, its sound says
// so more exactly.
type sounding struct {
	unit   int
	from   int   // The sample of the text's sound at which the unit's own first one would be; what is cut may be ahead of it.
	behind []int // For each character of the phonemes, the sample of the unit behind it.
	rests  []int // The characters behind which the voice rests.
	total  int   // Samples of the unit.

	known   int    // Samples that have been made.
	settled int    // The rests that have been found in them.
	grain   int    // Samples.
	loud    []bool // Whether anything is audible, grain by grain.
}

// newSounding returns the sounding of a unit, which is told the sample behind each of its ids, and behind which of these each of
// its characters ends.
func newSounding(unit int, phonemes string, ids, samples []int, rate int) *sounding {
	s := &sounding{unit: unit, total: samples[len(samples)-1], grain: audio.Samples(grain, rate)}
	for _, n := range ids {
		s.behind = append(s.behind, samples[n-1])
	}
	s.loud = make([]bool, s.total/s.grain+1)
	last, ended := -1, false // The last character that is a sound, and whether a mark stands behind it.
	for i, r := range []rune(phonemes) {
		switch {
		case strings.ContainsRune(".,?!;:", r):
			ended = true
		case r != ' ':
			// Not every comma is a rest.
			if last >= 0 && ended && s.behind[i-1]-s.behind[last] >= audio.Samples(restLasts, rate) {
				s.rests = append(s.rests, last)
			}
			last, ended = i, false
		}
	}
	if last >= 0 {
		s.rests = append(s.rests, last)
	}
	return s
}

// hear takes the next samples of the unit, silence included. They are not kept.
func (s *sounding) hear(sound []float32) {
	for i, x := range sound {
		if g := (s.known + i) / s.grain; isAudible(x) && g < len(s.loud) {
			s.loud[g] = true
		}
	}
	before := s.known
	s.known += len(sound)
	for s.settled < len(s.rests) {
		at := &s.behind[s.rests[s.settled]]
		end, ok := s.silent(*at)
		if !ok {
			return
		}
		*at = max(end, before) // What had been made before has left, when it could not be known yet whether the sound would go on.
		s.settled++
	}
}

// silent returns the sample behind which the voice rests near at, and whether as much is known.
func (s *sounding) silent(at int) (int, bool) {
	in := func(d time.Duration) int { return int(d / grain) }
	all := s.known >= s.total
	known := s.known / s.grain
	if at/s.grain > known+in(restAhead) && !all {
		return 0, false
	}
	furthest := at/s.grain + in(restWithin)
	for end := min(furthest, known, len(s.loud)); end > max(0, at/s.grain-in(restAhead)); end-- {
		if !s.loud[end-1] {
			continue
		}
		if end == known && !all {
			if known < furthest {
				return 0, false // The sound goes on.
			}
			continue
		}
		quiet := end
		for quiet < min(known, end+in(restLasts)) && !s.loud[quiet] {
			quiet++
		}
		if quiet == min(known, end+in(restLasts)) {
			return end * s.grain, at <= s.known || all || quiet == end+in(restLasts)
		}
	}
	return at, at <= s.known || all
}

// close notes that the text's sound ends the unit at a sample.
func (s *sounding) close(at int) {
	for i := range s.behind {
		s.behind[i] = min(s.behind[i], at-s.from)
	}
	s.loud = nil
}

// end returns the sample of the text's sound behind a character, and whether it has been made.
func (s *sounding) end(character int) (int, bool) {
	if s.known >= s.total {
		return s.from + s.behind[character], true
	}
	if s.settled < len(s.rests) && character >= s.rests[s.settled] {
		return 0, false
	}
	return s.from + s.behind[character], s.behind[character] <= s.known
}
