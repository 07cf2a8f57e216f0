package answering

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"riposte/audio"
	"riposte/audio/audiotest"
)

// find gives p to b in pieces of random lengths and returns the beeps.
func find(rnd *rand.Rand, b Beeps, p audio.PCM) []Beep {
	var all []Beep
	for piece := range audiotest.Pieces(rnd, p, b.Rate/20) {
		all = append(all, b.Take(piece)...)
	}
	return append(all, b.Flush()...)
}

// lines are ways that sound of a telephone takes.
var lines = map[string]func(audio.PCM) audio.PCM{
	"linear": func(p audio.PCM) audio.PCM { return p },
	"mu-law": func(p audio.PCM) audio.PCM { return audio.FromMuLaw(p.AppendMuLaw(nil)) },
	"A-law":  func(p audio.PCM) audio.PCM { return audio.FromALaw(p.AppendALaw(nil)) },
}

func TestBeeps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for name, line := range lines {
		for _, rate := range []int{8000, 16000} {
			for _, level := range []float64{-6, -20, -35, -43} {
				for freq := 310.0; freq < 2500; freq *= 1.23 {
					for _, length := range []time.Duration{130 * time.Millisecond, 250 * time.Millisecond, time.Second} {
						lead := rate/2 + rnd.IntN(rate/10)
						p := append(make(audio.PCM, lead), audiotest.Tone(audio.Samples(length, rate), rate, freq, level)...)
						p = line(append(p, make(audio.PCM, rate/4)...))
						p = audiotest.Mix(p, audiotest.Noise(rnd, len(p), max(-75, level-18)))
						got := find(rnd, Beeps{Rate: rate}, p)
						at := audio.Duration(lead, rate)
						if len(got) != 1 || math.Abs(got[0].Frequency-freq) > 5 || math.Abs(got[0].Level-level) > 1.5 ||
							got[0].At < at-15*time.Millisecond || got[0].At > at+15*time.Millisecond ||
							got[0].Length < length-20*time.Millisecond || got[0].Length > length+20*time.Millisecond {
							t.Errorf("%s at %d Hz: %.0f Hz at %.0f dBFS for %v, from %v on: %+v", name, rate, freq, level, length, at, got)
						}
					}
				}
			}
		}
	}
}

func TestNoBeeps(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	const rate = 8000
	second := func(freq, level float64) audio.PCM { return audiotest.Tone(rate, rate, freq, level) }
	sweep := make(audio.PCM, rate)
	for i := range sweep {
		x := float64(i) / rate
		sweep[i] = int16(8000 * math.Sin(2*math.Pi*(500*x+300*x*x)))
	}
	for name, p := range map[string]audio.PCM{
		"silence": make(audio.PCM, rate), "noise": audiotest.Noise(rnd, rate, -20), "too short": audiotest.Tone(rate/12, rate, 1000, -20),
		"too soft": second(1000, -50), "too low": second(220, -20), "too high": second(2800, -20), "a key": audiotest.Mix(second(770, -20), second(1336, -20)),
		"a dial tone": audiotest.Mix(second(350, -20), second(440, -20)), "too long": audiotest.Tone(4*rate, rate, 425, -20), "a sweep": sweep,
		"a chord": audiotest.Mix(second(440, -20), second(660, -26)),
	} {
		if got := find(rnd, Beeps{Rate: rate}, p); len(got) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A beep goes on over a click, and is known before it ends.
func TestBeepSounding(t *testing.T) {
	p := append(audiotest.Tone(4000, 8000, 1400, -20), make(audio.PCM, 4000)...)
	p[2000], p[2001] = 30000, -30000
	b := Beeps{Rate: 8000}
	for at := 0; at < len(p); at += 160 {
		ended := b.Take(p[at : at+160])
		if now := at + 160; now > 1300 && now <= 4000 && (!b.Sounding() || len(ended) > 0) || now > 4600 && b.Sounding() {
			t.Errorf("after %d ms it sounds: %v; ended: %v", now/8, b.Sounding(), ended)
		}
	}
}

// No beep is heard in speech. The clips of music may have one: a trumpet's note can be as pure.
func TestNoBeepsInSpeech(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	var heard time.Duration
	for _, c := range audiotest.Corpus(t) {
		for _, rate := range []int{8000, 16000} {
			p := c.At(t, rate)
			if math.IsInf(p.Level(), -1) {
				continue
			}
			for name, line := range lines {
				heard += p.Duration(rate)
				if got := find(rnd, Beeps{Rate: rate}, line(p)); len(got) > 0 {
					t.Errorf("%s, %s (%s) at %d Hz: %+v", c.Name, name, c.Kind, rate, got)
				}
			}
		}
	}
	t.Logf("%v in all", heard.Round(time.Second))
}

func BenchmarkBeeps(b *testing.B) {
	for _, rate := range []int{8000, 16000} {
		b.Run(fmt.Sprint(rate), func(b *testing.B) {
			frame, d := audiotest.Tone(rate/50, rate, 700, -10), &Beeps{Rate: rate}
			for b.Loop() {
				d.Take(frame)
			}
		})
	}
}
