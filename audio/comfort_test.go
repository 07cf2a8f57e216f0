package audio_test

import (
	"math"
	"slices"
	"testing"

	"riposte/audio"
	"riposte/audio/dtmf"
)

func TestComfortNoise(t *testing.T) {
	for _, rate := range []int{8000, 16000, 24000} {
		for _, level := range []float64{-70, -65, -50} {
			c := &audio.ComfortNoise{Rate: rate, Level: level}
			var p audio.PCM
			for len(p) < 10*rate {
				p = append(p, c.Next(rate/50)...)
			}
			if got := p.Level(); math.Abs(got-level) > 0.5 {
				t.Errorf("at %d Hz it is at %.1f dBFS, want %v", rate, got, level)
			}
			if got := audio.FromMuLaw(p.AppendMuLaw(nil)).Level(); math.Abs(got-level) > 2 {
				t.Errorf("by mu-law at %d Hz it is at %.1f dBFS, want %v", rate, got, level)
			}
			var sum float64
			for _, x := range p {
				sum += float64(x)
			}
			if mean := sum / float64(len(p)); math.Abs(mean) > 0.5 {
				t.Errorf("at %d Hz its mean is %v", rate, mean)
			}
			if got := (&dtmf.Detector{Rate: rate}).Take(p); len(got) > 0 {
				t.Errorf("keys are heard in it: %v", got)
			}
		}
	}
}

// It falls with frequency: neighbouring samples are alike.
func TestComfortNoiseShape(t *testing.T) {
	p := (&audio.ComfortNoise{Rate: 8000, Level: -40}).Next(80000)
	var beside, power float64
	for i := 1; i < len(p); i++ {
		beside += float64(p[i]) * float64(p[i-1])
		power += float64(p[i]) * float64(p[i])
	}
	if r := beside / power; r < 0.6 || r > 0.85 {
		t.Errorf("neighbours are alike by %.2f", r)
	}
}

func TestComfortNoiseSeed(t *testing.T) {
	next := func(c audio.ComfortNoise) audio.PCM { return slices.Concat(c.Next(100), c.Next(60)) }
	same := audio.ComfortNoise{}
	if !slices.Equal(next(audio.ComfortNoise{}), same.Next(160)) {
		t.Error("its pieces are not those of the whole")
	}
	if slices.Equal(next(audio.ComfortNoise{}), next(audio.ComfortNoise{Seed: 1})) {
		t.Error("another seed draws the same")
	}
}
