package dtmf

import (
	"math"
	"math/cmplx"

	"riposte/audio"
)

// bank measures the eight tones in windows of sound, each by Goertzel's recurrence.
type bank struct {
	rate, window, hop int
	shape             []float64  // The window's weights (Hann): a tone leaks by less than -31 dB into one 268 Hz away, the nearest of the other four.
	sum, squares      float64    // Of the weights.
	turn              [8]float64 // By how much each tone goes on from one sample to the next, in radians,
	twice             [8]float64 // and twice the cosine of that.

	total  float64       // Power of the last window, where 1 is that of a full-scale square wave,
	power  [8]float64    // and that of the eight tones in it.
	tones  [8]complex128 // The tones, with their phases at the window's end,
	before [8]complex128 // and those in the window before; 0 where nobody looked.
}

// tone is one of the eight as it was found.
type tone struct {
	power float64 // As in bank.total.
	off   float64 // How far its frequency is off, as a share.
}

func newBank(rate int) *bank {
	b := &bank{rate: rate, window: audio.Samples(window, rate), hop: audio.Samples(hop, rate)}
	b.shape = make([]float64, b.window)
	for i := range b.shape {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/float64(b.window))
		b.shape[i] = w / 32768
		b.sum += w
		b.squares += w * w
	}
	for i, f := range append(lows[:], highs[:]...) {
		b.turn[i] = 2 * math.Pi * f / float64(rate)
		b.twice[i] = 2 * math.Cos(b.turn[i])
	}
	return b
}

// look measures a window. It returns false, and measures no tones, where the window is softer than floor.
func (b *bank) look(w audio.PCM, floor float64) bool {
	b.before = b.tones
	var mean, sum float64
	for _, x := range w {
		mean += float64(x)
	}
	mean /= float64(len(w))
	var last, older [8]float64
	for i, s := range w {
		x := (float64(s) - mean) * b.shape[i]
		sum += x * x
	}
	if b.total = sum / b.squares; b.total < floor {
		b.forget()
		return false
	}
	for i, s := range w {
		x := (float64(s) - mean) * b.shape[i]
		for k := range last {
			last[k], older[k] = x+b.twice[k]*last[k]-older[k], last[k]
		}
	}
	for k := range last {
		sin, cos := math.Sincos(b.turn[k])
		b.tones[k] = complex(last[k]-older[k]*cos, older[k]*sin)
		m := cmplx.Abs(b.tones[k]) / b.sum
		b.power[k] = 2 * m * m
	}
	return true
}

// tone returns the k-th of the eight, which is at f hertz where it is not off. How far its phase went on since the window before says how
// far it is off; a tone beside the middle of its filter is then made up for what it lost there.
func (b *bank) tone(k int, f float64) tone {
	if b.before[k] == 0 {
		return tone{off: math.Inf(1)}
	}
	went := cmplx.Phase(b.tones[k] * cmplx.Conj(b.before[k]) * cmplx.Rect(1, -b.turn[k]*float64(b.hop)))
	hertz := went / (2 * math.Pi) * float64(b.rate) / float64(b.hop)
	t := tone{power: b.power[k], off: hertz / f}
	if x := hertz * float64(b.window) / float64(b.rate); math.Abs(x) < 1 && x != 0 {
		kept := math.Sin(math.Pi*x) / (math.Pi * x) / (1 - x*x)
		t.power /= kept * kept
	}
	return t
}

// forget makes the next window the first one.
func (b *bank) forget() { b.tones = [8]complex128{} }
