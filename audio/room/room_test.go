package room

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"riposte/audio"
)

const (
	rate = 24000
	step = rate / 50
)

// noise returns n samples of noise at -20 dBFS.
func noise(n int, seed uint64) audio.PCM {
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := make(audio.PCM, n)
	for i := range p {
		p[i] = int16(3277 * rnd.NormFloat64())
	}
	return p
}

// hear plays p in a room step by step.
func hear(r Room, p audio.PCM) (out audio.PCM) {
	e := r.Open(rate)
	for ; len(p) >= step; p = p[step:] {
		out = append(out, e.Hear(p[:step])...)
	}
	return out
}

func TestResponseHasUnitEnergyAndDecays(t *testing.T) {
	h := Response(rand.New(rand.NewPCG(1, 2)), rate, 0.4, 3)
	energy := func(h []float64) (sum float64) {
		for _, x := range h {
			sum += x * x
		}
		return sum
	}
	if got := energy(h); math.Abs(got-1) > 1e-9 {
		t.Errorf("energy %v, want 1", got)
	}
	if got := 10 * math.Log10(energy(h[:1])/energy(h[1:])); math.Abs(got-3) > 1e-6 {
		t.Errorf("the direct sound is %v dB louder than the rest, want 3", got)
	}
	// 60 dB in 0.4 s are 15 dB in each tenth of a second.
	tenth := rate / 10
	if got := 10 * math.Log10(energy(h[tenth:2*tenth])/energy(h[2*tenth:3*tenth])); math.Abs(got-15) > 1.5 {
		t.Errorf("it decays by %v dB in 100 ms, want 15", got)
	}
}

func TestEchoIsTheConvolutionDelayed(t *testing.T) {
	r := Room{Delay: 137 * time.Millisecond, Gain: -12, RT60: 300 * time.Millisecond, Direct: 2, Seed: 5}
	p := noise(rate, 3)
	got := hear(r, p)
	h := Response(rand.New(rand.NewPCG(5, 7)), rate, 0.3, 2)
	want := Convolve(p, h)
	late := audio.Samples(r.Delay, rate)
	for i, x := range got {
		y := 0.0
		if i >= late {
			y = want[i-late] * math.Pow(10, -12.0/20)
		}
		if math.Abs(float64(x)-y) > 1 {
			t.Fatalf("sample %d is %d, want %.1f", i, x, y)
		}
	}
	if len(got) != len(p) {
		t.Errorf("%d samples, want %d", len(got), len(p))
	}
}

func TestEchoHasItsLevelAndNoise(t *testing.T) {
	r := Room{Delay: 80 * time.Millisecond, Gain: -12, RT60: 200 * time.Millisecond, Noise: -60}
	out := hear(r, noise(2*rate, 4))
	if got := out[rate:].Level(); math.Abs(got-(-20-12)) > 0.5 {
		t.Errorf("an echo of %.1f dBFS, want -32", got)
	}
	if got := out[:audio.Samples(r.Delay, rate)].Level(); math.Abs(got-(-60)) > 0.5 {
		t.Errorf("%.1f dBFS before the echo, want noise of -60", got)
	}
	r.Noise = 0
	if out := hear(r, make(audio.PCM, rate)); !math.IsInf(out.Level(), -1) {
		t.Errorf("silence comes back with %.1f dBFS", out.Level())
	}
}
