package room

import (
	"math"

	"riposte/audio"
)

// Law is how a telephone line writes its samples.
type Law string

// The laws of G.711.
const (
	MuLaw Law = "mulaw" // In North America and Japan.
	ALaw  Law = "alaw"  // Elsewhere.
)

// Laws are all of them.
var Laws = []Law{MuLaw, ALaw}

// A telephone carries what lies between these, in hertz.
const (
	telephoneFrom = 300
	telephoneTo   = 3400
)

// taps is the length of the filter that leaves them: 32 ms, so that its edges fall off by 40 dB within some 100 Hz.
const taps = 257

// Telephone returns p, which is at rate hertz, as it comes from a telephone line: at audio.G711Rate, of the width of a telephone's band,
// through a law and back.
func Telephone(p audio.PCM, rate int, law Law) (audio.PCM, error) {
	p, err := audio.Resample(p, rate, audio.G711Rate)
	if err != nil {
		return nil, err
	}
	band := Convolve(p, telephoneBand())
	for i := range p {
		p[i] = int16(max(-32768, min(32767, math.Round(band[i+taps/2]))))
	}
	if law == ALaw {
		return audio.FromALaw(p.AppendALaw(nil)), nil
	}
	return audio.FromMuLaw(p.AppendMuLaw(nil)), nil
}

// telephoneBand returns the filter's impulse response: a sinc of each edge under Hamming's window.
func telephoneBand() []float64 {
	h := make([]float64, taps)
	const from, to = 2.0 * telephoneFrom / audio.G711Rate, 2.0 * telephoneTo / audio.G711Rate
	for i := range h {
		x := float64(i - taps/2)
		h[i] = (to*sinc(to*x) - from*sinc(from*x)) * (0.54 + 0.46*math.Cos(2*math.Pi*x/(taps-1)))
	}
	return h
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}
