package echo

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"
)

// edges are the bins between which the bands of a spectrum lie: 250 Hz to 3.4 kHz, wider towards the top, as hearing has
// them.
var edges = [...]int{8, 11, 14, 17, 20, 24, 28, 33, 38, 44, 50, 57, 64, 73, 83, 95, 109}

const bandCount = len(edges) - 1

// bands holds a level in dB for each band.
type bands [bandCount]float64

// silent is the least level, in dBFS, that a band can have.
const silent = -100

// all returns bands of one level.
func all(level float64) (b bands) {
	for i := range b {
		b[i] = level
	}
	return b
}

// meter measures the levels of bands.
type meter struct {
	fft    *fourier.FFT
	window []float64
	time   []float64
	freq   []complex128
}

// newMeter returns a meter.
func newMeter() *meter {
	m := &meter{fft: fourier.NewFFT(block), time: make([]float64, block), freq: make([]complex128, bins)}
	for range block {
		m.window = append(m.window, 1)
	}
	window.Hann(m.window)
	return m
}

// of returns the levels of a block, in dBFS.
func (m *meter) of(p []float64) (b bands) {
	sound := false
	for i, x := range p {
		m.time[i] = x * m.window[i]
		sound = sound || x != 0
	}
	if !sound { // as nearly always where nothing is played
		return all(silent)
	}
	m.fft.Coefficients(m.freq, m.time)
	for k := range b {
		sum := 0.0
		for _, c := range m.freq[edges[k]:edges[k+1]] {
			sum += power(c)
		}
		// Twice for the negative frequencies, 8/3 for what the window takes away.
		b[k] = max(silent, 10*math.Log10(sum*2*8/3/(block*block)+1e-12))
	}
	return b
}
