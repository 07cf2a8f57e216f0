package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/transport"
)

// turnModel hears from the sound that the turn is over with a set probability, after a while.
type turnModel struct {
	over  float32
	takes time.Duration
}

func (m turnModel) Over(ctx context.Context, speech audio.PCM, u budget.Urgency) (float32, error) {
	select {
	case <-time.After(m.takes):
		return m.over, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// How much silence ends a turn depends on how and what was said.
func TestSilence(t *testing.T) {
	for _, test := range []struct {
		name      string
		said      string
		sound     float32
		over      float32
		eagerness transport.Eagerness
		min, max  time.Duration
	}{
		{"all agree", "what time is it", 0.97, 0.9, "", 200 * ms, 300 * ms},
		{"nobody knows", "what time is it", 0.5, 0.1, "", 480 * ms, 560 * ms},
		{"an open sentence", "I would like to", 0.5, 0.5, "", 1400 * ms, 1700 * ms},
		{"an open sentence, eagerly", "I would like to", 0.5, 0.5, transport.High, 800 * ms, 1000 * ms},
		{"an open sentence, with patience", "I would like to", 0.5, 0.5, transport.Low, 2700 * ms, 3100 * ms},
		{"a short answer", "yes", 0.6, 0.5, "", 200 * ms, 330 * ms},
		{"a number that is spelled", "four two", 0.97, 0.97, "", 1500 * ms, 1700 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := quick()
			e.hears, e.over = []string{test.said}, test.over
			e.stt = 60 * ms
			session(t, e, func(s *Session) {
				s.Turns = turnModel{test.sound, 50 * ms}
				s.Settings.Detection.Silence, s.Settings.Detection.Eagerness = 0, test.eagerness
			}, func(l *line) {
				end := l.speak(1000*ms, 8000*ms)
				if took := toldAt[transport.SpeechStopped](l).Sub(end); took < test.min || took > test.max {
					t.Errorf("the turn was over after %v, want %v to %v", took, test.min, test.max)
				}
				if n := len(told[transport.TurnReport](l)); n != 1 {
					t.Errorf("%d turns", n)
				}
			})
		})
	}
}

// Who makes long pauses is given time for them from then on.
func TestLearnsPauses(t *testing.T) {
	e := quick()
	e.over = 0.1
	session(t, e, func(s *Session) {
		s.Turns = turnModel{0.5, 20 * ms}
		s.Settings.Detection.Silence = 0
	}, func(l *line) {
		for range 4 {
			l.speak(600*ms, 440*ms) // within the usual wait
		}
		end := l.speak(600*ms, 8000*ms)
		if took := toldAt[transport.SpeechStopped](l).Sub(end); took < 510*ms || took > 700*ms {
			t.Errorf("the turn was over after %v, want a little more than the caller's pauses", took)
		}
	})
}

// What a recogniser heard before it failed, or hung, in the middle of what was said does not keep the turn open, although it is half a
// sentence: the caller hears something within the budget, whatever the engines behind it do.
func TestRecogniserDiesInTheMiddle(t *testing.T) {
	for _, fault := range []string{"fails", "hangs"} {
		for _, prosody := range []float32{0, 0.03, 0.5, 0.97} {
			t.Run(fmt.Sprint(fault, " ", prosody), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCast()
					c.prosody = prosody
					l := newLine(t)
					s := enforcing(l, c)
					s.Turns, s.Settings.Detection.Silence = c, 0
					done := make(chan error)
					go func() { done <- s.Run(t.Context()) }()
					time.AfterFunc(4*wordSpoken, func() { // "should I get a" was heard
						c.mu.Lock()
						defer c.mu.Unlock()
						c.stt.fault, c.llm.fault, c.tts.fault = fault, fault, fault
					})
					end := c.tell(l, "should I get a dog or a cat", 14*time.Second)
					close(l.hang)
					if err := <-done; !errors.Is(err, transport.ErrHungUp) {
						t.Fatal(err)
					}
					if at := firstHeard(l); at.IsZero() || at.Sub(end) > budget.DefaultPlan.Total() {
						t.Errorf("something was heard after %v, want within %v", at.Sub(end), budget.DefaultPlan.Total())
					}
					if r := told[transport.TurnReport](l); len(r) != 1 || r[0].Report.Verdict != budget.Failed || !strings.HasSuffix(r[0].Answer, s.Apology) {
						t.Errorf("the turn was %+v", r)
					}
				})
			})
		}
	}
}
