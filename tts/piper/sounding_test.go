package piper

import (
	"slices"
	"testing"

	"riposte/audio"
)

func TestRestsAreFoundInTheSound(t *testing.T) {
	ms := func(n int) int { return n * 16 }
	tone := func(lengths ...int) []float32 { // Sound and silence by turns.
		var x []float32
		for i, n := range lengths {
			x = append(x, slices.Repeat([]float32{0.1 * float32(1-i%2)}, ms(n))...)
		}
		return x
	}
	for _, tt := range []struct {
		name  string
		ends  []int // Of "a,b" in ms, and of the unit.
		sound []float32
		want  []int // Of a and b.
	}{
		{"where they are", []int{100, 300, 500, 600}, tone(100, 200, 200, 100), []int{100, 500}},
		{"earlier", []int{150, 300, 550, 600}, tone(100, 200, 200, 100), []int{100, 500}},
		{"later", []int{50, 300, 450, 600}, tone(100, 200, 200, 100), []int{100, 500}},
		{"lips that close", []int{150, 300, 500, 600}, tone(100, 40, 20, 140, 200, 100), []int{160, 500}},
		{"no rest", []int{100, 110, 500, 600}, tone(500, 100), []int{100, 500}},
		{"no silence at the end", []int{100, 300, 590, 600}, tone(100, 200, 300), []int{100, 600}},
	} {
		for _, window := range []int{len(tt.sound), ms(100), 1000} {
			samples := make([]int, len(tt.ends))
			for i, e := range tt.ends {
				samples[i] = ms(e)
			}
			s := newSounding(0, "a,b", []int{1, 2, 3}, samples, 16000)
			told := -1
			for w := range slices.Chunk(tt.sound, window) {
				s.hear(w)
				if _, ok := s.end(0); ok && told < 0 {
					told = s.known
				}
			}
			for i, character := range []int{0, 2} {
				got, ok := s.end(character)
				allowed := grain
				if window == 1000 {
					allowed += restLasts // As long as may have left before it was known that the voice rests.
				}
				if d := audio.Duration(distance(got, ms(tt.want[i])), 16000); !ok || d > allowed {
					t.Errorf("%s, windows of %d: %q ends at %d ms (%v), want %d", tt.name, window, "a,b"[character], got/16, ok, tt.want[i])
				}
			}
			if told > ms(tt.want[0])+window+audio.Samples(restWithin, 16000) {
				t.Errorf("%s, windows of %d: a is known at %d ms only", tt.name, window, told/16)
			}
		}
	}
}
