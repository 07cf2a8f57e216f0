package piper

import (
	"context"
	"fmt"
	"iter"
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

// Speak implements tts.Synthesizer. The first chunk begins with sound, not with the silence that voices begin with. When ctx
// ends, the operator at work is the last, which is a matter of a few milliseconds.
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
		said, err := units(e.voice.Espeak.Voice, tts.Normalize(text, e.voice.language()))
		if err != nil {
			yield(nil, err)
			return
		}
		for i, u := range said {
			if i > 0 && said[i-1].sentence && !yield(make(audio.PCM, audio.Samples(e.pause(), e.Rate())), nil) {
				return
			}
			if !e.speakUnit(ctx, u, o, yield) {
				return
			}
		}
	}
}

// speakUnit yields the sound of one unit. It reports whether there is a point in going on.
func (e *Engine) speakUnit(ctx context.Context, u unit, o tts.Options, yield func(audio.PCM, error) bool) bool {
	r := request{scales: e.scales, speaker: e.speaker}
	r.scales[1] /= pace(o.Speed)
	var unknown int
	if r.ids, unknown = e.voice.ids(u.phonemes); unknown > 0 {
		e.unknown.Add(int64(unknown))
		e.Log.Debug("phonemes left out that the voice does not know", "count", unknown, "phonemes", u.phonemes)
	}
	if r.ids == nil {
		return true
	}
	lead := lead{rate: e.Rate()}
	for sound, err := range e.net.speak(ctx, r) {
		if err != nil {
			if ctx.Err() == nil {
				err = fmt.Errorf("piper: speak: %w", err)
			}
			yield(nil, err)
			return false
		}
		if sound = lead.trim(sound); len(sound) > 0 && !yield(audio.FromFloats(sound), nil) {
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
