package piper

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"riposte/audio"
	"riposte/budget"
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
//
// The words are placed by the frames that the network gives their phonemes, and, where the voice rests behind one, by where its
// sound falls silent. A voice in whose graph these frames are not found never calls o.Words, which Open warns of.
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
		spoken := tts.Normalize(text, e.voice.language())
		key := utteranceKey{text: spoken, speaker: e.speaker, scales: e.scales}
		key.scales[1] /= pace(o.Speed)
		var before *kept
		if spoken != "" {
			before, _ = e.spoken.get(key)
		}
		if before != nil && o.Words == nil {
			repeat(ctx, before.chunks, yield)
			return
		}
		said, words, err := e.read(text, spoken, o)
		if err != nil {
			yield(nil, err)
			return
		}
		if before != nil {
			for _, s := range before.units {
				words.unit(s)
			}
			words.rest()
			repeat(ctx, before.chunks, yield)
			return
		}
		r := e.spoken.record(key)
		if e.speakText(ctx, said.units, key, o.Urgency, func(s *sounding) {
			r.note(s)
			words.unit(s)
		}, func(pcm audio.PCM, err error) bool {
			r.add(pcm)
			return yield(pcm, err)
		}) {
			words.rest()
			if o.Urgency.Class != budget.Background { // what callers hear is kept, and not what others have read to them
				e.spoken.put(r)
			}
		}
	}
}

// read turns a text into phonemes, and makes what tells its words where o wants to know them and the voice does.
func (e *Engine) read(text, spoken string, o tts.Options) (said reading, words *teller, err error) {
	if spoken != "" {
		if said, err = read(e.voice.Espeak.Voice, spoken); err != nil {
			return reading{}, nil, err
		}
	}
	if o.Words == nil || !e.net.timed {
		return said, nil, nil
	}
	words, err = newTeller(text, spoken, e.voice.language(), e.voice.Espeak.Voice, said, o.Words)
	return said, words, err
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

// speakText yields the sound of the units of a text, and notes where each lies in it, as far as that is known, ahead of each
// chunk. It reports whether all of it was spoken.
func (e *Engine) speakText(ctx context.Context, said []unit, k utteranceKey, first budget.Urgency, note func(*sounding), yield func(audio.PCM, error) bool) bool {
	by := &due{first: first, rate: e.Rate()}
	speak := func(pcm audio.PCM) bool {
		by.add(len(pcm))
		return len(pcm) == 0 || yield(pcm, nil)
	}
	for i, u := range said {
		if i > 0 && said[i-1].sentence && !speak(make(audio.PCM, audio.Samples(e.pause(), e.Rate()))) {
			return false
		}
		r := request{scales: k.scales, speaker: k.speaker, due: by}
		var behind []int
		var unknown int
		if r.ids, behind, unknown = e.voice.ids(u.phonemes); unknown > 0 {
			e.unknown.Add(int64(unknown))
			e.Log.Debug("phonemes left out that the voice does not know", "count", unknown, "phonemes", u.phonemes)
		}
		if r.ids == nil {
			continue
		}
		var at *sounding
		r.timed = func(samples []int) { at = newSounding(i, u.phonemes, behind, samples, e.Rate()) }
		quiet := silence{rate: e.Rate(), tail: u.open()}
		for sound, err := range e.net.speak(ctx, r) {
			if err != nil {
				if ctx.Err() == nil {
					err = fmt.Errorf("piper: speak: %w", err)
				}
				yield(nil, err)
				return false
			}
			if at != nil {
				at.hear(sound)
			}
			begun := quiet.begun
			part := quiet.trim(sound)
			if at != nil && quiet.begun {
				if !begun {
					at.from = by.played - quiet.taken
				}
				if at.known >= at.total {
					at.close(by.played + len(part) + quiet.left())
				}
				note(at)
			}
			if !speak(audio.FromFloats(part)) {
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
