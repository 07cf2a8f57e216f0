// Package room simulates what lies between a loudspeaker and a microphone: the way of the sound, the walls that throw it back,
// and some noise. It is for tests and benches of whoever has to tell an agent's voice from the caller's.
package room

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"

	"riposte/audio"
)

// wall is how much later than the direct sound the first reflection comes: the first wall is some metres away.
const wall = 2500 * time.Microsecond

// Response returns a room's impulse response, of unit energy, at rate hertz: the direct sound and noise that has decayed by 60
// dB after rt60 seconds. direct is how much louder, in dB, the direct sound is than all that the walls throw back.
func Response(rnd *rand.Rand, rate int, rt60, direct float64) []float64 {
	n := int(rt60 * float64(rate))
	h := make([]float64, n+1)
	var sum float64
	for i := audio.Samples(wall, rate); i <= n; i++ {
		h[i] = rnd.NormFloat64() * math.Pow(10, -3*float64(i)/float64(n))
		sum += h[i] * h[i]
	}
	tail := math.Sqrt(1 / sum)
	d := math.Pow(10, direct/20)
	norm := 1 / math.Sqrt(1+d*d)
	for i := range h {
		h[i] *= tail * norm
	}
	h[0] = d * norm
	return h
}

// Convolve returns p as it is heard through an impulse response: len(h) samples longer than p.
func Convolve(p audio.PCM, h []float64) []float64 {
	n := 1
	for n < len(p)+len(h) {
		n *= 2
	}
	fft := fourier.NewFFT(n)
	a, b := make([]float64, n), make([]float64, n)
	for i, x := range p {
		a[i] = float64(x) / float64(n)
	}
	copy(b, h)
	x, y := fft.Coefficients(nil, a), fft.Coefficients(nil, b)
	for i := range x {
		x[i] *= y[i]
	}
	return fft.Sequence(a, x)[:len(p)+len(h)]
}
