// Package audio holds sound and what is done to it before it has a meaning: samples, rates, codecs, files, pacing,
// levels and the decision whether somebody speaks. It knows nothing of calls, turns or engines.
package audio

import (
	"encoding/binary"
	"math"
	"time"
)

// SpeechRate is the rate, in hertz, at which callers are listened to: what Whisper and Silero take.
const SpeechRate = 16000

// PCM is mono sound as signed 16-bit samples. Its rate travels beside it.
type PCM []int16

// Duration returns how long p sounds at rate hertz.
func (p PCM) Duration(rate int) time.Duration {
	return Duration(len(p), rate)
}

// Duration returns how long n samples sound at rate hertz.
func Duration(n, rate int) time.Duration {
	return time.Duration(n) * time.Second / time.Duration(rate)
}

// Samples returns how many samples fill d at rate hertz, rounded down.
func Samples(d time.Duration, rate int) int {
	return int(d * time.Duration(rate) / time.Second)
}

// Level returns the RMS level of p in dBFS: 0 for a full-scale square wave, -Inf for digital silence or no samples.
func (p PCM) Level() float64 {
	if len(p) == 0 {
		return math.Inf(-1)
	}
	var sum float64
	for _, s := range p {
		sum += float64(s) * float64(s)
	}
	return 10 * math.Log10(sum/float64(len(p))/(32768*32768))
}

// AppendBytes appends p as little-endian signed 16-bit bytes to b and returns the result.
func (p PCM) AppendBytes(b []byte) []byte {
	for _, s := range p {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}

// FromBytes reads little-endian signed 16-bit samples. A last odd byte is left out: callers that must not lose it keep it.
func FromBytes(b []byte) PCM {
	p := make(PCM, len(b)/2)
	for i := range p {
		p[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return p
}

// AppendFloats appends p, scaled to -1..1, to f and returns the result.
func (p PCM) AppendFloats(f []float32) []float32 {
	for _, s := range p {
		f = append(f, float32(s)/32768)
	}
	return f
}

// FromFloats converts samples in -1..1; what lies outside is clipped.
func FromFloats(f []float32) PCM {
	p := make(PCM, len(f))
	for i, x := range f {
		p[i] = int16(max(-32768, min(32767, math.Round(float64(x)*32768))))
	}
	return p
}
