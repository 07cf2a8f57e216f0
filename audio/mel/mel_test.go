package mel

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"
)

func TestMelFilters(t *testing.T) {
	got := Filters()
	raw, _ := binary.Append(nil, binary.LittleEndian, got)
	// The hash of the filters that OpenAI published, as whisper.cpp's own model files carry them.
	sum := sha256.Sum256(raw)
	if want := "85818f156f7e189453901a515e4726d270d307f976e161cf9403e8caab405498"; hex.EncodeToString(sum[:]) != want {
		t.Errorf("the filters have the hash %x, want %s", sum, want)
	}
	for band := range Bands {
		filled := 0
		for _, w := range got[band*Bins : (band+1)*Bins] {
			if w < 0 || w > 0.026 {
				t.Errorf("band %d has the weight %v", band, w)
			}
			if w > 0 {
				filled++
			}
		}
		if filled == 0 {
			t.Errorf("band %d hears nothing", band)
		}
	}
}

// TestSpectrogram compares with the definition: a Fourier transform by its formula, of every frame.
func TestSpectrogram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	samples := make([]float32, 1234)
	for i := range samples {
		samples[i] = float32(0.3*math.Sin(float64(i)*0.2)*math.Exp(-float64(i)/400) + 0.001*r.NormFloat64())
	}
	m := NewMaker(NewBank(Filters()))
	m.Spectrogram(make([]float32, 999)) // what was made before leaves nothing behind
	got := m.Spectrogram(samples)
	frames := len(samples) / Hop
	if len(got) != Bands*frames {
		t.Fatalf("%d values, want %d", len(got), Bands*frames)
	}

	filters := Filters()
	want := make([]float64, len(got))
	most := math.Inf(-1)
	for f := range frames {
		var power [Bins]float64
		for k := range power {
			var sum complex128
			for i := range Window {
				n := f*Hop - Window/2 + i
				if n < 0 {
					n = -n
				}
				if n >= len(samples) {
					n = 2*len(samples) - 2 - n
				}
				hann := 0.5 * (1 - math.Cos(2*math.Pi*float64(i)/Window))
				sum += complex(float64(samples[n])*hann, 0) * cmplx.Rect(1, -2*math.Pi*float64(k*i)/Window)
			}
			power[k] = cmplx.Abs(sum) * cmplx.Abs(sum)
		}
		for b := range Bands {
			var e float64
			for k, p := range power {
				e += float64(filters[b*Bins+k]) * p
			}
			want[b*frames+f] = math.Log10(max(e, 1e-10))
			most = max(most, want[b*frames+f])
		}
	}
	for i, w := range want {
		if w = (max(w, most-8) + 4) / 4; math.Abs(w-float64(got[i])) > 1e-5 {
			t.Fatalf("band %d, frame %d is %v, want %v", i/frames, i%frames, got[i], w)
		}
	}
}

func BenchmarkSpectrogram(b *testing.B) {
	m, samples := NewMaker(NewBank(Filters())), make([]float32, 8*Rate)
	for i := range samples {
		samples[i] = float32(math.Sin(float64(i)))
	}
	for b.Loop() {
		m.Spectrogram(samples)
	}
}
