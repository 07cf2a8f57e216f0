package mel

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Maker makes spectrograms. It must not be used by two goroutines at once; making one is cheap beside using it.
type Maker struct {
	bank  Bank
	fft   *fourier.FFT
	frame [Window]float64
	bins  [Bins]complex128
	power [Bins]float64
	row   []float32 // The bands of the frame that is being laid out.
}

// NewMaker returns a Maker with a model's filters.
func NewMaker(b Bank) *Maker { return &Maker{bank: b, fft: fourier.NewFFT(Window)} }

// floor is the least power that counts, and depth how far below the loudest value a spectrogram reaches, in powers of ten.
const (
	floor = 1e-10
	depth = 8
)

// hann fades a frame in and out.
var hann = func() (h [Window]float64) {
	for i := range h {
		h[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/Window)
	}
	return h
}()

// AppendFrame appends the bands of one frame, as powers of ten: of the Window samples that at returns for 0 and up.
func (m *Maker) AppendFrame(to []float32, at func(i int) float32) []float32 {
	for i := range m.frame {
		m.frame[i] = float64(at(i)) * hann[i]
	}
	m.fft.Coefficients(m.bins[:], m.frame[:])
	for i, c := range m.bins {
		m.power[i] = real(c)*real(c) + imag(c)*imag(c)
	}
	for _, b := range m.bank {
		var sum float64
		for i, w := range b.Weights {
			sum += float64(w) * m.power[b.From+i]
		}
		to = append(to, float32(math.Log10(max(sum, floor))))
	}
	return to
}

// Spectrogram returns the log-mel spectrogram of samples at Rate, scaled as Whisper was trained with it: len(samples)/Hop
// frames, a row of them for each band, row by row. The frames are centred on multiples of Hop, and the sound is mirrored at
// its ends. There must be more than Window/2 samples.
func (m *Maker) Spectrogram(samples []float32) []float32 {
	frames := len(samples) / Hop
	out := make([]float32, len(m.bank)*frames)
	top := float32(math.Inf(-1))
	for i := range frames {
		start := i*Hop - Window/2
		m.row = m.AppendFrame(m.row[:0], func(k int) float32 {
			n := start + k
			if n < 0 {
				n = -n
			} else if n >= len(samples) {
				n = 2*(len(samples)-1) - n
			}
			return samples[n]
		})
		for b, v := range m.row {
			out[b*frames+i] = v
			top = max(top, v)
		}
	}
	for i, v := range out {
		out[i] = (max(v, top-depth) + 4) / 4
	}
	return out
}
