package room

import (
	"math"
	"math/rand/v2"
	"time"

	"gonum.org/v1/gonum/dsp/fourier"

	"riposte/audio"
)

// Room says what becomes of a loudspeaker's sound on its way to the microphone.
type Room struct {
	Delay  time.Duration // Of the direct sound.
	Gain   float64       // Of all that comes back, in dB against what was played.
	RT60   time.Duration // After which the reverberation has decayed by 60 dB.
	Direct float64       // How much louder the direct sound is than the walls', in dB.
	Noise  float64       // Level of the microphone's noise in dBFS; 0 means none.
	Seed   uint64        // Draws walls and noise.
}

// Echo carries one call's sound through a Room as it is played. It is a step function: it knows neither clocks nor goroutines, and
// must not be used by two goroutines at once.
type Echo struct {
	noise    float64
	rnd      *rand.Rand
	delayed  audio.PCM // What is on its way: the newest sound comes last.
	response []float64 // Until the size of a step is known.
	walls    *convolver
}

// Open returns the room's way of sound at rate hertz.
func (r Room) Open(rate int) *Echo {
	rnd := rand.New(rand.NewPCG(r.Seed, 7))
	e := &Echo{
		rnd:      rnd,
		delayed:  make(audio.PCM, audio.Samples(r.Delay, rate)),
		response: Response(rnd, rate, r.RT60.Seconds(), r.Direct),
	}
	gain := math.Pow(10, r.Gain/20)
	for i := range e.response {
		e.response[i] *= gain
	}
	if r.Noise != 0 {
		e.noise = 32768 * math.Pow(10, r.Noise/20)
	}
	return e
}

// Hear takes the next sound that is played and returns what the microphone hears meanwhile, which is as long. All steps have to be
// of the same length. The sound is the caller's.
func (e *Echo) Hear(played audio.PCM) audio.PCM {
	if e.walls == nil {
		e.walls = newConvolver(e.response, len(played))
	}
	e.delayed = append(e.delayed, played...)
	out := make(audio.PCM, len(played))
	for i, x := range e.walls.step(e.delayed[:len(played)]) {
		if e.noise > 0 {
			x += e.noise * e.rnd.NormFloat64()
		}
		out[i] = int16(max(-32768, min(32767, math.Round(x))))
	}
	e.delayed = append(e.delayed[:0], e.delayed[len(played):]...)
	return out
}

// convolver sends sound through an impulse response block by block, without delay: the response is cut into parts of a block's
// length, each of which is applied to the block that lies as far back.
type convolver struct {
	block int
	fft   *fourier.FFT
	parts [][]complex128 // Spectra of the response's parts,
	seen  [][]complex128 // and of the last blocks with the ones before them, the newest first.
	in    []float64      // The last two blocks.
	sum   []complex128
	out   []float64
}

func newConvolver(h []float64, block int) *convolver {
	c := &convolver{
		block: block, fft: fourier.NewFFT(2 * block), in: make([]float64, 2*block), sum: make([]complex128, block+1), out: make([]float64, 2*block),
	}
	for len(h) > 0 {
		part := make([]float64, 2*block)
		n := copy(part[:block], h)
		h = h[n:]
		c.parts = append(c.parts, c.fft.Coefficients(nil, part))
		c.seen = append(c.seen, make([]complex128, block+1))
	}
	return c
}

// step takes a block and returns what comes of it, which holds until the next step.
func (c *convolver) step(p audio.PCM) []float64 {
	copy(c.in, c.in[c.block:])
	for i, x := range p {
		c.in[c.block+i] = float64(x) / float64(2*c.block)
	}
	oldest := c.seen[len(c.seen)-1]
	copy(c.seen[1:], c.seen)
	c.seen[0] = c.fft.Coefficients(oldest, c.in)
	clear(c.sum)
	for k, part := range c.parts {
		for i, x := range c.seen[k] {
			c.sum[i] += x * part[i]
		}
	}
	return c.fft.Sequence(c.out, c.sum)[c.block:]
}
