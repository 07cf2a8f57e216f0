package pipeline

import (
	"strings"
	"testing"
	"time"

	"riposte/transport"
)

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		said   string
		final  bool
		voiced time.Duration
		claim  claim // What else is known.
		want   verdict
	}{
		{"", false, 200 * ms, claim{}, undecided},
		{"", true, 250 * ms, claim{}, given},   // a cough
		{"", false, 1300 * ms, claim{}, taken}, // nobody coughs that long
		{"stop", false, 250 * ms, claim{}, undecided},
		{"stop", false, 320 * ms, claim{}, taken},
		{"stop", true, 250 * ms, claim{}, taken},
		{"wait a moment", false, 250 * ms, claim{}, taken},
		{"thank you for watching", false, 200 * ms, claim{}, undecided}, // nobody says that so fast
		{"mm-hmm", true, 400 * ms, claim{}, given},
		{"Yeah, okay.", true, 700 * ms, claim{}, given},
		{"yeah", false, 700 * ms, claim{}, undecided},
		{"yeah yeah yeah yeah", false, 1300 * ms, claim{}, taken},
		{"Yes", true, 300 * ms, claim{question: true}, taken},
		{"mm", false, 300 * ms, claim{question: true}, taken},

		// On a line that may echo.
		{"", false, 300 * ms, claim{echoing: true}, undecided},
		{"", false, 300 * ms, claim{echoing: true, own: 1}, undecided},
		{"", false, 300 * ms, claim{echoing: true, own: 2}, given},
		{"", true, 300 * ms, claim{echoing: true, own: 1}, given},
		{"see you soon", false, 300 * ms, claim{echoing: true}, undecided}, // misheard, before there is much to hear
		{"see you soon", true, 300 * ms, claim{echoing: true, echoed: true}, given},
		{"see you", true, 300 * ms, claim{echoing: true}, given},
		{"see you soon", true, 900 * ms, claim{echoing: true}, taken},
		{"see you", true, 900 * ms, claim{echoing: true, own: 2}, taken},
		{"maximum", true, 900 * ms, claim{echoing: true, own: 7}, given},
		{"tuesday", true, 900 * ms, claim{echoing: true, beyond: 150 * ms}, taken}, // there is a voice where no echo can be
		{"tuesday", false, 900 * ms, claim{echoing: true, beyond: 150 * ms, stable: 1}, doubtful},
		{"on tuesday", false, 900 * ms, claim{echoing: true, beyond: 150 * ms}, taken},
		{"tuesday", false, 900 * ms, claim{echoing: true, own: 2, beyond: 320 * ms}, taken},
		{"tuesday", false, 900 * ms, claim{echoing: true, own: 2}, undecided},
		{"tuesday", false, 900 * ms, claim{echoing: true, own: 2, stable: 1}, doubtful},
		{"not on tuesday", false, 900 * ms, claim{echoing: true, own: 2, stable: 1}, doubtful},
		{"not on tuesday", false, 900 * ms, claim{echoing: true, own: 2, stable: 2}, taken},
		{"stop", false, 900 * ms, claim{echoing: true, own: 2}, doubtful},
		{"stop", true, 900 * ms, claim{echoing: true, own: 2, echoed: true}, taken},
		{"right", false, 900 * ms, claim{echoing: true, own: 2, stable: 1}, undecided},
		{"right", true, 900 * ms, claim{echoing: true, own: 2}, given},
		{"yes", true, 900 * ms, claim{echoing: true, own: 2, question: true, beyond: 150 * ms}, taken},
		{"", false, 2000 * ms, claim{echoing: true}, undecided},
		{"", false, 2000 * ms, claim{echoing: true, beyond: 1300 * ms}, taken},
	} {
		c := test.claim
		c.words, c.final, c.sounded = words(test.said), test.final, test.voiced
		if got := c.judge(300 * ms); got != test.want {
			t.Errorf("%q (%+v) after %v of voice: %v, want %v", test.said, test.claim, test.voiced, got, test.want)
		}
	}
}

// answered has the caller ask, and returns when the answer has sounded for a while.
func answered(l *line) { l.speak(1000*ms, 2000*ms) }

// A cough, a click or a "mm-hm" holds the answer and gives it back: it goes on within 500 ms and nothing of it is lost.
func TestGivenBack(t *testing.T) {
	for _, test := range []struct {
		name  string
		heard string
		lasts time.Duration
	}{
		{"cough", "", 200 * ms},
		{"click", "", 20 * ms},
		{"backchannel", "Mm-hmm.", 360 * ms},
		{"long backchannel", "Yeah, right.", 700 * ms},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := quick()
			e.hears = []string{"what time is it", test.heard}
			e.says = "One two three four five, six seven eight nine ten eleven twelve."
			session(t, e, func(s *Session) { s.STT = e }, func(l *line) {
				answered(l)
				onset := time.Now()
				l.speak(test.lasts, 6000*ms)

				if took := toldAt[transport.Held](l).Sub(onset); took > 60*ms {
					t.Errorf("held after %v, want at most 60ms", took)
				}
				if took := toldAt[transport.Released](l).Sub(onset.Add(test.lasts)); took > 500*ms {
					t.Errorf("given back %v after the end of it, want at most 500ms", took)
				}
				done := told[transport.ResponseDone](l)
				if len(done) != 1 || done[0].Status != transport.Completed {
					t.Fatalf("the answers ended as %+v", done)
				}
				var sound time.Duration
				for _, v := range told[transport.Voice](l) {
					sound += v.PCM.Duration(rate)
				}
				if want := time.Duration(len(e.says)) * letter; sound != want {
					t.Errorf("the answer sounded for %v, want all %v of it", sound, want)
				}
				if n, m := len(told[transport.SpeechStarted](l)), len(told[transport.Committed](l)); n != 1 || m != 1 {
					t.Errorf("the caller is told of %d things said and %d turns, want the question only", n, m)
				}
				if r := told[transport.TurnReport](l); len(r) != 1 || r[0].Answer != strings.TrimSpace(e.says) {
					t.Errorf("the turns were reported as %+v", r)
				}
			})
		})
	}
}

// One word that is none of a listener's is enough.
func TestStop(t *testing.T) {
	e := quick()
	e.hears = []string{"what time is it", "stop"}
	e.says = "One two three four five, six seven eight nine ten eleven twelve."
	session(t, e, func(s *Session) { s.STT = e }, func(l *line) {
		answered(l)
		l.speak(280*ms, 5000*ms)
		if n := len(told[transport.Released](l)); n != 0 {
			t.Errorf("the answer went on %d times", n)
		}
		done := told[transport.ResponseDone](l)
		if len(done) != 2 || done[0].Status != transport.Cancelled {
			t.Errorf("the answers ended as %+v", done)
		}
	})
}

// A line that goes dead while the answer is held does not hold it for ever.
func TestHeldByADeadLine(t *testing.T) {
	e := quick()
	e.says = "One two three four five, six seven eight nine ten eleven twelve."
	session(t, e, nil, func(l *line) {
		answered(l)
		l.speak(200*ms, 0)
		time.Sleep(12 * time.Second)
		if done := told[transport.ResponseDone](l); len(done) != 1 || done[0].Status != transport.Completed {
			t.Errorf("the answers ended as %+v", done)
		}
	})
}

// A side that pauses what it plays has heard what it had played by then; any other plays what it has in hand.
func TestHolds(t *testing.T) {
	for _, holds := range []bool{false, true} {
		e := quick()
		e.hears = []string{"what time is it", "no stop it please"}
		e.says = "a b c d e f g h i j k l m n o p q r s t u v w x y z." // a word each 120 ms
		session(t, e, func(s *Session) { s.Settings.Holds = holds }, func(l *line) {
			answered(l)
			l.speak(900*ms, 5000*ms)
			played := toldAt[transport.Held](l).Sub(toldAt[transport.Voice](l))
			if !holds {
				played += 200 * ms
			}
			heard := told[transport.TurnReport](l)[0].Answer
			// A frame that was sent as the hold came, and the letter that had not ended, make no more than one word.
			if got, want := len(strings.Fields(heard)), int(played/(2*letter)); got < want-1 || got > want+1 {
				t.Errorf("holding: %v: %d words are said to be heard, %q, after %v", holds, got, heard, played)
			}
		})
	}
}

// The last sound of an answer has been heard later by as long as it was held, though it had all been sent.
func TestHeldAtItsEnd(t *testing.T) {
	e := quick()
	e.hears = []string{"what time is it", ""}
	e.says = "One two three four five six seven."
	session(t, e, func(s *Session) { s.Settings.Holds = true }, func(l *line) {
		l.speak(1000*ms, 500*ms)
		begun := toldAt[transport.Voice](l)
		ends := begun.Add(time.Duration(len(e.says)) * letter)
		l.speak(0, time.Until(ends)-180*ms)
		l.speak(20*ms, 2000*ms) // a click
		held, released := toldAt[transport.Held](l), toldAt[transport.Released](l)
		if held.IsZero() || !held.Before(ends) {
			t.Fatalf("held at %v, released at %v", held.Sub(begun), released.Sub(begun))
		}
		want := ends.Add(released.Sub(held))
		if got := toldAt[transport.TurnReport](l); got.Before(want) || got.Sub(want) > 20*ms {
			t.Errorf("it counts as heard after %v, want %v", got.Sub(begun), want.Sub(begun))
		}
	})
}
