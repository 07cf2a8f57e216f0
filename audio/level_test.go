package audio

import (
	"math"
	"slices"
	"testing"
)

// rms returns n samples whose level is db dBFS.
func rms(n int, db float64) PCM {
	p := make(PCM, n)
	for i := range p {
		p[i] = int16(math.Round(32768 * math.Pow(10, db/20)))
		if i%2 == 1 {
			p[i] = -p[i]
		}
	}
	return p
}

func TestFirstAudible(t *testing.T) {
	const rate = 16000 // A window is 160 samples.
	silence := make(PCM, 1600)
	for _, c := range []struct {
		name string
		p    PCM
		want int
		ok   bool
	}{
		{"nothing", nil, 0, false},
		{"silence", silence, 0, false},
		{"too soft", rms(3200, -51), 0, false},
		{"at once", rms(160, -49), 0, true},
		{"after silence", slices.Concat(silence, rms(800, -20)), 1600, true},
		{"within a window", slices.Concat(silence[:1590], rms(800, -20)), 1440, true},
		{"a click that is too small", slices.Concat(silence, PCM{1200}, silence), 0, false},
		{"a short last window that is loud", slices.Concat(silence, rms(40, -20)), 1600, true},
		{"a short last window too short for its level", slices.Concat(silence, rms(16, -45)), 0, false},
	} {
		if got, ok := FirstAudible(c.p, rate); got != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestAudible(t *testing.T) {
	const rate = 16000
	silence := make(PCM, 1600)
	for _, c := range []struct {
		name     string
		p        PCM
		from, to int
		ok       bool
	}{
		{"silence", silence, 0, 0, false},
		{"all of it", rms(1600, -20), 0, 1600, true},
		{"between silences", slices.Concat(silence, rms(800, -20), silence), 1600, 2400, true},
		{"with a pause", slices.Concat(silence, rms(160, -20), silence, rms(160, -40), silence), 1600, 3520, true},
		{"to an end within a window", slices.Concat(silence, rms(200, -20)), 1600, 1800, true},
	} {
		if from, to, ok := Audible(c.p, rate); from != c.from || to != c.to || ok != c.ok {
			t.Errorf("%s: %d to %d, %v, want %d to %d, %v", c.name, from, to, ok, c.from, c.to, c.ok)
		}
	}
}

func TestLastVoiced(t *testing.T) {
	const rate = 8000 // A window is 80 samples.
	silence := make(PCM, 800)
	for _, c := range []struct {
		name string
		p    PCM
		want int
	}{
		{"nothing", nil, 0},
		{"silence", silence, 0},
		{"below the floor", rms(800, -46), 0},
		{"to the end", rms(800, -20), 800},
		{"then silence", slices.Concat(rms(800, -20), silence), 800},
		{"rounded up to the window", slices.Concat(rms(810, -20), silence), 880},
		{"a soft end within 30 dB", slices.Concat(rms(800, -10), rms(160, -38), silence), 960},
		{"an echo more than 30 dB below", slices.Concat(rms(800, -10), rms(160, -42), silence), 800},
		{"a pause inside", slices.Concat(rms(800, -10), silence, rms(80, -20), silence), 1680},
		{"a last window that is not full", slices.Concat(rms(800, -10), rms(40, -20)), 840},
	} {
		if got := LastVoiced(c.p, rate); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
