package pipeline

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/transport"
	"riposte/tts"
)

// An answer that was interrupted ends, and is remembered as it was heard, before an opener begins the next one, though its voice be
// slow to stop.
func TestOpenerWaitsForTheEndOfTheAnswerBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCast()
		c.says = "It is noon, as far as I can see from here, and the sun is high above the roofs of the town."
		l := newLine(t)
		s := enforcing(l, c)
		voice := c.voice()
		s.TTS = tts.SynthesizerFunc{Hz: rate, Fn: func(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
			return func(yield func(audio.PCM, error) bool) {
				defer func() {
					if ctx.Err() != nil {
						time.Sleep(3 * time.Second)
					}
				}()
				voice.Speak(ctx, text, o)(yield)
			}
		}}
		done := make(chan error)
		go func() { done <- s.Run(t.Context()) }()
		c.tell(l, "what time is it", 2500*ms)
		c.tell(l, "no stop it please", 12*time.Second)
		close(l.hang)
		if err := <-done; !errors.Is(err, transport.ErrHungUp) {
			t.Fatal(err)
		}
		begun, ended, reports := told[transport.ResponseStarted](l), told[transport.ResponseDone](l), told[transport.TurnReport](l)
		if len(begun) != 2 || len(ended) != 2 || ended[0].Response.ID != begun[0].Response.ID || ended[0].Status != transport.Cancelled {
			t.Fatalf("%d answers began and %d ended, the first as %+v", len(begun), len(ended), ended[0])
		}
		if len(reports) != 2 || reports[0].Answer == "" {
			t.Errorf("reports %+v", reports)
		}
	})
}
