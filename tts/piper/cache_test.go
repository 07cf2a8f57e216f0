package piper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"riposte/audio"
	"riposte/budget"
	"riposte/tts"
)

// pcmOf returns so many bytes of sound in two chunks.
func pcmOf(bytes int) []audio.PCM {
	return []audio.PCM{make(audio.PCM, bytes/4), make(audio.PCM, bytes/2-bytes/4)}
}

func TestCacheIsBoundedInBytes(t *testing.T) {
	c := cache{limit: 1000}
	keep := func(text string, bytes int) {
		r := c.record(utteranceKey{text: text})
		for _, pcm := range pcmOf(bytes) {
			r.add(pcm)
		}
		c.put(r)
	}
	there := func(text string) bool {
		_, ok := c.get(utteranceKey{text: text})
		return ok
	}
	for i := range 10 {
		keep(fmt.Sprint(i), 100)
	}
	if s := c.stats(); s.Bytes != 1000 || s.Clauses != 10 {
		t.Fatalf("full: %+v", s)
	}
	if !there("0") { // now "1" is the one that was not wanted for longest
		t.Error("the first was forgotten too early")
	}
	keep("new", 120)
	if there("1") || there("2") || !there("0") || !there("new") {
		t.Errorf("not what was unwanted for longest was forgotten: %+v", c.stats())
	}
	keep("long", 500)
	if there("long") {
		t.Error("a text that takes half of the cache is kept")
	}
	keep("new", 80)
	if s := c.stats(); s.Bytes != 880 || s.Clauses != 9 {
		t.Errorf("after one was spoken again: %+v", s)
	}
	if s := c.stats(); s.Hits != 3 || s.Misses != 3 {
		t.Errorf("counted %+v", s)
	}
	var none cache
	r := none.record(utteranceKey{})
	r.add(make(audio.PCM, 1))
	none.put(r)
	if s := none.stats(); s.Clauses != 0 {
		t.Errorf("a cache of no size keeps %+v", s)
	}
}

func TestWhatWasSpokenIsThereAtOnce(t *testing.T) {
	x := &budget.Executor{}
	e := openTiny(t, x, 0)
	first := say(t, e, "Good morning. How are you?", tts.Options{})
	work := x.Load().Counts[budget.Awaited].Done
	again := say(t, e, "**Good morning.** How are you?", tts.Options{Speed: 1})
	if !slices.EqualFunc(first, again, func(a, b audio.PCM) bool { return slices.Equal(a, b) }) {
		t.Errorf("%d chunks, then %d, or other ones", len(first), len(again))
	}
	if done := x.Load().Counts[budget.Awaited].Done; done != work {
		t.Errorf("%d parts ran for what is kept", done-work)
	}
	again[0][0]++ // the caller's own
	if third := say(t, e, "Good morning. How are you?", tts.Options{}); third[0][0] == again[0][0] {
		t.Error("who changes the sound changes the cache")
	}
	if s := e.Cache(); s.Hits != 2 || s.Misses != 1 || s.Clauses != 1 || s.Bytes != 2*len(slices.Concat(first...)) {
		t.Errorf("%+v", s)
	}
	say(t, e, "Good morning. How are you?", tts.Options{Speed: 1.5})
	if s := e.Cache(); s.Misses != 2 || s.Clauses != 2 {
		t.Errorf("another speed: %+v", s)
	}
}

func TestOnlyWholeTextsAreKept(t *testing.T) {
	e := openTiny(t, nil, 0)
	for range e.Speak(t.Context(), "Good morning. How are you?", tts.Options{}) {
		break
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reason := errors.New("barge-in")
	for _, err := range e.Speak(ctx, "Good morning. How are you?", tts.Options{}) {
		if err != nil && !errors.Is(err, reason) {
			t.Error(err)
		}
		cancel(reason)
	}
	if s := e.Cache(); s.Clauses != 0 || s.Misses != 2 {
		t.Errorf("%+v", s)
	}
	// And what is kept stops as early.
	say(t, e, "Good morning. How are you?", tts.Options{})
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	chunks, last := 0, error(nil)
	for _, err := range e.Speak(ctx, "Good morning. How are you?", tts.Options{}) {
		if err != nil {
			last = err
			continue
		}
		chunks++
		stop(reason)
	}
	if chunks != 1 || !errors.Is(last, reason) {
		t.Errorf("%d chunks and %v after the end of the context", chunks, last)
	}
}
