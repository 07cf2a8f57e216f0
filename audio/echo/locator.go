package echo

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/dsp/window"
)

const (
	reach     = 34   // Hops of lag that are searched: 544 ms.
	whiten    = 0.7  // The power of a bin's magnitude that is divided out.
	crossKeep = 0.96 // Smoothing of the correlation, per hop: it remembers 0.4 s.

	// The bins that are used: 220 Hz to 3.4 kHz, what a telephone carries.
	lowBin  = 7
	highBin = 109
	used    = highBin - lowBin
)

// locator finds how late the agent's voice comes back, from the correlation of the near sound with the far sound at every
// lag. Both are whitened in part, so that a voice's pitch does not repeat the peak. The strength of a peak is counted in
// standard deviations of what chance would make of the same two sounds: that of unrelated speech stays below 5 and seldom
// reaches 7; that of an echo passes 7 after about a tenth of a second, and its lag is right to the sample.
type locator struct {
	fft    *fourier.FFT
	edge   []float64  // The window at both ends of a far block.
	hann   []float64  // The window of a near hop.
	far    []spectrum // Whitened, of the last blocks of far sound, the newest at head.
	head   int
	missed int // Hops of digital silence since near sound was last heard: their far sound is not in far yet.
	near   spectrum
	cross  []spectrum // The correlation's spectra, one for each hop of lag.
	chance []float64  // The variance that each would have if the sounds were unrelated.
	peaks  []float64  // Of the correlation in each hop of lag.
	time   []float64
	tmp    []complex128
}

// spectrum has the bins that are used. There are many, and half the precision is enough to find a peak.
type spectrum [used]complex64

// newLocator returns a locator that has heard nothing.
func newLocator() *locator {
	l := &locator{
		fft: fourier.NewFFT(block), far: make([]spectrum, reach), cross: make([]spectrum, reach), chance: make([]float64, reach),
		peaks: make([]float64, reach), time: make([]float64, block), tmp: make([]complex128, bins),
	}
	for i := range hop / 4 {
		l.edge = append(l.edge, (1-math.Cos(math.Pi*float64(i)/(hop/4)))/2)
	}
	for range hop {
		l.hann = append(l.hann, 1)
	}
	window.Hann(l.hann)
	return l
}

// reset forgets all sound.
func (l *locator) reset() {
	clear(l.far)
	clear(l.cross)
	clear(l.chance)
	l.missed = 0
}

// step takes the last hop of near sound, and what was played until now. Where nothing comes back, as from a microphone that is muted,
// there is nothing to be done until something does.
func (l *locator) step(near []float64, f *far) {
	if silence(near) {
		l.missed++
		return
	}
	if l.missed > 0 {
		l.fade(l.missed)
		for k := min(l.missed, reach-1); k > 0; k-- {
			l.push(f.behind(k * hop))
		}
		l.missed = 0
	}
	l.push(f.behind(0))
	clear(l.time[:hop])
	for i, x := range near {
		l.time[hop+i] = x * l.hann[i]
	}
	l.whiten(&l.near)
	heard := &l.near
	for j := range l.cross {
		far, cross := &l.far[(l.head+j)%reach], &l.cross[j]
		sum := float32(0)
		for i, x := range heard {
			f, c := far[i], cross[i]
			re, im := real(f)*real(x)+imag(f)*imag(x), real(f)*imag(x)-imag(f)*real(x)
			cross[i] = complex(crossKeep*real(c)+re, crossKeep*imag(c)+im)
			sum += re*re + im*im
		}
		l.chance[j] = crossKeep*crossKeep*l.chance[j] + 2*float64(sum)
	}
}

// push takes the next block of far sound.
func (l *locator) push(far []float64) {
	l.head = (l.head + reach - 1) % reach
	if silence(far) {
		clear(l.far[l.head][:])
		return
	}
	// Without the windows, whitening would make the edges of the blocks louder than the sound, and these correlate.
	copy(l.time, far)
	for i, w := range l.edge {
		l.time[i] *= w
		l.time[block-1-i] *= w
	}
	l.whiten(&l.far[l.head])
}

// fade lets the correlation grow old by some hops of near silence.
func (l *locator) fade(hops int) {
	keep := math.Pow(crossKeep, float64(hops))
	for j := range l.cross {
		l.chance[j] *= keep * keep
		for i := range l.cross[j] {
			l.cross[j][i] *= complex(float32(keep), 0)
		}
	}
}

// find returns the lag, in samples, at which the sounds correlate most, how much, and how much they do at another lag, more
// than a hop away: hums and pauses correlate everywhere.
func (l *locator) find() (lag int, strength, other float64) {
	for j := range l.cross {
		best, at := 0.0, 0
		if l.chance[j] > 0 {
			clear(l.tmp) // Sequence may have changed it.
			for i, c := range l.cross[j] {
				l.tmp[lowBin+i] = complex128(c)
			}
			l.fft.Sequence(l.time, l.tmp)
			for m, r := range l.time[:hop] {
				if r := math.Abs(r); r > best {
					best, at = r, m
				}
			}
			best /= math.Sqrt(l.chance[j])
		}
		l.peaks[j] = best
		if best > strength {
			lag, strength = j*hop+at, best
		}
	}
	for j, peak := range l.peaks {
		if j < lag/hop-1 || j > lag/hop+1 {
			other = max(other, peak)
		}
	}
	return lag, strength, other
}

// whiten takes the spectrum of the sound in time, whitens it in part, and keeps the bins that are used.
func (l *locator) whiten(s *spectrum) {
	l.fft.Coefficients(l.tmp, l.time)
	for i, c := range l.tmp[lowBin:highBin] {
		if p := power(c); p > 0 {
			s[i] = complex64(c * complex(math.Pow(p, -whiten/2), 0))
		} else {
			s[i] = 0
		}
	}
}
