package endpoint

import (
	"math"
	"testing"
)

// A voice that gets quieter at its end has fallen by as much, whatever its level; of a short one nothing is known.
func TestFallOf(t *testing.T) {
	const rate = 16000
	voice := func(seconds, amplitude, end float64) []int16 {
		pcm := make([]int16, int(seconds*rate))
		for i := range pcm {
			a := amplitude
			if i >= len(pcm)-rate*36/100 {
				a = end
			}
			pcm[i] = int16(a * math.Sin(float64(i)*0.05))
		}
		return pcm
	}
	for _, test := range []struct {
		name  string
		given []int16
		want  float64
	}{
		{"level", voice(2, 8000, 8000), 0},
		{"half", voice(2, 8000, 4000), 6},
		{"a tenth", voice(2, 8000, 800), 20},
		{"softly", voice(2, 800, 80), 20},
		{"louder", voice(2, 800, 8000), 0},
	} {
		if got := FallOf(test.given, rate); !got.known || math.Abs(got.db-test.want) > 0.5 {
			t.Errorf("%s: %v, want %v dB", test.name, got, test.want)
		}
	}
	if got := FallOf(voice(0.4, 8000, 800), rate); got.known {
		t.Errorf("of 400 ms: %v", got)
	}
	if got := FallOf(nil, rate); got.String() != "unknown" {
		t.Errorf("of nothing: %v", got)
	}
	if got := FallOf(make([]int16, rate), rate); got.db != 0 {
		t.Errorf("of silence: %v", got)
	}
}
