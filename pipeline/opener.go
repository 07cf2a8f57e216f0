package pipeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/tts"
)

// Phrases are short pieces of speech that are at hand at once. They are safe for use by many calls.
type Phrases interface {
	// Phrase returns the speech of a text; ok is false where it is not at hand.
	Phrase(text string) (p tts.Phrase, ok bool)
}

// openerLead is how long before the budget's end an opener is sent: what a busy machine may take to send it.
const openerLead = 40 * time.Millisecond

// late returns the turn whose answer is waited for, and when it will be too late without an opener; nil when there is none, or
// when there is nothing to open with.
func (p *player) late() (t *turn, due time.Time) {
	if p.Phrases == nil {
		return nil, time.Time{}
	}
	answers := p.live.answering()
	if len(answers) == 0 {
		return nil, time.Time{}
	}
	t = answers[0] // those behind it wait until it has been heard
	if p.answering != nil && p.answering != t {
		return nil, time.Time{} // it was interrupted, and its end is still on its way
	}
	if t.settings.Written {
		return nil, time.Time{}
	}
	if p.Waiting.After > 0 && len(p.Waiting.Phrases) > 0 && len(p.running) > 0 && (t.opened || t.wasAudible()) {
		return t, p.quiet.Add(p.Waiting.After)
	}
	if len(p.Openers) == 0 || t.settings.Plan.Observe || t.opened || t.line != "" || t.wasAudible() {
		return nil, time.Time{}
	}
	return t, t.clock.Due(t.settings.Plan, budget.TTS).Add(-openerLead)
}

// wasAudible reports whether something of the answer was to be heard.
func (t *turn) wasAudible() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.audible.IsZero()
}

// fill says something, so that the caller is not left in silence.
func (p *player) fill(ctx context.Context, t *turn) error {
	if t.opened || t.wasAudible() {
		return p.comfort(ctx, t)
	}
	return p.open(ctx, t)
}

// comfort says that tools are still at work.
func (p *player) comfort(ctx context.Context, t *turn) error {
	p.quiet = time.Now() // where nothing can be said, that is tried again as late
	if !p.pause(t) || p.isDraining() || len(p.running) == 0 {
		return nil
	}
	for range p.Waiting.Phrases {
		p.waits++
		if text := p.Waiting.Phrases[p.waits%len(p.Waiting.Phrases)]; p.has(text) {
			t.happened(time.Now(), trace.KindFiller, text)
			return p.say(ctx, t, text)
		}
	}
	return nil
}

// open begins an answer with an opener, whichever stage keeps the caller waiting.
func (p *player) open(ctx context.Context, t *turn) error {
	t.opened = true
	i := slices.IndexFunc(p.Openers, func(string) bool { p.phrase++; return p.has(p.opener()) })
	if i < 0 || !p.pause(t) || t.wasAudible() || p.isDraining() {
		return nil
	}
	if p.answering != t {
		if err := p.history.addAnswer(t.answer.Item, t.answer.ID, 0); err != nil {
			return err
		}
		if err := p.begin(ctx, t); err != nil {
			return err
		}
	}
	stage, kind := t.clock.Pending(), budget.Opener
	if stage == budget.TTS {
		kind = budget.CachedClause
	}
	t.clock.Act(stage, kind, time.Now())
	if len(p.running) > 0 {
		t.happened(time.Now(), trace.KindFiller, p.opener())
	}
	return p.say(ctx, t, p.opener())
}

// opener returns the present opener. Each time it is the next one, so that a caller does not hear the same twice in a row.
func (p *player) opener() string { return p.Openers[p.phrase%len(p.Openers)] }

// has reports whether a phrase is at hand.
func (p *player) has(text string) bool {
	_, ok := p.Phrases.Phrase(text)
	return ok
}

// say plays a phrase as a part of an answer, if it is at hand.
func (p *player) say(ctx context.Context, t *turn, text string) error {
	if p.Phrases == nil || t.settings.Written {
		return nil
	}
	phrase, ok := p.Phrases.Phrase(text)
	if !ok {
		return nil
	}
	pcm, err := audio.Resample(phrase.Sound, phrase.Rate, t.settings.Rate)
	if err != nil {
		return err
	}
	before := ""
	if p.text.Len() > 0 && !strings.HasSuffix(p.text.String(), " ") {
		before = " "
	}
	var words []word
	for _, w := range phrase.Words {
		words = append(words, word{len(before) + w.End, audio.Duration(w.Heard, phrase.Rate)})
	}
	text = before + text + " "
	lasts := audio.Duration(len(pcm), t.settings.Rate)
	for frame := range slices.Chunk(pcm, audio.Samples(frameLength, t.settings.Rate)) {
		if err := p.sound(ctx, sound{clause: clause{turn: t, text: text, lasts: lasts, ready: true, ours: true}, pcm: frame, words: words}); err != nil {
			return err
		}
		text, words = "", nil
	}
	return nil
}
