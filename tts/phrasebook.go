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

	mu      sync.Mutex
	phrases map[string]Phrase
}

// Phrase is a piece of speech that is at hand. It must not be changed.
type Phrase struct {
	Sound audio.PCM // Mono at Rate, and audible from its beginning.
	Rate  int       // Hertz.
	Words []Word    // Where the words of its text lie in Sound; none where the voice does not know.
}

// Learn has the voice speak phrases, one after the other and as long as nobody else needs the cores. It returns the first error,
// or that there was nothing to be heard.
func (b *Phrasebook) Learn(ctx context.Context, phrases ...string) error {
	for _, text := range phrases {
		if _, ok := b.Phrase(text); ok || text == "" {
			continue
		}
		p, err := b.speak(ctx, text)
		for errors.Is(err, budget.ErrPreempted) {
			p, err = b.speak(ctx, text)
		}
		if err != nil {
			return fmt.Errorf("speak the phrase %q: %w", text, err)
		}
		from, ok := audio.FirstAudible(p.Sound, p.Rate)
		if !ok {
			return fmt.Errorf("speak the phrase %q: there is nothing to be heard", text)
		}
		p.Sound = slices.Clip(p.Sound[from:])
		for i := range p.Words {
			p.Words[i].Heard = max(0, p.Words[i].Heard-from)
		}
		b.mu.Lock()
		if b.phrases == nil {
			b.phrases = make(map[string]Phrase)
		}
		b.phrases[text] = p
		b.mu.Unlock()
	}
	return nil
}

func (b *Phrasebook) speak(ctx context.Context, text string) (Phrase, error) {
	p := Phrase{Rate: b.Voice.Rate()}
	o := Options{Urgency: budget.Urgency{Class: budget.Speculative}, Words: func(w Word) { p.Words = append(p.Words, w) }}
	for pcm, err := range b.Voice.Speak(ctx, text, o) {
		if err != nil {
			return p, err
		}
		p.Sound = append(p.Sound, pcm...)
	}
	return p, nil
}

// Phrase returns a phrase; ok is false where it was not learnt.
func (b *Phrasebook) Phrase(text string) (p Phrase, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, ok = b.phrases[text]
	return p, ok
}
