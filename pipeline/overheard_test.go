package pipeline

import (
	"strings"
	"testing"
	"time"
)

// spokenWords are the words of a text, each of them played for 300 ms, from a time on.
func spokenWords(text string, from time.Time) []played {
	var out []played
	for i, w := range words(text) {
		at := from.Add(time.Duration(i) * 300 * ms)
		out = append(out, played{w, at, at.Add(300 * ms)})
	}
	return out
}

// An echo has the words that were played, in their order, at their time; a caller has others, or the same ones too late.
func TestOverhear(t *testing.T) {
	zero := time.Unix(1000, 0)
	said := spokenWords("The library is open from 9 to five on Tuesday", zero) // "from" begins after 1.2 s
	for _, test := range []struct {
		heard string
		began time.Duration // After the first word began to be played.
		least int
		own   int
		fresh string
	}{
		{"the library is open", 150 * ms, 1, 4, ""},
		{"the", 150 * ms, 1, 1, ""},
		{"the", 5 * ms, 1, 0, "the"},    // sooner than any echo
		{"the", 600 * ms, 1, 0, "the"},  // later than any
		{"library", 450 * ms, 1, 1, ""}, // its own time
		{"library", 150 * ms, 1, 0, "library"},
		{"the library's open", 150 * ms, 1, 3, ""},          // as recognisers write it
		{"their library his open from", 150 * ms, 1, 3, ""}, // or mishear it
		{"open from nine to 5", 1050 * ms, 1, 5, ""},        // numbers as they are said and written
		{"brary is open", 450 * ms, 1, 2, ""},               // from the middle of a word on
		{"is open", 450 * ms, 1, 2, ""},                     // of which nothing was recognised
		{"open", 450 * ms, 1, 0, "open"},                    // but that is no proof
		{"the library is stop", 150 * ms, 1, 3, "stop"},     // over the echo
		{"the library what about holidays", 150 * ms, 1, 2, "what about holidays"},
		{"the library stop from nine", 150 * ms, 1, 2, "stop from nine"}, // a word with which people interrupt is never misheard
		{"yes tuesday", 2750 * ms, 1, 0, "yes tuesday"},                  // while the agent says Tuesday
		{"tuesday", 2850 * ms, 1, 1, ""},
		{"tuesday", 3300 * ms, 1, 0, "tuesday"},                     // and after it
		{"from nine to five", 2200 * ms, 1, 0, "from nine to five"}, // a question, a second later
		{"from nine to five", 1350 * ms, 1, 4, ""},
		{"the", 150 * ms, 2, 0, "the"}, // where the signal says that it is none
		{"the library", 150 * ms, 2, 2, ""},
		{"i would like to book a table for two", 150 * ms, 1, 0, "i would like to book a table for two"},
		{"what is the time in oslo", 150 * ms, 1, 0, "what is the time in oslo"},
		{"", 150 * ms, 1, 0, ""},
	} {
		got := overhear(words(test.heard), said, zero.Add(test.began), zero.Add(test.began), test.least)
		if got.own != test.own || strings.Join(got.fresh, " ") != test.fresh {
			t.Errorf("%q after %v: %d words of its own, and %q, want %d and %q", test.heard, test.began, got.own, got.fresh, test.own, test.fresh)
		}
	}
	if got := overhear([]string{"the"}, nil, zero, zero, 1); got.own != 0 || len(got.fresh) != 1 {
		t.Errorf("where nothing was played: %+v", got)
	}
}

func TestStripEcho(t *testing.T) {
	zero := time.Unix(1000, 0)
	said := spokenWords("open from nine to five on all days", zero)
	for _, test := range []struct{ heard, head, tail string }{
		{"to five what about holidays", "what about holidays", "to five what about holidays"},
		{"What about holidays?", "What about holidays?", "What about holidays?"},
		{"to what, then?", "what, then?", "to what, then?"},
		{"what about holidays all days.", "what about holidays all days.", "what about holidays"},
		{"all days", "", ""},
		{"", "", ""},
	} {
		heard := words(test.heard)
		if got := inner(test.heard, head(heard, said), len(heard)); got != test.head {
			t.Errorf("%q begins as %q, want %q", test.heard, got, test.head)
		}
		ended := said[len(said)-1].to.Add(150 * ms)
		if got := inner(test.heard, 0, len(heard)-tail(heard, said, ended)); got != test.tail {
			t.Errorf("%q ends as %q, want %q", test.heard, got, test.tail)
		}
		if n := tail(heard, said, ended.Add(time.Second)); n != 0 {
			t.Errorf("%d words of %q are an echo that comes a second late", n, test.heard)
		}
	}
}

// What was played when is known through pauses and cuts, with and without a voice that places its words.
func TestAloud(t *testing.T) {
	zero := time.Unix(1000, 0)
	at := func(d time.Duration) time.Time { return zero.Add(d) }
	var a aloud
	a.begin()
	a.say("One two three. ")
	for i := range 30 { // 600 ms, in frames
		a.play(at(time.Duration(i)*20*ms), 20*ms, nil)
	}
	a.say("Four five.")
	a.play(at(600*ms), 400*ms, []word{{4, 300 * ms}})
	a.play(at(1000*ms), 200*ms, []word{{10, 580 * ms}})
	texts := func(words []played) string {
		var out []string
		for _, w := range words {
			out = append(out, w.text)
		}
		return strings.Join(out, " ")
	}
	for _, test := range []struct {
		from, to time.Duration
		want     string
	}{
		{0, 100 * ms, "one"}, {0, 2000 * ms, "one two three four five"}, {650 * ms, 700 * ms, "four"}, {950 * ms, 1000 * ms, "five"}, {1300 * ms, 2000 * ms, ""},
	} {
		if got := texts(a.between(at(test.from), at(test.to))); got != test.want {
			t.Errorf("from %v to %v %q was played, want %q", test.from, test.to, got, test.want)
		}
	}
	if from, to, ok := a.run(at(700 * ms)); !ok || from != at(0) || to != at(1200*ms) {
		t.Errorf("it was played from %v to %v", from.Sub(zero), to.Sub(zero))
	}
	a.pause(at(900*ms), at(1900*ms))
	if got := texts(a.between(at(1950*ms), at(2000*ms))); got != "five" {
		t.Errorf("after a pause %q was played", got)
	}
	if from, to, _ := a.run(at(2000 * ms)); from != at(1900*ms) || to != at(2200*ms) {
		t.Errorf("after a pause it was played from %v to %v", from.Sub(zero), to.Sub(zero))
	}
	a.cut(at(700 * ms))
	if got := texts(a.between(at(0), at(5000*ms))); got != "one two three four" {
		t.Errorf("%q was played until it was cut", got)
	}
	if got := a.recent(); got != "One two three. Four five." {
		t.Errorf("recent is %q", got)
	}
	a.begin()
	a.say("Six.")
	if got := a.recent(); got != "Six." {
		t.Errorf("recent is %q, with the answer before", got)
	}
	for range 3 * mostUttered {
		a.say("and so on ")
	}
	if n := len(a.clauses); n != mostUttered {
		t.Errorf("%d clauses are kept", n)
	}
}
