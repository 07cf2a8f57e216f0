package pipeline

import (
	"slices"
	"testing"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

func withoutGuesses(s *Session) { s.Limits.Guesses = -1 }

// Waiting for silence, the model answers and the voice speaks already: when the turn is decided, its sound leaves at once.
func TestGuessStands(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) { s.Settings.Detection.Silence = 600 * ms }, func(l *line) {
		end := l.speak(1000*ms, 6000*ms)
		decided := toldAt[transport.SpeechStopped](l)
		if late := toldAt[transport.Voice](l).Sub(decided); late != 0 {
			t.Errorf("the answer's sound left %v after the decision, want at once", late)
		}
		if gap := decided.Sub(end); gap < 600*ms || gap > 660*ms {
			t.Errorf("decided after %v", gap)
		}
		r := told[transport.TurnReport](l)
		if len(r) != 1 || r[0].Guesses != (transport.Guesses{Tries: 1, Stood: true}) {
			t.Fatalf("the turns were reported as %+v", r)
		}
		if u := e.asked[0].Urgency; u.Class != budget.Speculative || u.Wanted == nil || u.Now().Class != budget.Awaited {
			t.Errorf("the answer's urgency is %+v, want speculative until it was wanted", u)
		}
		if s := r[0].Report.Stages; s[budget.LLM] != 0 || s[budget.TTS] != 0 {
			t.Errorf("the stages took %v, want nothing for what was there", s)
		}
		if done := told[transport.ResponseDone](l); len(done) != 1 || done[0].Text != e.says || done[0].Status != transport.Completed {
			t.Errorf("the answers ended as %+v", done)
		}
	})
	if len(e.prompts) != 1 {
		t.Errorf("the model was asked %d times, want once", len(e.prompts))
	}
}

// Sound that is made ahead of time gives way to what is more urgent, and none of it is lost or said twice.
func TestGuessGivesWay(t *testing.T) {
	e := quick()
	e.preempt = 2
	session(t, e, func(s *Session) { s.Settings.Detection.Silence = 600 * ms }, func(l *line) {
		l.speak(1000*ms, 6000*ms)
		done := told[transport.ResponseDone](l)
		if len(done) != 1 || done[0].Status != transport.Completed {
			t.Fatalf("the answers ended as %+v", done)
		}
		var sound time.Duration
		for _, v := range told[transport.Voice](l) {
			sound += v.PCM.Duration(rate)
		}
		if want := time.Duration(len(e.says))*letter + sentencePause; sound != want {
			t.Errorf("the answer sounded for %v, want %v", sound, want)
		}
	})
}

// An answer to words that turn out to be others is thrown away, without a trace in the conversation.
func TestGuessFalls(t *testing.T) {
	e := quick()
	e.hears = []string{"what time is it in Rome"}
	e.ttft = 300 * ms
	session(t, e, func(s *Session) { s.STT = hasty{e, "what time is it"} }, func(l *line) {
		l.speak(1000*ms, 6000*ms)
		r := told[transport.TurnReport](l)
		if len(r) != 1 || r[0].Transcript != "what time is it in Rome" || r[0].Guesses.Tries != 2 || !r[0].Guesses.Stood {
			t.Fatalf("the turns were reported as %+v", r)
		}
		if n := len(told[transport.ResponseStarted](l)); n != 1 {
			t.Errorf("%d answers were begun", n)
		}
	})
	if len(e.prompts) != 2 || e.prompts[0][1].Text != "what time is it" || e.prompts[1][1].Text != "what time is it in Rome" {
		t.Errorf("the model was asked %+v", e.prompts)
	}
}

// Who goes on after a pause never learns that an answer was in the making, and what it has cost is counted.
func TestGuessThrownAway(t *testing.T) {
	e := quick()
	e.stt, e.ttft = 50*ms, 20*ms
	session(t, e, func(s *Session) { s.Settings.Detection.Silence = 600 * ms }, func(l *line) {
		for range 5 {
			l.speak(400*ms, 500*ms)
		}
		if n := len(told[transport.ResponseStarted](l)); n != 0 {
			t.Errorf("%d answers were begun before the turn was over", n)
		}
		l.speak(400*ms, 6000*ms)
		r := told[transport.TurnReport](l)
		if len(r) != 1 {
			t.Fatalf("the turns were reported as %+v", r)
		}
		if g := r[0].Guesses; g.Tries != 3 || g.Stood || g.Wasted < 6 {
			t.Errorf("the guesses are reported as %+v, want three, as many as there may be, and their tokens", g)
		}
		if len(told[transport.Voice](l)) == 0 {
			t.Error("the turn was not answered")
		}
	})
	for _, p := range e.prompts {
		if len(p) != 2 || p[1].Role != llm.User {
			t.Errorf("the model read %+v, which holds more than the turn", p)
		}
	}
	if len(e.prompts) != 4 {
		t.Errorf("the model was asked %d times, want three times too early and once in time", len(e.prompts))
	}
}

// A turn without words is not answered, whatever was guessed.
func TestGuessOfNothing(t *testing.T) {
	e := quick()
	e.hears = []string{""}
	session(t, e, func(s *Session) { s.STT = hasty{e, "thank you"} }, func(l *line) {
		l.speak(600*ms, 4000*ms)
		if n := len(told[transport.ResponseStarted](l)); n != 0 {
			t.Errorf("%d answers to a noise", n)
		}
	})
}

// Settings that change while an answer is in the making count for it.
func TestGuessByOldSettings(t *testing.T) {
	e := quick()
	session(t, e, func(s *Session) { s.Settings.Detection.Silence = 800 * ms }, func(l *line) {
		l.speak(600*ms, 600*ms)
		l.in <- transport.Configure{Settings: transport.Settings{
			Instructions: "Be verbose.", Rate: rate,
			Detection: &transport.Detection{Threshold: 0.5, Padding: 300 * ms, Silence: 800 * ms, Respond: true, Interrupt: true},
		}}
		l.speak(0, 6000*ms)
		if r := told[transport.TurnReport](l); len(r) != 1 || r[0].Guesses.Stood {
			t.Errorf("the turns were reported as %+v", r)
		}
	})
	if last := e.prompts[len(e.prompts)-1]; last[0].Text != "Be verbose." {
		t.Errorf("the model was told %q", last[0].Text)
	}
}

func TestSameWords(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"What time is it?", "what time is it", true},
		{"It's five.", "its five", true},
		{"What time", "What time is it", false},
		{"", "", true},
		{"four two", "42", false},
		{"Où est-il ?", "où est il", true},
	} {
		if got := sameWords(test.a, test.b); got != test.same {
			t.Errorf("%q and %q: %v, want %v", test.a, test.b, got, test.same)
		}
	}
	if slices.Equal(words("naïve"), words("naive")) {
		t.Error("letters with marks are other letters")
	}
}
