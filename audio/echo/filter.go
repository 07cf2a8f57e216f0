package echo

import "gonum.org/v1/gonum/dsp/fourier"

// filter learns how the agent's voice comes back, and takes it out of the near sound. It is a Kalman filter in the
// frequency domain, its response cut into partitions: number k answers the far sound of k hops before (Kuech, Mabande and
// Enzner, "State-space architecture of the partitioned-block-based acoustic echo controller", ICASSP 2014).
//
// Beside each coefficient it keeps how unsure it is of it. So it takes long steps at first, and hardly any while the caller
// speaks, since the near sound's own level is the noise that its measurements are made in: it needs nobody to tell it of
// double talk. What it removes of an echo, in dB, over five rooms and three voices, beside the echo canceller of libspeexdsp
// (whose high-pass counts against it while the caller speaks):
//
//	                            to 250 ms   to 500 ms   to 1 s   later   later, while the caller speaks
//	this filter                 2.9         4.9         7.7      16.2    11.9
//	speex behind the locator    1.3         4.8         5.8      13.2    0.8
//	speex with a tail of 0.5 s  0.9         2.0         2.3      7.2     -0.1
type filter struct {
	fft   *fourier.FFT
	far   [][]complex128 // Spectra of the last blocks of far sound, the newest at head.
	head  int
	w     [][]complex128 // The response.
	doubt [][]float64    // The variance of w.
	noise []float64      // The power of what the response does not explain.

	sum, err []complex128
	total    []float64
	time     []float64
	left     []float64
	turn     int // Which partitions were constrained.
}

// The values are the best of a search around those of the paper, by echo removed in the first second and later.
const (
	constant  = 0.999 // How much of the response's power is still true a hop later.
	noiseKeep = 0.65  // Smoothing of noise, per hop.
	prior     = 0.015 // The variance of the first partition's response before anything was heard.
	inTurn    = 7     // Every how many hops a partition is constrained. Each time would cost twice as much in all and gain nothing.
	priorFall = 0.65  // How it falls from partition to partition: rooms decay.
)

// newFilter returns a filter for reverberation of so many hops.
func newFilter(partitions int) *filter {
	f := &filter{
		fft: fourier.NewFFT(block), noise: make([]float64, bins), sum: make([]complex128, bins), err: make([]complex128, bins),
		total: make([]float64, bins), time: make([]float64, block), left: make([]float64, hop),
	}
	doubt := prior
	for k := range partitions {
		f.far = append(f.far, make([]complex128, bins))
		f.w = append(f.w, make([]complex128, bins))
		f.doubt = append(f.doubt, make([]float64, bins))
		for i := range f.doubt[k] {
			f.doubt[k][i] = doubt
		}
		doubt *= priorFall
	}
	return f
}

// at returns the far spectrum that partition k answers.
func (f *filter) at(k int) []complex128 { return f.far[(f.head+k)%len(f.far)] }

// push takes the next block of far sound: a hop that is new and the one before.
func (f *filter) push(far []float64) {
	f.head = (f.head + len(f.far) - 1) % len(f.far)
	f.fft.Coefficients(f.far[f.head], far)
}

// step returns a hop of near sound without what the far sound explains of it, and learns from the rest. The result holds
// until the next step.
func (f *filter) step(near []float64) []float64 {
	clear(f.sum)
	for k, w := range f.w {
		for i, x := range f.at(k) {
			f.sum[i] += w[i] * x
		}
	}
	f.fft.Sequence(f.time, f.sum)
	for i, x := range near {
		f.left[i] = x - f.time[hop+i]/block
	}
	f.learn(f.left)
	return f.left
}

// learn corrects the response by the error of its last guess.
func (f *filter) learn(err []float64) {
	clear(f.time[:hop])
	copy(f.time[hop:], err)
	f.fft.Coefficients(f.err, f.time)
	for i, e := range f.err {
		f.noise[i] = noiseKeep*f.noise[i] + (1-noiseKeep)*power(e)
		f.total[i] = f.noise[i] + 1e-9
	}
	for k, doubt := range f.doubt {
		for i, x := range f.at(k) {
			f.total[i] += doubt[i] * power(x) / 2 // Half of a block is the hop that was measured.
		}
	}
	for k, doubt := range f.doubt {
		w := f.w[k]
		for i, x := range f.at(k) {
			gain := doubt[i] / f.total[i]
			w[i] += complex(gain, 0) * conj(x) * f.err[i]
			doubt[i] = constant*(1-gain*power(x)/2)*doubt[i] + (1-constant)*power(w[i])
		}
	}
	f.turn = (f.turn + 1) % inTurn
	for k := f.turn; k < len(f.w); k += inTurn {
		f.constrain(f.w[k])
	}
}

// constrain cuts a partition's response to a hop: what lies beyond comes from the transform being a circle.
func (f *filter) constrain(w []complex128) {
	copy(f.sum, w) // Since Sequence may change what it is given.
	f.fft.Sequence(f.time, f.sum)
	for i := range hop {
		f.time[i] /= block
	}
	clear(f.time[hop:])
	f.fft.Coefficients(w, f.time)
}

// power returns the square of c's magnitude.
func power(c complex128) float64 { return real(c)*real(c) + imag(c)*imag(c) }

// conj returns c's conjugate.
func conj(c complex128) complex128 { return complex(real(c), -imag(c)) }
