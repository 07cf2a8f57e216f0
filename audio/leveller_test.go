package audio_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"riposte/audio"
	"riposte/audio/audiotest"
)

// step gives p to l in frames of 20 ms.
func step(l *audio.Leveller, speech float32, p audio.PCM) (out audio.PCM) {
	for f := range slices.Chunk(p, l.Rate/50) {
		out = append(out, l.Step(speech, f)...)
	}
	return out
}

// active returns the level of the speech in p without its pauses: the mean of the windows of 10 ms within 20 dB of the loudest ones.
func active(p audio.PCM, rate int) float64 {
	loudest, sum, n := math.Inf(-1), 0.0, 0
	for f := range slices.Chunk(p, rate/100) {
		loudest = max(loudest, f.Level())
	}
	for f := range slices.Chunk(p, rate/100) {
		if level := f.Level(); level > loudest-20 {
			sum += math.Pow(10, level/10)
			n++
		}
	}
	return 10 * math.Log10(sum/float64(n))
}

// talk returns speech of the project at a level, without pauses, in noise.
func talk(t testing.TB, name string, level, noise float64) audio.PCM {
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, c := range audiotest.Project(t) {
		if c.Name == name {
			p := c.At(t, 16000)
			from, to, _ := audio.Audible(p, 16000)
			p = slices.Concat(p[from:to], p[from:to], p[from:to])
			p = audiotest.Level(p, level+p.Level()-active(p, 16000))
			p = append(make(audio.PCM, 8000), p...)
			return audiotest.Mix(p, audiotest.Noise(rnd, len(p), noise))
		}
	}
	t.Fatal("no clip", name)
	return nil
}

// Speech of any level comes to the target within a second, with a VAD and without.
func TestLevellerReachesTarget(t *testing.T) {
	for _, name := range []string{"speech.flac", "lj_0008.flac", "question.flac"} {
		for _, level := range []float64{-50, -40, -26, -15, -8} {
			for _, noise := range []float64{-75, level - 22} {
				p := talk(t, name, level, noise)
				l := &audio.Leveller{Rate: 16000}
				out := step(l, 1, p)
				if len(out) != len(p) {
					t.Fatalf("%d samples became %d", len(p), len(out))
				}
				after := out[8000+16000:] // The speech begins after half a second.
				if got := active(after, 16000); math.Abs(got+26) > 2.5 {
					t.Errorf("%s at %v dBFS in noise at %v: %.1f dBFS after a second", name, level, noise, got)
				}
				if slices.Max(out) == 32767 || slices.Min(out) == -32768 {
					t.Errorf("%s at %v dBFS is clipped", name, level)
				}
			}
		}
	}
}

// Noise is left as it is: from the beginning, after speech, and as long as the VAD says that it is none.
func TestLevellerLeavesNoise(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	for _, level := range []float64{-70, -60, -50, -40, -30} {
		l := &audio.Leveller{Rate: 16000}
		p := audiotest.Noise(rnd, 10*16000, level)
		if got := step(l, 1, p).Level(); math.Abs(got-level) > 0.1 {
			t.Errorf("noise at %v dBFS became %.1f", level, got)
		}
	}
	l := &audio.Leveller{Rate: 16000}
	step(l, 1, talk(t, "speech.flac", -45, -75))
	before := l.Gain()
	step(l, 0.1, append(make(audio.PCM, 16000), audiotest.Noise(rnd, 10*16000, -40)...)) // A VAD knows it for noise.
	step(l, 1, audiotest.Noise(rnd, 10*16000, -40))                                      // And without one its evenness says so.
	if l.Gain() != before || before < 12 {
		t.Errorf("noise moved the gain from %.1f to %.1f dB", before, l.Gain())
	}
}

// The gain is bounded, moves slowly once it is settled, and never clips a sudden peak.
func TestLevellerBounds(t *testing.T) {
	l := &audio.Leveller{Rate: 16000}
	step(l, 1, talk(t, "speech.flac", -62, -90))
	if l.Gain() > 30 || l.Gain() < 25 {
		t.Errorf("very soft speech is raised by %.1f dB, want at most 30", l.Gain())
	}
	before := l.Gain()
	out := step(l, 1, audiotest.Tone(1600, 16000, 300, -6))
	if peak := max(slices.Max(out), -slices.Min(out)); peak > 29300 || peak < 20000 {
		t.Errorf("a sudden loud sound peaks at %d", peak)
	}
	if l.Gain() > before-10 {
		t.Errorf("the gain is still %.1f dB", l.Gain())
	}
	l = &audio.Leveller{Rate: 16000}
	step(l, 1, talk(t, "speech.flac", -26, -75))
	before = l.Gain()
	step(l, 1, talk(t, "speech.flac", -40, -75)[8000:8000+16000])
	if rose := l.Gain() - before; rose > 6 {
		t.Errorf("it rose by %.1f dB in a second", rose)
	}
}

// Digital silence stays what it is, whatever the gain.
func TestLevellerSilence(t *testing.T) {
	l := &audio.Leveller{}
	if out := l.Step(1, make(audio.PCM, 512)); !math.IsInf(out.Level(), -1) || len(out) != 512 {
		t.Error(out.Level())
	}
	if out := l.Step(1, nil); len(out) != 0 {
		t.Error(out)
	}
	if out := l.Step(0, audio.PCM{-32768, 32767}); out[0] != -32768 || out[1] != 32767 {
		t.Errorf("what is at full scale became %v", out)
	}
}

func BenchmarkLeveller(b *testing.B) {
	l, f := &audio.Leveller{}, audiotest.Tone(320, 16000, 300, -30)
	for b.Loop() {
		l.Step(1, f)
	}
}
