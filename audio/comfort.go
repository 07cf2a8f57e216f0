package audio

import (
	"cmp"
	"math"
	"math/rand/v2"
)

// ComfortNoise makes soft noise like that of a quiet room, for when there is nothing else to be heard: on a line that is dead silent callers think
// that nobody is there. As in ITU-T G.711's appendix II it is random, of a set level and a set shape; the shape here is that of rooms, whose noise
// becomes softer by some 5 dB with each octave. The zero value is ready to use. It must not be used by two goroutines at once.
type ComfortNoise struct {
	Rate  int     // Hertz. It defaults to SpeechRate.
	Level float64 // In dBFS. It defaults to -65, which is heard as a line that is open, and not as noise.
	Seed  uint64  // Draws the noise.

	rnd   *rand.Rand
	scale float64    // Of the random numbers, so that the noise has its level.
	last  [2]float64 // Of the two filters.
}

// Between these frequencies, in hertz, the noise falls; below, where telephones carry nothing, there is none.
const (
	comfortFrom = 100
	comfortTo   = 400
)

// Next returns the next n samples.
func (c *ComfortNoise) Next(n int) PCM {
	rate := float64(cmp.Or(c.Rate, SpeechRate))
	soften, block := math.Exp(-2*math.Pi*comfortTo/rate), 1-math.Exp(-2*math.Pi*comfortFrom/rate)
	step := func(x float64) float64 {
		c.last[0] = x + soften*c.last[0]
		c.last[1] += block * (c.last[0] - c.last[1])
		return c.last[0] - c.last[1]
	}
	if c.rnd == nil {
		c.rnd = rand.New(rand.NewPCG(c.Seed, 1))
		power := 0.0 // Of the filters' answer to a single sample, which is the noise's by each random number.
		for i := range int(rate / 10) {
			x := 0.0
			if i == 0 {
				x = 1
			}
			y := step(x)
			power += y * y
		}
		c.scale, c.last = 32768*math.Pow(10, cmp.Or(c.Level, -65)/20)/math.Sqrt(power), [2]float64{}
	}
	p := make(PCM, n)
	for i := range p {
		p[i] = int16(max(-32768, min(32767, math.Round(step(c.scale*c.rnd.NormFloat64())))))
	}
	return p
}
