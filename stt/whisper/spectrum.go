package whisper

import (
	"math"
	"math/cmplx"
)

// The shape of Whisper's spectrogram: a frame every 10 ms, of 25 ms of sound around its middle.
const (
	melStep  = 160
	melFrame = 400
	melBins  = melFrame/2 + 1
)

// filters are a model's mel bands: how much of each bin of a frame's power belongs to each.
type filters []band

// band is one of them. Its weights begin at bin from; all others are 0.
type band struct {
	from    int
	weights []float64
}

// newFilters takes the weights of a model file, melBins for each band.
func newFilters(weights []float32) filters {
	var f filters
	for ; len(weights) >= melBins; weights = weights[melBins:] {
		b := band{}
		for i, w := range weights[:melBins] {
			switch {
			case w == 0:
				continue
			case b.weights == nil:
				b.from = i
			}
			for b.from+len(b.weights) < i {
				b.weights = append(b.weights, 0)
			}
			b.weights = append(b.weights, float64(w))
		}
		f = append(f, b)
	}
	return f
}

// spectrum is the spectrogram of sound that grows at its end. What does not change any more is computed once.
type spectrum struct {
	filters filters
	frames  []float32 // Of the frames that are complete, one after the other, the logarithms of the bands' power.
}

// floor is the logarithm of the least power that is told from silence.
const floor = -10

// window returns the spectrogram of samples, which begin as those of the call before did, as whisper.cpp makes it: n frames,
// filled up with silence, band by band, scaled to what the model was trained on.
func (s *spectrum) window(samples []float32, n int) []float32 {
	bands := len(s.filters)
	for i := len(s.frames) / max(1, bands); i*melStep+melFrame/2 < len(samples); i++ {
		s.frames = s.filters.appendFrame(s.frames, samples, i)
	}
	frames := s.frames
	for i := len(s.frames) / max(1, bands); i*melStep-melFrame/2 < len(samples) && i < n; i++ {
		frames = s.filters.appendFrame(frames, samples, i) // Not complete: it is not kept.
	}
	s.frames = frames[:len(s.frames)]
	have := min(n, len(frames)/max(1, bands))
	top := float32(floor)
	for _, v := range frames[:have*bands] {
		top = max(top, v)
	}
	least := max(top-8, floor)
	w := make([]float32, n*bands)
	for b := range bands {
		row := w[b*n:][:n]
		for i := range row {
			v := least
			if i < have {
				v = max(v, frames[i*bands+b])
			}
			row[i] = (v + 4) / 4
		}
	}
	return w
}

// drop forgets the first n samples, which have to be whole steps.
func (s *spectrum) drop(n int) {
	s.frames = append(s.frames[:0:0], s.frames[min(len(s.frames), n/melStep*len(s.filters)):]...)
}

// appendFrame appends the bands of frame i. Before its beginning the sound is mirrored, behind its end there is silence.
func (f filters) appendFrame(to, samples []float32, i int) []float32 {
	var z, spectrum [melFrame / 2]complex128
	at := func(k int) float64 {
		if k < 0 {
			k = -k
		}
		if k >= len(samples) {
			return 0
		}
		return float64(samples[k])
	}
	start := i*melStep - melFrame/2
	if start >= 0 && start+melFrame <= len(samples) {
		for k, x := range samples[start:][:melFrame] {
			if k%2 == 0 {
				z[k/2] = complex(float64(x)*hann[k], 0)
			} else {
				z[k/2] += complex(0, float64(x)*hann[k])
			}
		}
	} else {
		for k := range z {
			z[k] = complex(at(start+2*k)*hann[2*k], at(start+2*k+1)*hann[2*k+1])
		}
	}
	transform(spectrum[:], z[:], 1)
	// Two real transforms lie in the one complex one: that of the even samples and that of the odd ones.
	var power [melBins]float64
	for k := range power {
		a, b := spectrum[k%len(spectrum)], cmplx.Conj(spectrum[(len(spectrum)-k)%len(spectrum)])
		even, odd := (a+b)/2, (a-b)/2
		x := even + complex(imag(odd), -real(odd))*roots[k]
		power[k] = real(x)*real(x) + imag(x)*imag(x)
	}
	for _, b := range f {
		var sum float64
		for k, w := range b.weights {
			sum += w * power[b.from+k]
		}
		to = append(to, float32(math.Log10(max(sum, 1e-10))))
	}
	return to
}

// transform writes the Fourier transform of every stride-th of src, as many as dst holds: 200 or a part of its factors.
func transform(dst, src []complex128, stride int) {
	n := len(dst)
	if n == 1 {
		dst[0] = src[0]
		return
	}
	r := 2
	if n%5 == 0 {
		r = 5
	}
	m := n / r
	for j := range r {
		transform(dst[j*m:][:m], src[j*stride:], stride*r)
	}
	var t [5]complex128
	for k := range m {
		t[0] = dst[k]
		for j := 1; j < r; j++ {
			t[j] = dst[j*m+k] * roots[2*stride*j*k]
		}
		if r == 2 {
			dst[k], dst[k+m] = t[0]+t[1], t[0]-t[1]
			continue
		}
		for q := range r {
			sum := t[0]
			for j := 1; j < r; j++ {
				sum += t[j] * roots[j*q%r*(melFrame/5)]
			}
			dst[k+q*m] = sum
		}
	}
}

// hann is the window that fades a frame in and out; roots are the 400 roots of unity, clockwise.
var hann, roots = func() (h [melFrame]float64, r [melFrame]complex128) {
	for i := range melFrame {
		angle := 2 * math.Pi * float64(i) / melFrame
		h[i] = (1 - math.Cos(angle)) / 2
		r[i] = cmplx.Rect(1, -angle)
	}
	return h, r
}()
