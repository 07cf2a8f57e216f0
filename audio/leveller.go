package audio

import (
	"cmp"
	"math"
)

// Leveller brings the speech of somebody who is too soft or too loud, as many are by telephone, to one level. It does so by a gain that changes
// slowly, and only while somebody speaks: noise in pauses neither moves it nor is moved by it. No sample is clipped, and none is delayed.
//
// It helps the voice detection more than the recogniser: soft speech falls below gates and into pieces there (docs/sound.md has figures). So it
// belongs before both.
//
// It is a step function for one talker's sound. Settings may be changed between steps; the zero value is ready to use. It must not be used by two
// goroutines at once.
type Leveller struct {
	Rate     int     // Hertz. It defaults to SpeechRate.
	Target   float64 // Level of speech, without its pauses, in dBFS. It defaults to -26, what telephone networks are made for.
	MostGain float64 // In dB. It defaults to 30.
	MostLoss float64 // In dB. It defaults to 20.
	Gate     float64 // Sound below this level in dBFS is no speech. It defaults to -65.
	Above    float64 // By how many dB speech is louder than the noise, at the least. It defaults to 9.
	Settled  float64 // By how many dB the gain may rise in a second once it is settled. It defaults to 6.

	gain   float64 // Of the last sample, in dB.
	level  float64 // Mean power of speech, where 1 is that of a full-scale square wave.
	spoken float64 // How much speech has been heard, in seconds.
	floor  floor
}

// A talker's level is the mean over this much of speech, in seconds; a few syllables are enough for a first guess.
const remembered = 3

// hurry is by how many dB a second the gain falls, and rises in the first second of speech: 24 dB, for somebody at -50 dBFS, within that second,
// pauses in it included.
const hurry = 45

// crest is the largest sample that is left as it is when the gain is raised: 1 dB below full scale.
const crest = 29200

// Step takes the next frame, of any length, and returns it at its new level: a copy. speech is the probability that a VAD gave for speech in it.
// Before the VAD it is 1: then what is louder than the softest sound of the last second and a half counts as speech.
func (l *Leveller) Step(speech float32, frame PCM) PCM {
	rate := cmp.Or(l.Rate, SpeechRate)
	out := make(PCM, 0, len(frame))
	n := Samples(levelWindow, rate)
	for len(frame) > 0 {
		p := frame[:min(n, len(frame))]
		frame = frame[len(p):]
		before := l.gain
		l.hear(speech, p, float64(len(p))/float64(rate))
		out = l.raise(out, p, before)
	}
	return out
}

// Gain returns the gain in dB that the last sample was given.
func (l *Leveller) Gain() float64 { return l.gain }

// hear moves the gain by what p, which lasts for some seconds, says of the talker's level.
func (l *Leveller) hear(speech float32, p PCM, seconds float64) {
	level := p.Level()
	noise := l.floor.step(level, seconds)
	if speech < 0.5 || level < cmp.Or(l.Gate, -65) || level < noise+cmp.Or(l.Above, 9) {
		return
	}
	l.spoken += seconds
	l.level += (math.Pow(10, level/10) - l.level) * seconds / min(l.spoken, remembered)
	want := cmp.Or(l.Target, -26) - 10*math.Log10(l.level)
	want = max(-cmp.Or(l.MostLoss, 20), min(cmp.Or(l.MostGain, 30), want))
	rise := cmp.Or(l.Settled, 6)
	if l.spoken <= 1 {
		rise = hurry
	}
	l.gain = max(l.gain-hurry*seconds, min(l.gain+rise*seconds, want))
}

// raise appends p to out, with a gain that goes from what it was before to what it is now. A peak that would be clipped lowers it at once: a step
// in loud sound is heard less than clipping.
func (l *Leveller) raise(out, p PCM, before float64) PCM {
	peak := 0.0
	for _, x := range p {
		peak = max(peak, math.Abs(float64(x)))
	}
	if most := 20 * math.Log10(max(crest, peak)/max(1, peak)); most < max(before, l.gain) {
		before, l.gain = min(before, most), min(l.gain, most)
	}
	from, to := math.Pow(10, before/20), math.Pow(10, l.gain/20)
	for i, x := range p {
		g := from + (to-from)*float64(i+1)/float64(len(p))
		out = append(out, int16(max(-32768, min(32767, math.Round(g*float64(x))))))
	}
	return out
}

// floor follows the level of the noise: the softest sound of the last second and a half.
type floor struct {
	started bool
	softest [5]float64 // In each of five stretches, the present one first,
	into    float64    // and how many seconds of that have gone.
	smooth  float64    // The level in dBFS, smoothed so that chance does not make it soft.
}

// stretch is how long each of a floor's stretches is, in seconds.
const stretch = 0.3

// step takes the level of the next sound and returns that of the noise, both in dBFS.
func (f *floor) step(level, seconds float64) float64 {
	level = max(level, -100) // Digital silence is as soft as can be told.
	if !f.started {
		f.started, f.smooth = true, level
		for i := range f.softest {
			f.softest[i] = level
		}
	}
	f.smooth += (level - f.smooth) * min(1, seconds/0.03)
	if f.into += seconds; f.into > stretch {
		copy(f.softest[1:], f.softest[:])
		f.softest[0], f.into = f.smooth, 0
	}
	f.softest[0] = min(f.softest[0], f.smooth)
	noise := f.softest[0]
	for _, s := range f.softest {
		noise = min(noise, s)
	}
	return noise
}
