package stub

import (
	"context"
	"iter"
	"time"

	"riposte/audio"
	"riposte/tts"
)

// Voice plays a recording for as long as the words would take to be said.
type Voice struct {
	Delays
	idle
	loop audio.PCM // The recording.
}

const (
	voiceRate = 22050                  // Hertz, as Piper's medium voices have it, so that the service has to resample.
	wordTakes = 330 * time.Millisecond // What a word takes, as those voices say them.
	chunk     = 250 * time.Millisecond // How much sound comes at a time.
)

// Rate returns the rate of the sound.
func (*Voice) Rate() int { return voiceRate }

// Speak plays the recording.
func (v *Voice) Speak(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		takes := wordTakes
		if o.Speed > 0 {
			takes = time.Duration(float64(wordTakes) / float64(o.Speed))
		}
		ends := wordEnds(text)
		word, told := audio.Samples(takes, voiceRate), 0
		next := time.Now().Add(v.TTS)
		for at, all := 0, len(ends)*word; at < all; {
			if err := until(ctx, next); err != nil {
				yield(nil, err)
				return
			}
			n := min(all-at, audio.Samples(chunk, voiceRate))
			for ; o.Words != nil && told < len(ends) && (told+1)*word <= at+n; told++ {
				o.Words(tts.Word{End: ends[told], Heard: (told + 1) * word})
			}
			from := at % len(v.loop)
			n = min(n, len(v.loop)-from)
			if !yield(v.loop[from:from+n:from+n], nil) {
				return
			}
			at += n
			next = next.Add(time.Duration(v.Pace * float64(audio.Duration(n, voiceRate))))
		}
	}
}

// wordEnds returns the bytes behind the words of a text.
func wordEnds(text string) (ends []int) {
	inside := false
	for i, r := range text {
		space := r == ' ' || r == '\n' || r == '\t'
		if space && inside {
			ends = append(ends, i)
		}
		inside = !space
	}
	if inside {
		ends = append(ends, len(text))
	}
	return ends
}
