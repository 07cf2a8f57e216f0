package tts

import (
	"context"
	"errors"
	"iter"
	"testing"

	"riposte/audio"
	"riposte/budget"
)

func TestPhrasebook(t *testing.T) {
	broken := errors.New("broken")
	spoken := 0
	b := &Phrasebook{Voice: SynthesizerFunc{Hz: 16000, Fn: func(_ context.Context, text string, _ Options) iter.Seq2[audio.PCM, error] {
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
					yield(loud, nil)
				}
			}
		}
	}}}
	if err := b.Learn(t.Context(), "One moment.", "", "One moment."); err != nil || spoken != 2 {
		t.Fatalf("%v, spoken %d times", err, spoken)
	}
	pcm, rate, ok := b.Phrase("One moment.")
	if at, audible := audio.FirstAudible(pcm, rate); !ok || rate != 16000 || !audible || at != 0 || len(pcm) < 800 || len(pcm) > 960 {
		t.Errorf("%d samples at %d Hz, audible from %d, %t", len(pcm), rate, at, ok)
	}
	if _, _, ok := b.Phrase("Something else."); ok {
		t.Error("knows what it has not learnt")
	}
	if err := b.Learn(t.Context(), "bad"); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if err := b.Learn(t.Context(), "mute"); err == nil {
		t.Error("learnt silence")
	}
}
