package bench

import (
	"context"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/tts"
)

// Voice returns a voice that has the injector's faults.
func (i *Injector) Voice(v tts.Synthesizer) tts.Synthesizer { return faultyVoice{v, i} }

type faultyVoice struct {
	tts.Synthesizer
	faults *Injector
}

// Speak speaks as the voice does.
func (v faultyVoice) Speak(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		kind, what := v.faults.strike(budget.TTS)
		if kind == Garbage {
			babble(len(text), v.Rate(), what, yield)
			return
		}
		if err := v.faults.stumble(ctx, kind); err != nil {
			yield(nil, err)
			return
		}
		v.Synthesizer.Speak(ctx, text, o)(yield)
	}
}

// letterTakes is how long a letter is spoken.
const letterTakes = time.Second / 16

// babble yields, as long as so many letters take, what is no speech.
func babble(letters, rate int, what Rubbish, yield func(audio.PCM, error) bool) {
	if what == Mute {
		return
	}
	pcm := make(audio.PCM, audio.Samples(time.Duration(letters)*letterTakes, rate))
	if what == Noise {
		for i := range pcm {
			pcm[i] = int16(rand.Uint32())
		}
	}
	for chunk := range slices.Chunk(pcm, rate/5) {
		if !yield(chunk, nil) {
			return
		}
	}
}
