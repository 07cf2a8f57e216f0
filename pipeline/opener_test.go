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

// placed has one phrase at hand: three words of 200 ms, the first of them said within 400 ms.
type placed struct{}

func (placed) Phrase(string) (tts.Phrase, bool) {
	p, _ := handy{}.Phrase("")
	return tts.Phrase{Sound: p.Sound, Rate: p.Rate, Words: []tts.Word{
		{End: 3, Heard: audio.Samples(400*ms, p.Rate)}, {End: 6, Heard: audio.Samples(500*ms, p.Rate)}, {End: 11, Heard: audio.Samples(600*ms, p.Rate)},
	}}, true
}

// Of an opener that was interrupted the words were heard that had sounded by then, as of any other part of an answer.
func TestHeardOfAnOpener(t *testing.T) {
	for after, want := range map[time.Duration]string{300 * ms: "", 450 * ms: "Let", 550 * ms: "Let me", 800 * ms: "Let me see."} {
		synctest.Test(t, func(t *testing.T) {
			c := newCast()
			c.llm.takes = 5 * time.Second
			l := newLine(t)
			s := enforcing(l, c)
			s.Phrases, s.Limits.Unheard, s.Limits.Lead = placed{}, ms, 20*ms
			done := make(chan error)
			go func() { done <- s.Run(t.Context()) }()
			go func() {
				for firstHeard(l).IsZero() {
					time.Sleep(ms)
				}
				time.Sleep(time.Until(firstHeard(l).Add(after)))
				l.in <- transport.Cancel{}
			}()
			c.tell(l, "what time is it", 6*time.Second)
			close(l.hang)
			<-done
			r := told[transport.TurnReport](l)
			if len(r) != 1 || r[0].Answer != want {
				t.Errorf("after %v: %+v, want %q", after, r, want)
			}
		})
	}
}

// A voice that breaks off in the middle of a clause is followed by the whole of the apology: what is told of the answer holds the words that had
// sounded by then, and all of the apology, whether the voice says where its words lie or not.
func TestHeardOfAnApology(t *testing.T) {
	for _, test := range []struct {
		places bool
		clause string // Of which three words are spoken.
		want   string
	}{
		{true, "It is noon as far as I can see.", "It is noon Sorry, please say that again."},
		{false, "It is noon as far as I can see.", "It is noon Sorry, please say that again."},
		{false, "It is noon.", "It is Sorry, please say that again."},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCast()
			c.says, c.places = test.clause, test.places
			l := newLine(t)
			s := enforcing(l, c)
			s.TTS = tts.SynthesizerFunc{Hz: rate, Fn: func(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
				return func(yield func(audio.PCM, error) bool) {
					n := 0
					for pcm, err := range c.speak(ctx, text, o) {
						if n++; n > 3 || !yield(pcm, err) {
							break
						}
					}
					yield(nil, errBroken)
				}
			}}
			done := make(chan error)
			go func() { done <- s.Run(t.Context()) }()
			c.tell(l, "what time is it", 6*time.Second)
			close(l.hang)
			<-done
			if r := told[transport.TurnReport](l); len(r) != 1 || r[0].Answer != test.want {
				t.Errorf("%q, places known: %v: %+v, want %q", test.clause, test.places, r, test.want)
			}
		})
	}
}
