package endpoint

import (
	"fmt"
	"math"
	"slices"
)

// Fall is how far, in dB, a voice has faded at its end, or nothing: its zero value is unknown. Talkers who go on keep their
// voice up, and those who have finished let it fall.
type Fall struct {
	known bool
	db    float64
}

// String returns the fall, with its unit.
func (f Fall) String() string {
	if !f.known {
		return "unknown"
	}
	return fmt.Sprintf("%.1f dB", f.db)
}

// fallen is the stretch at the end of speech, in steps of 10 ms, that is held against its loudest.
const fallen = 30

// FallOf returns how much quieter than the loudest of the speech its last 300 ms are. Speech is what was said of the turn so far,
// at rate samples a second, up to its last voiced sample. Of less than half a second nothing is known.
func FallOf(speech []int16, rate int) Fall {
	step := rate / 100
	n := len(speech) / max(step, 1)
	if n < 50 {
		return Fall{}
	}
	levels := make([]float64, n) // Of the 30 ms around each step.
	for i := range levels {
		end := len(speech) - (n-1-i)*step
		levels[i] = level(speech[max(0, end-2*step):min(len(speech), end+step)])
	}
	var last float64
	for _, l := range levels[n-fallen:] {
		last += l / fallen
	}
	slices.Sort(levels)
	return Fall{known: true, db: levels[n*95/100] - last}
}

// level returns the level of sound in dBFS, not below -90.
func level(sound []int16) float64 {
	var sum float64
	for _, x := range sound {
		sum += float64(x) * float64(x)
	}
	return max(-90, 10*math.Log10(sum/float64(max(1, len(sound)))/(1<<30)+1e-12))
}
