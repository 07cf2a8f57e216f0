package endpoint

import (
	"testing"
	"time"
)

const ms = time.Millisecond

func TestFormOf(t *testing.T) {
	for _, test := range []struct {
		text string
		want form
	}{
		{"", unclear},
		{"...", unclear},
		{"What time is it?", unclear},
		{"I would like to book a table.", unclear},
		{"I would like to", open},
		{"I'd like a coffee with", open},
		{"And it is worth mention that as an example of fine typography,", open},
		{"So I was thinking...", open},
		{"My address is", open},
		{"Well, um", open},
		{"Can I have the", open},
		{"Yes.", complete},
		{"No, thanks.", complete},
		{"Okay, great.", complete},
		{"Yes, but", open},
		{"My number is four two", spelling},
		{"My number is 4 2 7", spelling},
		{"It's 0-7-7-0", spelling},
		{"five five five, one two", spelling},
		{"The code is B R O", spelling},
		{"My number is 415 555", spelling},
		{"My number is 415 555 2671", unclear}, // it is whole
		{"Call 4155552671.", unclear},
		{"A 20-ounce coffee.", unclear},
		{"There are 42.", unclear},
		{"It was in 1984.", unclear},
		{"Room 101, please.", unclear},
		{"I said I", open},
	} {
		if got := formOf(test.text); got != test.want {
			t.Errorf("%q: %v, want %v", test.text, got, test.want)
		}
	}
}

// What agrees makes the wait short, what speaks against the end makes it long, and nothing leaves it as it is.
func TestWait(t *testing.T) {
	w := Weights{Sound: 1, Fall: 1, Closed: 1, Over: 1, Complete: 3, Open: -3}
	p := Policy{Weights: &w}
	for _, test := range []struct {
		name  string
		given Signals
		want  time.Duration
	}{
		{"nothing", Signals{}, 500 * ms},
		{"the sound is sure", Signals{Sound: Likely(0.97)}, 200 * ms},
		{"the model is sure", Signals{Over: Likely(0.97)}, 200 * ms},
		{"they disagree", Signals{Sound: Likely(0.9), Over: Likely(0.03)}, 500 * ms},
		{"the model does not mind", Signals{Over: Likely(0.1)}, 500 * ms},
		{"the recogniser is sure", Signals{Closed: Likely(0.99)}, 220 * ms},
		{"the recogniser puts a full stop as ever", Signals{Closed: Likely(0.913)}, 500 * ms},
		{"the recogniser expects more", Signals{Closed: Likely(0.3)}, 560 * ms},
		{"the voice has fallen", Signals{Fall: Fall{true, 15}}, 200 * ms},
		{"the voice has kept up", Signals{Fall: Fall{true, 9}}, 560 * ms},
		{"a fall alone is not worth more than the rest", Signals{Fall: Fall{true, 80}, Closed: Likely(0.01), Over: Likely(0.01)}, 545 * ms},
		{"half sure", Signals{Sound: Likely(0.86)}, 350 * ms},
		{"rather not", Signals{Sound: Likely(0.5)}, 530 * ms},
		{"not at all", Signals{Sound: Likely(0.02)}, 560 * ms},
		{"an open sentence", Signals{Text: "I would like to", Sound: Likely(0.1)}, 1600 * ms},
		{"an open sentence that sounds like an end", Signals{Sound: Likely(0.9), Text: "I would like to"}, 1424 * ms},
		{"yes", Signals{Text: "Yes."}, 200 * ms},
		{"yes, as a question", Signals{Text: "Yes?", Sound: Likely(0.7)}, 200 * ms},
		{"a number", Signals{Text: "four two", Sound: Likely(0.99), Over: Likely(0.99)}, 1600 * ms},
	} {
		if got := p.Wait(test.given, nil); got < test.want-20*ms || got > test.want+20*ms {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

// The wait never grows when a signal becomes surer that the turn is over.
func TestWaitFalls(t *testing.T) {
	for _, text := range []string{"", "yes", "I would like to", "What time is it?"} {
		last := time.Hour
		for q := float32(0); q <= 1; q += 0.01 {
			wait := (Policy{}).Wait(Signals{Sound: Likely(q), Text: text}, nil)
			if wait > last || wait < 200*ms || wait > 1600*ms {
				t.Fatalf("%q with %v: %v after %v", text, q, wait, last)
			}
			last = wait
		}
	}
}

// Who pauses for long is given time, but not when everything says that the turn is over.
func TestPauses(t *testing.T) {
	var pauses Pauses
	for range 2 {
		pauses.Add(800 * ms)
	}
	if got := (Policy{}).Wait(Signals{}, &pauses); got != 500*ms {
		t.Errorf("two pauses make a habit: %v", got)
	}
	for range 3 {
		pauses.Add(700 * ms)
	}
	if got, want := (Policy{}).Wait(Signals{}, &pauses), 1000*ms; got != want {
		t.Errorf("a slow talker is given %v, want %v", got, want)
	}
	if got := (Policy{}).Wait(Signals{Sound: Likely(1), Over: Likely(1)}, &pauses); got != 200*ms {
		t.Errorf("a slow talker who has finished waits for %v", got)
	}
	if got, want := (Policy{}).Wait(Signals{Text: "four two"}, &pauses), 1600*ms; got != want {
		t.Errorf("a number is given %v, want %v", got, want)
	}
	pauses.Add(2 * time.Second)
	if got, want := (Policy{}).Wait(Signals{Text: "four two"}, &pauses), 2500*ms; got != want {
		t.Errorf("a slow number is given %v, want %v", got, want)
	}
	for range 20 {
		pauses.Add(100 * ms)
	}
	if got := pauses.Longest(); got != 100*ms {
		t.Errorf("what was long ago still counts: %v", got)
	}
}
