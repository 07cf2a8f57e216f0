package mel

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Maker makes spectrograms. It must not be used by two goroutines at once; making one is cheap beside using it.
type Maker struct {
	fft     *fourier.FFT
	hann    [Window]float64
	bands   [Bands]band
	frame   [Window]float64
	bins    [Bins]complex128
	power   [Bins]float64
	reached float32 // The loudest value of the spectrogram that is being made.
}

// band is a filter without its zeros.
type band struct {
	from    int // The first bin.
	weights []float32
}

// NewMaker returns a Maker.
func NewMaker() *Maker {
	m := &Maker{fft: fourier.NewFFT(Window)}
	for i := range m.hann {
		m.hann[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/Window)
	}
	filters := Filters()
	for b := range m.bands {
		f := filters[b*Bins : (b+1)*Bins]
		from, to := 0, len(f)
		for from < to && f[from] == 0 {
			from++
		}
		for to > from && f[to-1] == 0 {
			to--
		}
		m.bands[b] = band{from, f[from:to]}
	}
	return m
}

// floor is the least power that counts, and depth how far below the loudest value a spectrogram reaches, in powers of ten.
const (
	floor = 1e-10
	depth = 8
)

// Spectrogram returns the log-mel spectrogram of samples at Rate, scaled as Whisper was trained with it: len(samples)/Hop
// frames, Bands rows of them, row by row. The frames are centred on multiples of Hop, and the sound is mirrored at its ends.
// There must be more than Window/2 samples.
func (m *Maker) Spectrogram(samples []float32) []float32 {
	frames := len(samples) / Hop
	out := make([]float32, Bands*frames)
	m.reached = float32(math.Inf(-1))
	for i := range frames {
		m.look(samples, i*Hop-Window/2)
		for b := range m.bands {
			v := float32(math.Log10(max(m.energy(b), floor)))
			out[b*frames+i] = v
			m.reached = max(m.reached, v)
		}
	}
	for i, v := range out {
		out[i] = (max(v, m.reached-depth) + 4) / 4
	}
	return out
}

// look takes the power spectrum of the Window samples from at on.
func (m *Maker) look(samples []float32, at int) {
	for i := range m.frame {
		n := at + i
		if n < 0 {
			n = -n
		} else if n >= len(samples) {
			n = 2*(len(samples)-1) - n
		}
		m.frame[i] = float64(samples[n]) * m.hann[i]
	}
	m.fft.Coefficients(m.bins[:], m.frame[:])
	for i, c := range m.bins {
		m.power[i] = real(c)*real(c) + imag(c)*imag(c)
	}
}

// energy returns what a band holds of the spectrum that was looked at.
func (m *Maker) energy(b int) float64 {
	f := m.bands[b]
	var sum float64
	for i, w := range f.weights {
		sum += float64(w) * m.power[f.from+i]
	}
	return sum
}
