package whisper

import (
	"math"
	"slices"
	"strings"
	"testing"

	"riposte/audio"
)

func tokensOf(texts ...string) []token {
	var all []token
	for i, t := range texts {
		all = append(all, token{id: int32(i), text: t})
	}
	return all
}

func TestSpoken(t *testing.T) {
	for name, test := range map[string]struct {
		language string
		tokens   []string
		want     string
	}{
		"spaces":        {"en", []string{" Hel", "lo", ",", " you", "."}, " Hello,| you."},
		"none first":    {"en", []string{"Hello", " you"}, "Hello| you"},
		"Chinese":       {"zh", []string{"你", "好", "，", "世界"}, "你|好，|世界"},
		"half a letter": {"zh", []string{"\xe4\xbd", "\xa0", "好"}, "你|好"},
	} {
		var got []string
		for _, w := range spoken(tokensOf(test.tokens...), test.language) {
			got = append(got, w.text)
		}
		if s := strings.Join(got, "|"); s != test.want {
			t.Errorf("%s: %q, want %q", name, s, test.want)
		}
	}
}

// What is no word has no place among the words.
func TestKept(t *testing.T) {
	all := tokensOf(" Well", ",", " [", "door", " shuts", "]", " good", "bye", ".")
	var got []string
	for _, w := range kept(spoken(all, "en"), strings.Fields(words(all))) {
		got = append(got, w.text)
	}
	if s := strings.Join(got, ""); s != " Well, goodbye." {
		t.Errorf("kept %q", s)
	}
}

// Words end where that is likeliest of all together, which for one alone may be elsewhere.
func TestPlace(t *testing.T) {
	const steps = 100
	p := passage{samples: (steps - 1) * levelFrame, words: spoken(tokensOf(" one", " two", " three."), "en")}
	ends := make([]float32, 3*steps)
	for i := range ends {
		ends[i] = -10
	}
	for i, step := range []int{30, 50, 90} {
		ends[i*steps+step] = -1
	}
	ends[1*steps+20] = -0.5 // before the first word has ended
	samples := make([]float32, p.samples)
	for i := range samples {
		if step := i / levelFrame; step < 48 || step >= 60 {
			samples[i] = float32(math.Sin(float64(i))) / 2
		}
	}
	p.place(ends, steps, samples)
	var got []int
	for _, w := range p.words {
		got = append(got, w.from, w.to)
	}
	if want := []int{0, 30, 30, 48, 60, 90}; !slices.Equal(got, want) {
		t.Errorf("the words lie at %v, want %v", got, want)
	}
	s := p.segments(audio.SpeechRate, true)
	if len(s) != 1 || s[0].Text != "one two three." || s[0].From.Seconds() != 1 || s[0].To.Milliseconds() != 2800 || len(s[0].Words) != 3 || len(s[0].Tokens) != 3 || len(s[0].Pieces) != 3 || s[0].Pieces[1].Text != " two" {
		t.Errorf("got %+v", s)
	}
}

// However many words there are, they have places.
func TestPlaceTooMany(t *testing.T) {
	p := passage{samples: 4 * levelFrame, words: spoken(tokensOf(" one", " two", " three", " four", " five"), "en")}
	p.place(make([]float32, 5*5), 5, make([]float32, p.samples))
	for i, w := range p.words {
		if w.from < 0 || w.to < w.from || w.to > 4 || i > 0 && w.from < p.words[i-1].from {
			t.Errorf("%q lies at %d to %d", w.text, w.from, w.to)
		}
	}
}
