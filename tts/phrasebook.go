package tts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"riposte/audio"
	"riposte/budget"
)

// Phrasebook holds the sound of phrases that must be at hand at once, whatever the voice is doing then. It is safe for use by
// many calls.
type Phrasebook struct {
	Voice Synthesizer

	mu     sync.Mutex
	sounds map[string]audio.PCM
}

// Learn has the voice speak phrases, one after the other and as long as nobody else needs the cores. It returns the first error,
// or that there was nothing to be heard.
func (b *Phrasebook) Learn(ctx context.Context, phrases ...string) error {
	for _, text := range phrases {
		if _, _, ok := b.Phrase(text); ok || text == "" {
			continue
		}
		all, err := b.speak(ctx, text)
		for errors.Is(err, budget.ErrPreempted) {
			all, err = b.speak(ctx, text)
		}
		if err != nil {
			return fmt.Errorf("speak the phrase %q: %w", text, err)
		}
		from, ok := audio.FirstAudible(all, b.Voice.Rate())
		if !ok {
			return fmt.Errorf("speak the phrase %q: there is nothing to be heard", text)
		}
		b.mu.Lock()
		if b.sounds == nil {
			b.sounds = make(map[string]audio.PCM)
		}
		b.sounds[text] = slices.Clip(all[from:])
		b.mu.Unlock()
	}
	return nil
}

func (b *Phrasebook) speak(ctx context.Context, text string) (all audio.PCM, err error) {
	for pcm, err := range b.Voice.Speak(ctx, text, Options{Urgency: budget.Urgency{Class: budget.Speculative}}) {
		if err != nil {
			return nil, err
		}
		all = append(all, pcm...)
	}
	return all, nil
}

// Phrase returns the sound of a phrase, mono at rate Hz, which is audible from its beginning; ok is false where it was not
// learnt. The sound must not be changed.
func (b *Phrasebook) Phrase(text string) (sound audio.PCM, rate int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sound, ok = b.sounds[text]
	return sound, b.Voice.Rate(), ok
}
