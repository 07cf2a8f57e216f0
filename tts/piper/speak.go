package piper

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"riposte/audio"
	"riposte/tts"
)

const (
	// usualPause is the silence between sentences, on top of what the voice leaves at the end of one.
	usualPause = 150 * time.Millisecond
	// minSpeed and maxSpeed bound the pace at which a voice still speaks.
	minSpeed, maxSpeed = 0.25, 4
)

// Speak implements tts.Synthesizer. The first chunk begins with sound, not with the silence that voices begin with; the
// silence behind a text that ends without a mark is short, since more is to come. When ctx ends, the operator at work is the
// last, which is a matter of a few milliseconds. What nobody awaits may end with budget.ErrPreempted or budget.ErrLate.
//
// A text that was spoken to its end before, at the same speed, is there at once and sounds as it did.
func (e *Engine) Speak(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		if err := e.enter(); err != nil {
			yield(nil, err)
			return
		}
		defer e.speaking.Done()
		if err := context.Cause(ctx); err != nil {
			yield(nil, err)
			return
		}
		text = tts.Normalize(text, e.voice.language())
		if text == "" {
			return
		}
		key := utteranceKey{text: text, speaker: e.speaker, scales: e.scales}
		key.scales[1] /= pace(o.Speed)
		if chunks, ok := e.spoken.get(key); ok {
			repeat(ctx, chunks, yield)
			return
		}
		r := e.spoken.record(key)
		if e.speakText(ctx, key, o, func(pcm audio.PCM, err error) bool {
			r.add(pcm)
			return yield(pcm, err)
		}) {
			e.spoken.put(r)
		}
	}
}

// repeat yields what was spoken before.
func repeat(ctx context.Context, chunks []audio.PCM, yield func(audio.PCM, error) bool) {
	for _, pcm := range chunks {
		if err := context.Cause(ctx); err != nil {
			yield(nil, err)
			return
		}
		if !yield(slices.Clone(pcm), nil) {
			return
		}
	}
}

// speakText yields the sound of a text. It reports whether all of it was spoken.
func (e *Engine) speakText(ctx context.Context, k utteranceKey, o tts.Options, yield func(audio.PCM, error) bool) bool {
	said, err := units(e.voice.Espeak.Voice, k.text)
	if err != nil {
		yield(nil, err)
		return false
	}
	by := &due{first: o.Urgency, rate: e.Rate()}
	speak := func(pcm audio.PCM) bool {
		by.add(len(pcm))
		return len(pcm) == 0 || yield(pcm, nil)
	}
	for i, u := range said {
		if i > 0 && said[i-1].sentence && !speak(make(audio.PCM, audio.Samples(e.pause(), e.Rate()))) {
			return false
		}
		r := request{scales: k.scales, speaker: k.speaker, due: by}
		var unknown int
		if r.ids, unknown = e.voice.ids(u.phonemes); unknown > 0 {
			e.unknown.Add(int64(unknown))
			e.Log.Debug("phonemes left out that the voice does not know", "count", unknown, "phonemes", u.phonemes)
		}
		if r.ids == nil {
			continue
		}
		quiet := silence{rate: e.Rate(), tail: u.open()}
		for sound, err := range e.net.speak(ctx, r) {
			if err != nil {
				if ctx.Err() == nil {
					err = fmt.Errorf("piper: speak: %w", err)
				}
				yield(nil, err)
				return false
			}
			if !speak(audio.FromFloats(quiet.trim(sound))) {
				return false
			}
		}
		if !speak(audio.FromFloats(quiet.rest())) {
			return false
		}
	}
	return true
}

// pause returns the silence between sentences.
func (e *Engine) pause() time.Duration {
	if e.Pause > 0 {
		return e.Pause
	}
	return usualPause
}

// pace returns a speed that can be spoken.
func pace(speed float32) float32 {
	if !(speed > 0) {
		return 1
	}
	return min(max(speed, minSpeed), maxSpeed)
}
