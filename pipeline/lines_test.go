package pipeline

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/llm"
	"riposte/transport"
)

// A greeting is spoken when the call begins, is part of the conversation, and can be interrupted.
func TestGreeting(t *testing.T) {
	e := quick()
	e.hears = []string{"hold on a second please"}
	greeting := "Good morning, this is the library. How can I help you on this fine day?"
	session(t, e, func(s *Session) { s.STT, s.Greeting = e, Greeting{Text: greeting} }, func(l *line) {
		l.speak(0, 2000*ms)
		if n := len(told[transport.Voice](l)); n == 0 {
			t.Fatal("nothing was said")
		}
		l.speak(1500*ms, 6000*ms)
		done := told[transport.ResponseDone](l)
		if len(done) != 2 || done[0].Status != transport.Cancelled || done[1].Status != transport.Completed {
			t.Errorf("the answers ended as %+v", done)
		}
	})
	if got := e.prompts[0][1]; got.Role != llm.Assistant || !strings.HasPrefix(greeting, strings.TrimSuffix(got.Text, interruption)) || !strings.HasSuffix(got.Text, interruption) {
		t.Errorf("the model read %+v, want what was heard of the greeting, marked as interrupted", got)
	}
}

// A firm greeting is not interrupted, and what is said over it is not heard.
func TestFirmGreeting(t *testing.T) {
	e := quick()
	greeting := "This call may be recorded."
	session(t, e, func(s *Session) { s.STT, s.Greeting = e, Greeting{Text: greeting, Firm: true} }, func(l *line) {
		l.speak(900*ms, 2000*ms)
		if done := told[transport.ResponseDone](l); len(done) != 1 || done[0].Status != transport.Completed {
			t.Errorf("the answers ended as %+v", done)
		}
		if n := len(told[transport.SpeechStarted](l)); n != 0 {
			t.Errorf("the caller was heard %d times", n)
		}
		l.speak(1000*ms, 4000*ms)
		if n := len(told[transport.Committed](l)); n != 1 {
			t.Errorf("%d turns after the greeting, want 1", n)
		}
	})
}

// Who says nothing is asked, asked again, and hung up on; who speaks up has all the time again.
func TestSilentCaller(t *testing.T) {
	prompts := []string{"Are you there?", "I will hang up."}
	synctest.Test(t, func(t *testing.T) {
		e := quick()
		l := newLine(t)
		s := newSession(l, e)
		s.STT, s.Silence = e, Silence{After: 3 * time.Second, Prompts: prompts}
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context()) }()
		l.speak(0, 3500*ms)
		if w := told[transport.Words](l); len(w) != 1 || w[0].Text != prompts[0] {
			t.Fatalf("after 3 s was said %+v", w)
		}
		l.speak(1000*ms, 5000*ms) // it is answered
		if n := len(told[transport.Committed](l)); n != 1 {
			t.Fatalf("%d turns", n)
		}
		begin := time.Now()
		silence := make(chan struct{})
		go func() {
			defer close(silence)
			for {
				select {
				case <-time.After(20 * ms):
				case <-t.Context().Done():
					return
				}
				select {
				case l.in <- transport.Sound{PCM: make([]int16, rate/50), Rate: rate, At: time.Now()}:
				case <-time.After(time.Second):
					return // the call has ended
				}
			}
		}()
		err := <-ended
		<-silence
		if !errors.Is(err, transport.ErrSilent) {
			t.Errorf("the call ended with %v", err)
		}
		var asked []string
		for _, w := range told[transport.Words](l) {
			for _, p := range prompts {
				if w.Text == p {
					asked = append(asked, p)
				}
			}
		}
		if want := []string{prompts[0], prompts[0], prompts[1]}; strings.Join(asked, "|") != strings.Join(want, "|") {
			t.Errorf("the caller was asked %q, want %q", asked, want)
		}
		if took := time.Since(begin); took < 6*time.Second || took > 20*time.Second {
			t.Errorf("the call ended %v later", took)
		}
	})
}

// Keys that are pressed are a turn, once a # or a pause ends them, and interrupt what is being said.
func TestKeys(t *testing.T) {
	e := quick()
	e.says = "One two three four five, six seven eight nine ten eleven twelve."
	session(t, e, func(s *Session) { s.STT = e }, func(l *line) {
		answered(l)
		for _, k := range "1234" {
			l.in <- transport.Key{Digit: k}
			l.speak(0, 300*ms)
		}
		if n := len(told[transport.Added](l)); n != 0 {
			t.Fatalf("%d items while keys are being pressed", n)
		}
		l.speak(0, 8000*ms)
		l.in <- transport.Key{Digit: '7'}
		l.in <- transport.Key{Digit: '#'}
		l.in <- transport.Key{Ref: "x", Digit: 'q'}
		l.speak(0, 8000*ms)
		added := told[transport.Added](l)
		if len(added) != 2 || added[0].Item.Text != "[keypad] 1234" || added[1].Item.Text != "[keypad] 7#" {
			t.Errorf("the conversation got %+v", added)
		}
		done := told[transport.ResponseDone](l)
		if len(done) != 3 || done[0].Status != transport.Cancelled || done[1].Status != transport.Completed || done[2].Status != transport.Completed {
			t.Errorf("the answers ended as %+v", done)
		}
		if f := told[transport.Fault](l); len(f) != 1 || f[0].Ref != "x" {
			t.Errorf("faults %+v, want one for the key that is none", f)
		}
		if r := told[transport.TurnReport](l); len(r) != 3 || r[1].Transcript != "[keypad] 1234" {
			t.Errorf("the turns were reported as %+v", r)
		}
	})
	if last := e.prompts[len(e.prompts)-1]; last[len(last)-1].Text != "[keypad] 7#" {
		t.Errorf("the model read %+v", last)
	}
}

// A caller's side that says when the model is to speak up takes the place of the service's own lines, but not of how often the
// service asks before it hangs up.
func TestIdleTimeout(t *testing.T) {
	for _, ladder := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			e := quick()
			e.says = "Are you there?"
			l := newLine(t)
			s := newSession(l, e)
			s.Settings.Detection.Idle = 2 * time.Second
			if ladder {
				s.Silence = Silence{After: time.Minute, Prompts: []string{"A line of the service."}}
			}
			ended := make(chan error, 1)
			go func() { ended <- s.Run(t.Context()) }()
			for range 500 { // 10 s
				time.Sleep(20 * ms)
				select {
				case l.in <- transport.Sound{PCM: make([]int16, rate/50), Rate: rate, At: time.Now()}:
				case err := <-ended:
					if !ladder || !errors.Is(err, transport.ErrSilent) {
						t.Errorf("the call ended with %v", err)
					}
					ended <- err
				}
			}
			want := 3 // each after 2 s and the answer before it, of 1.1 s
			if ladder {
				want = 1
			}
			out := told[transport.TimedOut](l)
			if len(out) != want || out[0].From != 0 || out[0].Until != 2*time.Second {
				t.Fatalf("with a ladder: %v: %+v", ladder, out)
			}
			if c := told[transport.Committed](l); len(c) != want || c[0].Item != out[0].Item {
				t.Errorf("the silence became %+v", c)
			}
			if w := told[transport.Words](l); len(w) != want || w[0].Text != e.says {
				t.Errorf("was said: %+v", w)
			}
			if last := e.prompts[0][len(e.prompts[0])-1]; last.Role != llm.User || last.Text != nothingSaid {
				t.Errorf("the model read %+v", last)
			}
			if !ladder {
				close(l.hang)
			}
			<-ended
		})
	}
}
