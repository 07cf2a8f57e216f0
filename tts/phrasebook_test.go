package tts

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"riposte/audio"
	"riposte/budget"
)

func TestPhrasebook(t *testing.T) {
	broken := errors.New("broken")
	spoken := 0
	b := &Phrasebook{Voice: SynthesizerFunc{Hz: 16000, Fn: func(_ context.Context, text string, o Options) iter.Seq2[audio.PCM, error] {
		return func(yield func(audio.PCM, error) bool) {
			spoken++
			if spoken == 1 {
				yield(nil, budget.ErrPreempted) // something more urgent came
				return
			}
			switch text {
			case "bad":
				yield(nil, broken)
			case "mute":
				yield(make(audio.PCM, 1600), nil)
			default:
				if yield(make(audio.PCM, 800), nil) {
					loud := make(audio.PCM, 800)
					for i := range loud {
						loud[i] = int16(9000 * (1 - i%2*2))
					}
					o.Words(Word{End: 3, Heard: 1200})
					o.Words(Word{End: 11, Heard: 1600})
					yield(loud, nil)
				}
			}
		}
	}}}
	if err := b.Learn(t.Context(), "One moment.", "", "One moment."); err != nil || spoken != 2 {
		t.Fatalf("%v, spoken %d times", err, spoken)
	}
	p, ok := b.Phrase("One moment.")
	if at, audible := audio.FirstAudible(p.Sound, p.Rate); !ok || p.Rate != 16000 || !audible || at != 0 || len(p.Sound) < 800 || len(p.Sound) > 960 {
		t.Errorf("%d samples at %d Hz, audible from %d, %t", len(p.Sound), p.Rate, at, ok)
	}
	if want := []Word{{3, 400}, {11, 800}}; !slices.Equal(p.Words, want) {
		t.Errorf("its words are at %v, want %v", p.Words, want)
	}
	if _, ok := b.Phrase("Something else."); ok {
		t.Error("knows what it has not learnt")
	}
	if err := b.Learn(t.Context(), "bad"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := b.Learn(t.Context(), "mute"); err == nil {
		t.Error("learnt silence")
	}
}
