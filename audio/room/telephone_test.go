package room

import (
	"math"
	"testing"

	"riposte/audio"
	"riposte/audio/audiotest"
)

func TestTelephone(t *testing.T) {
	for _, law := range Laws {
		for _, rate := range []int{8000, 16000, 24000} {
			for _, c := range []struct{ freq, least, most float64 }{
				{100, math.Inf(-1), -55}, {200, math.Inf(-1), -55}, {360, -21, -19.5}, {1000, -20.2, -19.8}, {3000, -20.2, -19.8}, {3340, -21, -19.5}, {3600, math.Inf(-1), -55},
				{5000, math.Inf(-1), -55}, {7000, math.Inf(-1), -55},
			} {
				if c.freq > float64(rate)/2 {
					continue
				}
				p, err := Telephone(audiotest.Tone(rate, rate, c.freq, -20), rate, law)
				if err != nil || len(p) != audio.G711Rate {
					t.Fatal(len(p), err)
				}
				if level := p[1000:7000].Level(); level < c.least || level > c.most {
					t.Errorf("%s at %d Hz: a tone of %.0f Hz comes at %.1f dBFS", law, rate, c.freq, level)
				}
			}
		}
	}
}

// The sound stays where it was.
func TestTelephoneIsNotLate(t *testing.T) {
	p, err := Telephone(append(make(audio.PCM, 4000), audiotest.Tone(4000, 8000, 1000, -20)...), 8000, MuLaw)
	if err != nil {
		t.Fatal(err)
	}
	if first, ok := audio.FirstAudible(p, 8000); !ok || math.Abs(float64(first-4000)) > 80 {
		t.Errorf("a tone that begins at 4000 is heard at %d", first)
	}
}
