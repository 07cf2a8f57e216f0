package audio

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"
)

var callRates = []int{8000, 16000, 22050, 24000, 44100, 48000}

// eachRatio runs f for every pair of callRates.
func eachRatio(t *testing.T, f func(t *testing.T, in, out int)) {
	t.Helper()
	needSpeex(t)
	for _, in := range callRates {
		for _, out := range callRates {
			t.Run(fmt.Sprintf("%d-%d", in, out), func(t *testing.T) { f(t, in, out) })
		}
	}
}

// openResampler opens one that is closed with the test.
func openResampler(t testing.TB, in, out int) *Resampler {
	t.Helper()
	r, err := OpenResampler(in, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestResampleConservesSamples(t *testing.T) {
	eachRatio(t, func(t *testing.T, in, out int) {
		r := openResampler(t, in, out)
		for _, n := range []int{0, 1, 7, 160, in / 50, in/3 + 1, 3*in + 11} {
			got := len(r.Write(tone(n, in, 300, 0.5))) + len(r.Flush())
			want := int(math.Round(float64(n) * float64(out) / float64(in)))
			if got != want {
				t.Errorf("%d samples became %d, want %d", n, got, want)
			}
		}
	})
}

func TestResampleInChunksIsTheSame(t *testing.T) {
	eachRatio(t, func(t *testing.T, in, out int) {
		rnd := rand.New(rand.NewPCG(uint64(in), uint64(out)))
		sound := make(PCM, in)
		for i := range sound {
			sound[i] = int16(rnd.IntN(1<<15) - 1<<14)
		}
		whole, err := Resample(sound, in, out)
		if err != nil {
			t.Fatal(err)
		}
		r := openResampler(t, in, out)
		for _, most := range []int{1, in / 50, in / 4} { // The same Resampler each time: Flush begins anew.
			var got PCM
			for rest := sound; len(rest) > 0; {
				n := min(len(rest), 1+rnd.IntN(most))
				got = append(got, r.Write(rest[:n])...)
				rest = rest[n:]
			}
			got = append(got, r.Flush()...)
			if !slices.Equal(got, whole) {
				t.Errorf("chunks of up to %d differ from the whole", most)
			}
		}
	})
}

// The filter is left alone in digital silence, and nobody can hear that.
func TestResampleThroughSilence(t *testing.T) {
	eachRatio(t, func(t *testing.T, in, out int) {
		rnd := rand.New(rand.NewPCG(uint64(in), uint64(out)))
		idle, busy := openResampler(t, in, out), openResampler(t, in, out)
		rested := 0
		for range 300 {
			p := make(PCM, in/50)
			switch rnd.IntN(8) {
			case 0:
				p = p[:1+rnd.IntN(len(p)-1)] // which moves the filter on by a part of a sample
			case 1:
				for i := range p {
					p[i] = int16(rnd.IntN(1<<15) - 1<<14)
				}
				clear(p[rnd.IntN(len(p)):])
			}
			busy.silent = math.MinInt
			rested = max(rested, idle.silent)
			if got, want := idle.Write(p), busy.Write(p); !slices.Equal(got, want) {
				t.Fatalf("after %d samples of silence: %d samples differ from %d", idle.silent, len(got), len(want))
			}
		}
		if got, want := idle.Flush(), busy.Flush(); !slices.Equal(got, want) {
			t.Error("the tail differs")
		}
		if in != out && rested < in/10 {
			t.Errorf("the longest silence was %d samples: too short to tell", rested)
		}
	})
}

func TestResampleKeepsToneInPlace(t *testing.T) {
	eachRatio(t, func(t *testing.T, in, out int) {
		const freq = 1000
		got, err := Resample(tone(in, in, freq, 0.5), in, out)
		if err != nil {
			t.Fatal(err)
		}
		want := tone(out, out, freq, 0.5)
		var signal, noise float64
		for i := out / 10; i < out*9/10; i++ { // Without the ends, where the tone is switched on and off.
			d := float64(got[i]) - float64(want[i])
			signal += float64(want[i]) * float64(want[i])
			noise += d * d
		}
		if snr := 10 * math.Log10(signal/noise); snr < 60 {
			t.Errorf("the tone is %.1f dB above its error, want 60: it is delayed, bent or clicks", snr)
		}
	})
}

func TestResampleRejectsAliases(t *testing.T) {
	needSpeex(t)
	for _, c := range []struct{ in, out int }{{24000, 16000}, {16000, 8000}, {24000, 8000}, {48000, 16000}, {44100, 16000}} {
		for freq := float64(c.out) / 2 * 1.2; freq < float64(c.in)/2; freq += 500 {
			got, err := Resample(tone(c.in, c.in, freq, 0.8), c.in, c.out)
			if err != nil {
				t.Fatal(err)
			}
			if level := got[c.out/10 : c.out*9/10].Level(); level > -60-5 { // The tone itself is at -5 dBFS.
				t.Errorf("%d->%d: %.0f Hz comes through at %.1f dBFS", c.in, c.out, freq, level)
			}
		}
	}
}

func TestResampleDelay(t *testing.T) {
	eachRatio(t, func(t *testing.T, in, out int) {
		r := openResampler(t, in, out)
		if d := r.Delay(); d < 0 || d > 4*time.Millisecond {
			t.Errorf("delay = %v, want at most 4 ms", d)
		}
		// What comes out lags behind what goes in by the delay, and by no more than one sample beside it.
		for i := 1; i <= 20; i++ {
			r.Write(make(PCM, in/50))
			lag := Duration(int(r.took), in) - Duration(int(r.gave), out)
			if off := lag - r.Delay(); off < -Duration(2, out) || off > Duration(2, out) {
				t.Fatalf("after %d frames it lags by %v, but the delay is %v", i, lag, r.Delay())
			}
		}
	})
}

func TestResampleEqualRatesCopies(t *testing.T) {
	r := openResampler(t, 24000, 24000)
	in := PCM{1, 2, 3}
	out := r.Write(in)
	in[0] = 99
	if want := (PCM{1, 2, 3}); !slices.Equal(out, want) || len(r.Flush()) != 0 || r.Delay() != 0 {
		t.Errorf("got %v, want %v, no tail and no delay", out, want)
	}
}

func TestResampleRefusesRates(t *testing.T) {
	for _, c := range []struct{ in, out int }{{0, 16000}, {16000, 0}, {-8000, 16000}, {16000, 1 << 20}, {0, 0}} {
		if r, err := OpenResampler(c.in, c.out); !errors.Is(err, ErrRate) || r != nil {
			t.Errorf("%d->%d: %v, want ErrRate", c.in, c.out, err)
		}
	}
}

func TestResamplerCloseTwice(t *testing.T) {
	needSpeex(t)
	r := openResampler(t, 8000, 16000)
	r.Write(make(PCM, 160))
	for range 2 {
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(r.Write(make(PCM, 160))) + len(r.Flush()); n != 0 {
		t.Errorf("%d samples after Close, want none", n)
	}
}

func TestResamplerForgottenIsFreed(t *testing.T) {
	needSpeex(t)
	forget := func() {
		for range 20 {
			for range 500 {
				if _, err := OpenResampler(44100, 8000); err != nil {
					t.Fatal(err)
				}
			}
			runtime.GC()
			time.Sleep(time.Millisecond) // Cleanups run beside the test.
		}
	}
	forget() // What the allocators keep for later use.
	before := resident(t)
	forget()
	// Each holds a few KB: 10000 that were not freed would be well above 50 MB.
	if grown := resident(t) - before; grown > 25<<20 {
		t.Errorf("10000 forgotten resamplers hold %d MB", grown>>20)
	}
}

func BenchmarkResample(b *testing.B) {
	needSpeex(b)
	for _, c := range []struct{ in, out int }{{24000, 16000}, {8000, 16000}, {22050, 24000}, {16000, 8000}, {24000, 8000}} {
		b.Run(fmt.Sprintf("%d-%d", c.in, c.out), func(b *testing.B) {
			r := openResampler(b, c.in, c.out)
			frame := tone(c.in/50, c.in, 440, 0.5)
			for b.Loop() {
				r.Write(frame)
			}
		})
	}
}
