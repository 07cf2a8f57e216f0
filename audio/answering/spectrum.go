package answering

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/dsp/fourier"

	"riposte/audio"
)

// spectrum finds the strongest tone in windows of sound.
type spectrum struct {
	rate, window, hop int
	shape             []float64 // The window's weights (Hann), scaled so that the powers of all bins add up to that of the sound.
	fft               *fourier.FFT
	in                []float64
	bins              []complex128
}

// hum is the frequency in hertz below which nothing counts: what power lines leave in a telephone's sound.
const hum = 100

func newSpectrum(rate int) *spectrum {
	s := &spectrum{rate: rate, window: audio.Samples(window, rate), hop: audio.Samples(hop, rate)}
	s.fft, s.in, s.shape = fourier.NewFFT(s.window), make([]float64, s.window), make([]float64, s.window)
	var squares float64
	for i := range s.shape {
		s.shape[i] = 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/float64(s.window))
		squares += s.shape[i] * s.shape[i]
	}
	for i := range s.shape {
		s.shape[i] *= math.Sqrt(2/(squares*float64(s.window))) / 32768
	}
	return s
}

// peak returns the frequency, in hertz, of the strongest tone in w, its power and that of all of w, where 1 is that of a full-scale square wave.
func (s *spectrum) peak(w audio.PCM) (frequency, power, total float64) {
	for i, x := range w {
		s.in[i] = float64(x) * s.shape[i]
	}
	s.bins = s.fft.Coefficients(s.bins, s.in)
	size := func(k int) float64 { return cmplx.Abs(s.bins[k]) }
	first := hum*s.window/s.rate + 1
	top := first
	for k := first; k < len(s.bins)-1; k++ {
		total += size(k) * size(k)
		if size(k) > size(top) {
			top = k
		}
	}
	// Under Hann's window a tone fills the two bins on either side of the strongest one, and the larger neighbour says where between the two it lies.
	for k := max(first, top-2); k <= min(len(s.bins)-2, top+2); k++ {
		power += size(k) * size(k)
	}
	if size(top) == 0 {
		return 0, 0, total
	}
	beside, side := size(top+1), 1.0
	if top > 0 && size(top-1) > beside {
		beside, side = size(top-1), -1
	}
	r := beside / size(top)
	return (float64(top) + side*(2*r-1)/(1+r)) * float64(s.rate) / float64(s.window), power, total
}
