package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/tts"
)

// interjection is a sound that a caller makes over an answer without wanting the word.
type interjection struct {
	kind string // "cough", "hum", or "noise".
	name string
	pcm  audio.PCM
	rate int
}

// interjectionLevel is how loud they are, in dBFS over the audible part: as loud as a voice near its microphone.
const interjectionLevel = -24

// hums are what listeners say to show that they listen.
var hums = []string{"Mm-hmm.", "Uh-huh.", "Mm.", "Yeah.", "Okay.", "Right."}

// interjections returns n of them, of each kind as many: coughs that are made, hums that a voice speaks at another pitch than its own,
// and the loudest part of recorded noises.
func interjections(ctx context.Context, n int, noises []Clip, hum tts.Synthesizer, rnd *rand.Rand) ([]interjection, error) {
	kinds := []func() (interjection, error){
		func() (interjection, error) { return cough(rnd), nil },
	}
	if hum != nil {
		kinds = append(kinds, func() (interjection, error) { return humming(ctx, hum, hums[rnd.IntN(len(hums))], rnd) })
	}
	if len(noises) > 0 {
		kinds = append(kinds, func() (interjection, error) { return clatter(noises[rnd.IntN(len(noises))], rnd) })
	}
	var all []interjection
	for i := range n {
		x, err := kinds[i%len(kinds)]()
		if err != nil {
			return nil, err
		}
		x.pcm = atLevel(x.pcm, x.rate, interjectionLevel)
		all = append(all, x)
	}
	return all, nil
}

// cough makes one. It is no recording: a burst of noise when the glottis opens, softer noise while the air flows out, and in half of
// them a short voiced sound when it closes, all through the resonances of an open mouth; one to three in a row.
func cough(rnd *rand.Rand) interjection {
	const rate = audio.SpeechRate
	between := func(low, high float64) float64 { return low + (high-low)*rnd.Float64() }
	times := 1 + rnd.IntN(3)
	var all []float64
	for range times {
		burst, flow, voiced := between(0.03, 0.06), between(0.08, 0.2), 0.0
		if rnd.IntN(2) == 0 {
			voiced = between(0.05, 0.12)
		}
		pitch := between(110, 240)
		n := int((burst + flow + voiced) * rate)
		p := make([]float64, n)
		for i := range p {
			t := float64(i) / rate
			switch {
			case t < burst:
				p[i] = min(1, t/0.005) * rnd.NormFloat64()
			case t < burst+flow:
				p[i] = 0.35 * math.Exp(-3*(t-burst)/flow) * rnd.NormFloat64()
			default:
				u := (t - burst - flow) / voiced
				p[i] = 0.6 * math.Sin(math.Pi*u) * (2*math.Mod(t*pitch*(1-0.3*u), 1) - 1 + 0.2*rnd.NormFloat64())
			}
		}
		var shaped []float64
		for _, f := range []struct{ hz, gain float64 }{{between(550, 750), 1}, {between(1000, 1400), 0.7}, {between(2300, 2900), 0.5}} {
			r := resonate(p, f.hz, 180, rate)
			if shaped == nil {
				shaped = make([]float64, n)
			}
			for i := range r {
				shaped[i] += f.gain * r[i]
			}
		}
		all = append(all, shaped...)
		all = append(all, make([]float64, int(between(0.05, 0.2)*rate))...)
	}
	peak := 0.0
	for _, x := range all {
		peak = max(peak, math.Abs(x))
	}
	pcm := make(audio.PCM, len(all))
	for i, x := range all {
		pcm[i] = int16(16000 * x / peak)
	}
	return interjection{kind: "cough", name: fmt.Sprintf("%d in a row", times), pcm: pcm, rate: rate}
}

// resonate returns p through a resonance of a frequency and a bandwidth in hertz.
func resonate(p []float64, hz, width float64, rate int) []float64 {
	r := math.Exp(-math.Pi * width / float64(rate))
	a, b := 2*r*math.Cos(2*math.Pi*hz/float64(rate)), -r*r
	out := make([]float64, len(p))
	var y1, y2 float64
	for i, x := range p {
		y := (1-r)*x + a*y1 + b*y2
		out[i], y1, y2 = y, y, y1
	}
	return out
}

// humming has the voice say what a listener does. It is a third higher or lower than the voice speaks otherwise, and so faster or
// slower: it is to sound like somebody else.
func humming(ctx context.Context, voice tts.Synthesizer, text string, rnd *rand.Rand) (interjection, error) {
	x := interjection{kind: "hum", name: text, rate: voice.Rate()}
	for pcm, err := range voice.Speak(ctx, text, tts.Options{Urgency: budget.Urgency{}}) {
		if err != nil {
			return x, fmt.Errorf("%q: %w", text, err)
		}
		x.pcm = append(x.pcm, pcm...)
	}
	from, to, ok := audio.Audible(x.pcm, x.rate)
	if !ok {
		return x, fmt.Errorf("%q: the voice makes no sound of it", text)
	}
	x.pcm = x.pcm[from:to]
	third := 5.0 / 4
	if rnd.IntN(2) == 0 {
		third = 4.0 / 5
	}
	pcm, err := audio.Resample(x.pcm, int(float64(x.rate)*third), x.rate)
	x.pcm = pcm
	return x, err
}

// clatter returns the loudest third to two thirds of a second of a recording.
func clatter(c Clip, rnd *rand.Rand) (interjection, error) {
	pcm, rate, err := audio.ReadFile(c.File)
	if err != nil {
		return interjection{}, err
	}
	n := min(len(pcm), rate/3+rnd.IntN(rate/3))
	loudest, from := math.Inf(-1), 0
	for i := 0; i+n <= len(pcm); i += rate / 50 {
		if l := pcm[i : i+n].Level(); l > loudest {
			loudest, from = l, i
		}
	}
	out := slices.Clone(pcm[from : from+n])
	fade := audio.Samples(10*time.Millisecond, rate)
	for i := range min(fade, n/2) {
		out[i] = int16(int(out[i]) * i / fade)
		out[n-1-i] = int16(int(out[n-1-i]) * i / fade)
	}
	return interjection{kind: "noise", name: filepath.Base(c.File), pcm: out, rate: rate}, nil
}

// atLevel brings a sound to a level in dBFS, over those 10 ms of it that are within 30 dB of the loudest.
func atLevel(p audio.PCM, rate int, db float64) audio.PCM {
	window := rate / 100
	top := math.Inf(-1)
	for i := 0; i+window <= len(p); i += window {
		top = max(top, p[i:i+window].Level())
	}
	var loud audio.PCM
	for i := 0; i+window <= len(p); i += window {
		if w := p[i : i+window]; w.Level() > top-30 {
			loud = append(loud, w...)
		}
	}
	g := math.Pow(10, (db-loud.Level())/20)
	out := make(audio.PCM, len(p))
	for i, s := range p {
		out[i] = int16(max(-32768, min(32767, math.Round(float64(s)*g))))
	}
	return out
}

// firstVoiced returns the first sample of the first 10 ms window that audio.LastVoiced would take for voice.
func firstVoiced(p audio.PCM, rate int) int {
	backwards := slices.Clone(p)
	slices.Reverse(backwards)
	return len(p) - audio.LastVoiced(backwards, rate)
}
