package wer

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWER(t *testing.T) {
	for _, tt := range []struct {
		ref, hyp string
		want     Count
	}{
		{"", "", Count{}},
		{"yes", "yes", Count{Words: 1}},
		{"yes", "", Count{Deleted: 1, Words: 1}},
		{"", "thank you", Count{Inserted: 2}},
		{"the cat sat", "the cat sat", Count{Words: 3}},
		{"the cat sat", "the bat sat", Count{Substituted: 1, Words: 3}},
		{"the cat sat", "the sat", Count{Deleted: 1, Words: 3}},
		{"the cat sat", "the old cat sat", Count{Inserted: 1, Words: 3}},
		{"p b c d f g", "x b d f g h", Count{Substituted: 1, Deleted: 1, Inserted: 1, Words: 6}},
		{"The Cat, sat.", "the cat sat!", Count{Words: 3}},
		{"i'm sorry mister quilter", "I am sorry, Mr. Quilter.", Count{Words: 5}},
		{"brew a sixteen ounce coffee", "Brew a 16oz coffee.", Count{Words: 5}},
	} {
		if got := WER(tt.ref, tt.hyp); got != tt.want {
			t.Errorf("WER(%q, %q) = %+v, want %+v", tt.ref, tt.hyp, got, tt.want)
		}
	}
}

func TestRate(t *testing.T) {
	for _, tt := range []struct {
		c    Count
		want float64
	}{
		{Count{}, 0},
		{Count{Inserted: 1}, math.Inf(1)},
		{Count{Substituted: 1, Deleted: 1, Inserted: 1, Words: 6}, 0.5},
		{Count{Inserted: 4, Words: 2}, 2},
		{Count{Words: 3}.Add(Count{Deleted: 1, Words: 1}), 0.25},
	} {
		if got := tt.c.Rate(); got != tt.want {
			t.Errorf("%+v: rate = %v, want %v", tt.c, got, tt.want)
		}
	}
}

// TestNormalizeSame holds texts that were said alike, however they are written.
func TestNormalizeSame(t *testing.T) {
	for _, same := range [][]string{
		{"20", "twenty", "Twenty.", "20."},
		{"16 oz", "sixteen ounce", "16oz", "16 ounces", "16-ounce", "Sixteen-ounce"},
		{"8oz", "eight ounce"},
		{"21", "twenty-one", "twenty one"},
		{"105", "one hundred and five", "one hundred five", "one oh five", "a hundred and five"},
		{"1984", "nineteen eighty-four"},
		{"2019", "two thousand nineteen", "two thousand and nineteen", "twenty nineteen"},
		{"1,250,000", "one million two hundred fifty thousand", "1250000"},
		{"5 million people", "five million people", "5,000,000 people"},
		{"555-1234", "five five five one two three four", "5551234"},
		{"3.5", "three point five"},
		{"3.5 million", "three point five million"},
		{"21st", "twenty first", "twenty-first"},
		{"5:30 p.m.", "five thirty pm", "5:30pm"},
		{"$5", "five dollars", "5 dollars"},
		{"$5 million", "five million dollars"},
		{"50%", "fifty percent", "50 percent"},
		{"one third of it", "One-third of it"},
		{"I'm", "i am", "I’m"},
		{"can't", "cannot", "can not"},
		{"won't", "will not"},
		{"It's what they've said, isn't it?", "it is what they have said is not it"},
		{"you'll", "you will"},
		{"the culprit's name", "the culprits name"},
		{"Mr. Smith", "mister smith", "Mr Smith"},
		{"Dr. Who", "doctor who"},
		{"ok", "OK", "okay", "O.K."},
		{"cold-hearted", "cold hearted"},
		{"uh yes", "yes, um", "Yes."},
		{"[BLANK_AUDIO] yes (laughs)", "yes", "*sighs* Yes", "♪ la la ♪ yes"},
		{"what colour is the centre", "what color is the center"},
		{"he organised it", "he organized it"},
		{"rock & roll", "rock and roll"},
		{"the U.S.A. team", "the usa team"},
	} {
		want := Normalize(same[0])
		for _, s := range same[1:] {
			if diff := cmp.Diff(want, Normalize(s)); diff != "" {
				t.Errorf("%q and %q (-first +second):\n%s", same[0], s, diff)
			}
		}
	}
}

// TestNormalizeExact pins what is kept apart, and how numbers end up.
func TestNormalizeExact(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"... - ' .":                            "",
		"Ask not what your country can do":     "ask not what your country can do",
		"one two three":                        "123",
		"three hundred sixty five days":        "365 days",
		"twelve hundred":                       "1200",
		"one hundred thousand and two":         "100002",
		"a cat and a hundred dogs":             "a cat and 100 dogs",
		"two and three":                        "2 and 3",
		"at that point five people left":       "at that point 5 people left",
		"he is twenty oh no":                   "he is 20 oh no",
		"wait a second":                        "wait a second",
		"the first time":                       "the 1st time",
		"one hundred and eleventh":             "111th",
		"el niño está aquí":                    "el niño está aquí",
		"the dogs' bowl":                       "the dogs bowl",
		"don't you think he'd go":              "do not you think he would go",
		"see example.com today":                "see example com today",
		"thousand":                             "1000",
		"one million one hundred thousand one": "1100001",
		"99999999999999999999 million":         "999999999999999999991000000",
	} {
		if got := strings.Join(Normalize(text), " "); got != want {
			t.Errorf("Normalize(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, s := range []string{"", "Mr. Smith's 16oz", "one hundred and five point two million first", "$3.50 and a thousand thousand oh", "'’.\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = s[:min(len(s), 1000)] // Aligning takes the square of it.
		words := Normalize(s)
		for _, w := range words {
			if w == "" || strings.ContainsAny(w, " \t\n") {
				t.Fatalf("%q has the word %q", s, w)
			}
		}
		if c := WER(s, s); c.Errors() != 0 || c.Words != len(words) {
			t.Fatalf("WER(%q, itself) = %+v", s, c)
		}
	})
}
