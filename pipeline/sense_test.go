package pipeline

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
	"riposte/transport"
	"riposte/tts"
)

func TestSensible(t *testing.T) {
	for _, c := range []struct {
		text   string
		speech time.Duration
		want   bool
	}{
		{"", time.Second, true},
		{"What is the weather like in San Francisco today?", 1200 * ms, true}, // as fast as anybody talks
		{strings.Repeat("no ", 12), 2 * time.Second, true},
		{strings.Repeat("and then the ", 20), 3 * time.Second, false},
		{strings.Repeat("and then the ", 20), 0, true}, // nobody knows
		{"\xff\x00", time.Second, false},
	} {
		if got := sensible(c.text, c.speech); got != c.want {
			t.Errorf("%.20q in %v: %t", c.text, c.speech, got)
		}
	}
}

func TestCircles(t *testing.T) {
	for _, c := range []struct {
		text          string
		circle, whole bool
	}{
		{"Row, row, row your boat, gently down the stream, merrily, merrily, merrily, merrily.", false, false},
		{"Two and two is four, and four and four is eight, and eight and eight is sixteen.", false, false},
		{strings.Repeat("the ", 60), true, true},
		{strings.Repeat("and then the ", 20), true, true},
		{strings.Repeat("I am fine. ", 8), true, true},
		{"It is noon. " + strings.Repeat("I am fine. ", 8), true, false},
		{strings.Repeat("One thing after the other. ", 1) + strings.Repeat("It was long before we came to the ", 9), true, false},
	} {
		var round circles
		var circle, whole bool
		for _, token := range strings.SplitAfter(c.text, " ") {
			if circle, whole = round.push(token); circle {
				break
			}
		}
		if circle != c.circle || whole != c.whole {
			t.Errorf("%.60q: a circle %t, and nothing else %t; want %t, %t", c.text, circle, whole, c.circle, c.whole)
		}
	}
}

// What makes no sense is not said, whichever engine brings it: the caller hears something within the budget and an apology soon
// after, or what makes sense of it, and the report blames the engine.
func TestNonsense(t *testing.T) {
	apology := "Sorry, something went wrong."
	tests := []struct {
		name    string
		set     func(s *Session, c *cast)
		verdict budget.Verdict
		blame   budget.Stage
		answer  string
		within  time.Duration // From the end of what was said to the end of the answer.
	}{
		{
			"the recogniser is caught in a loop", func(s *Session, c *cast) { s.STT = edited{c, strings.Repeat("and then the ", 66)} },
			budget.Failed, budget.STT, apology, 4 * time.Second,
		},
		{
			"the recogniser loses what was said", func(s *Session, c *cast) { s.STT = edited{c, ""} },
			budget.Masked, budget.STT, "It is noon.", 4 * time.Second,
		},
		{
			"the model is caught in a circle", func(s *Session, c *cast) { c.says = strings.Repeat("and then the ", 66) },
			budget.Failed, budget.LLM, apology, 4 * time.Second,
		},
		{
			"the model ends in a circle", func(s *Session, c *cast) { c.says = "It is noon. " + strings.Repeat("and then the ", 66) },
			budget.Met, "", "It is noon.", 4 * time.Second,
		},
		{
			"the voice is silent", func(s *Session, c *cast) {
				c.says, c.tts.fault = "It is so late that nobody knows any more how late it is, or why, or what to do, or whom to ask, or where.", "garbles"
			},
			budget.Failed, budget.TTS, apology, 7 * time.Second,
		},
		{
			"the voice makes noise", func(s *Session, c *cast) { s.TTS = tts.SynthesizerFunc{Hz: rate, Fn: roar} },
			budget.Failed, budget.TTS, apology, 4 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCast()
				l := newLine(t)
				s := enforcing(l, c)
				s.Apology = apology
				tt.set(s, c)
				done := make(chan error)
				go func() { done <- s.Run(t.Context()) }()
				end := c.tell(l, "what time is it over there", 9*time.Second)
				close(l.hang)
				if err := <-done; !errors.Is(err, transport.ErrHungUp) {
					t.Fatal(err)
				}
				reports := told[transport.TurnReport](l)
				if len(reports) != 1 {
					t.Fatalf("%d turns", len(reports))
				}
				r, text := reports[0], strings.TrimSpace(told[transport.ResponseDone](l)[0].Text)
				if r.Report.Verdict != tt.verdict || r.Report.Blame != tt.blame || !strings.HasSuffix(text, tt.answer) {
					t.Errorf("%q, %s, blame %q, want %q, %s, blame %q", text, r.Report.Verdict, r.Report.Blame, tt.answer, tt.verdict, tt.blame)
				}
				if at := firstHeard(l); at.IsZero() || at.Sub(end) > budget.DefaultPlan.Total() {
					t.Errorf("something was heard after %v", at.Sub(end))
				}
				if at, sound := firstHeard(l), toldAt[transport.Voice](l); !at.Equal(sound) {
					t.Errorf("the first sound was sent after %v, and is silent", sound.Sub(end))
				}
				if took := toldAt[transport.ResponseDone](l).Sub(end); took > tt.within {
					t.Errorf("it was over after %v", took)
				}
				for _, v := range told[transport.Voice](l) {
					if v.PCM.Level() > -6 {
						t.Fatalf("the caller was sent sound of %.0f dBFS", v.PCM.Level())
					}
				}
			})
		})
	}
}

// edited is a recogniser whose last word on everything is the same text.
type edited struct {
	*cast
	text string
}

func (e edited) Listen(o stt.Options) stt.Stream { return editedStream{e.cast.Listen(o), e.text} }

type editedStream struct {
	stt.Stream
	text string
}

func (s editedStream) Finish(ctx context.Context, u budget.Urgency) (stt.Transcript, error) {
	t, err := s.Stream.Finish(ctx, u)
	t.Text = s.text
	return t, err
}

// roar is a voice that makes nothing but noise.
func roar(context.Context, string, tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		pcm := make(audio.PCM, rate)
		for i := range pcm {
			pcm[i] = int16(rand.Uint32())
		}
		yield(pcm, nil)
	}
}
