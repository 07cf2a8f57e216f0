package audio

import (
	"math/rand/v2"
	"testing"
)

func TestWindows(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	sound := make(PCM, 1000)
	for i := range sound {
		sound[i] = int16(i)
	}
	for _, w := range []Windows{{Length: 128, Hop: 32}, {Length: 10, Hop: 10}, {Length: 7, Hop: 1}, {Length: 2000, Hop: 5}} {
		for range 2 { // The same Windows each time: Reset begins anew.
			next := int64(0)
			for rest := sound; len(rest) > 0; {
				n := min(len(rest), rnd.IntN(200))
				for at, p := range w.Take(rest[:n]) {
					if at != next || len(p) != w.Length || p[0] != int16(at) || int(p[len(p)-1]) != int(at)+w.Length-1 {
						t.Fatalf("%d samples at %d, which begin with %d; want %d at %d", len(p), at, p[0], w.Length, next)
					}
					next += int64(w.Hop)
				}
				rest = rest[n:]
			}
			if want := int64(max(0, len(sound)-w.Length+w.Hop) / w.Hop * w.Hop); next != want {
				t.Errorf("windows of %d end before %d, want %d", w.Length, next, want)
			}
			w.Reset()
		}
	}
}
