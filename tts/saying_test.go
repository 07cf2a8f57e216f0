package tts

import (
	"slices"
	"strings"
	"testing"
)

// said returns what each word of a text is spoken as, by Sayings.
func said(text, lang string) (words, as []string) {
	spoken := Normalize(text, lang)
	from, at := 0, 0
	for _, s := range Sayings(text, spoken, lang) {
		words = append(words, strings.TrimSpace(text[from:s.End]))
		as = append(as, strings.Trim(spoken[at:s.Said], " -,.;:?!…"))
		from, at = s.End, s.Said
	}
	return words, as
}

func TestSayings(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string // Of each word.
	}{
		{"The train leaves at noon.", []string{"The", "train", "leaves", "at", "noon"}},
		{"It's 12:30.", []string{"It's", "twelve thirty"}},
		{"  So,\n\nwell - you know… ", []string{"So", "well", "", "you", "know"}},
		{"**Really good** and *nice*!", []string{"Really", "good", "and", "nice"}},
		{"# Title\n\n- one\n- two", []string{"", "Title", "", "one", "", "two"}},
		{"Great 🎉 job 👍!", []string{"Great", "", "job", ""}},
		{"🎉 Great", []string{"", "Great"}},
		{"We meet on 5 March 2024 at 3pm.", []string{"We", "meet", "on", "the fifth of", "March", "twenty twenty-four", "at", "three P-M"}},
		{"On March 5, 2024, we met.", []string{"On", "March", "fifth", "twenty twenty-four", "we", "met"}},
		{"On 2024-03-05 we met.", []string{"On", "March fifth, twenty twenty-four", "we", "met"}},
		{"It costs $3.50 today.", []string{"It", "costs", "three dollars and fifty cents", "today"}},
		{"They paid $5 million for it.", []string{"They", "paid", "five", "million dollars", "for", "it"}},
		{"Call 555-1234 or 555-9876 now.", []string{"Call", "five five five, one two three four", "or", "five five five, nine eight seven six", "now"}},
		{"Dr. Smith vs. Mr. Jones, etc.", []string{"Doctor", "Smith", "versus", "Mister", "Jones", "et cetera"}},
		{"See [our site](https://example.com) first.", []string{"See", "our", "site", "first"}},
		{"See https://example.com/a first.", []string{"See", "example dot com slash a", "first"}},
		{"Take 5 kg, 2 lb and 10% of it.", []string{"Take", "five", "kilograms", "two", "pounds", "and", "ten percent", "of", "it"}},
		{"a + b = c", []string{"a", "plus", "b", "equals", "c"}},
		{"R & D at 20 °C", []string{"R", "and", "D", "at", "twenty", "degrees Celsius"}},
		{"Plan A B C works", []string{"Plan", "A", "B", "C", "works"}},
		{"The U.S. won 3-2 in 1998.", []string{"The", "U-S", "won", "three to two", "in", "nineteen ninety-eight"}},
		{"well-known, state-of-the-art", []string{"well-known", "state-of-the-art"}},
		{"the 1st, 2nd and 3rd", []string{"the", "first", "second", "and", "third"}},
		{"between 10 and 20 people", []string{"between", "ten", "and", "twenty", "people"}},
		{"| a | b |\n|---|---|\n| c | d |", []string{"", "a", "", "b", "", "", "", "c", "", "d", ""}},
		{"```go\nx := 1\n```", nil},
		{"1. First\n2. Second", []string{"one", "First", "two", "Second"}},
		{"one\xff two", []string{"one", "two"}},
		{"🎉", []string{""}},
		{"", nil},
	} {
		words, as := said(tt.text, "en-us")
		if got := strings.Fields(tt.text); !slices.Equal(got, words) {
			t.Errorf("%q has the words %q", tt.text, words)
		}
		if tt.want != nil && !slices.Equal(as, tt.want) {
			t.Errorf("%q is spoken as\n%q, want\n%q", tt.text, as, tt.want)
		}
	}
}

// Whatever the text is, every word of it is there once, and their ends ascend up to the end of what is spoken.
func TestSayingsAscend(t *testing.T) {
	long := 2*band + 80 // more words than an alignment looks at from one of them
	for _, text := range append([]string{strings.Repeat("every good boy does 5 fine ", long/6), "12/25 " + strings.Repeat("word ", long), strings.Repeat("7 ", 100) + "end"}, sayingSeeds...) {
		checkSayings(t, text, "en")
	}
}

var sayingSeeds = []string{"It's 12:30.", "**a** $5 million", "\xff 🎉 - 1", "5 March 2024", "a--b - c", "  ", "<b>x</b> <!-- y z --> w"}

func checkSayings(t *testing.T, text, lang string) {
	t.Helper()
	spoken := Normalize(text, lang)
	all := Sayings(text, spoken, lang)
	if len(all) != len(strings.Fields(text)) {
		t.Fatalf("%q has %d words", text, len(all))
	}
	last := Saying{}
	for _, s := range all {
		if s.End <= last.End || s.Said < last.Said || s.Said > len(spoken) {
			t.Fatalf("%q: %v behind %v, of %q", text, s, last, spoken)
		}
		last = s
	}
	if rest := pieces(spoken[last.Said:]); len(rest) > 0 {
		t.Fatalf("%q: %q belongs to no word", text, spoken[last.Said:])
	}
}

func FuzzSayings(f *testing.F) {
	for _, s := range sayingSeeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkSayings(t, text, "en") })
}

func BenchmarkSayings(b *testing.B) {
	const text = "It's 12:30, and your table for four is booked for seven o'clock this evening."
	spoken := Normalize(text, "en")
	for b.Loop() {
		Sayings(text, spoken, "en")
	}
}

// In all texts whose normal form is known, a word of two letters or more that stands in both once is spoken as itself, whatever becomes of those
// around it.
func TestSayingsOfWhatIsNormalised(t *testing.T) {
	checked := 0
	for _, c := range readCases(t) {
		checkSayings(t, c[0], "en-us")
		words, as := said(c[0], "en-us")
		keys := map[string]int{}
		for _, w := range words {
			for _, p := range pieces(w) {
				keys[p.key]++
			}
		}
		spoken := map[string]int{}
		for _, p := range pieces(c[1]) {
			spoken[p.key]++
		}
		for i, w := range words {
			p := pieces(w)
			if len(p) != 1 || len(p[0].key) < 2 || keys[p[0].key] != 1 || spoken[p[0].key] != 1 {
				continue
			}
			checked++
			if !slices.ContainsFunc(pieces(as[i]), func(q piece) bool { return q.key == p[0].key }) {
				t.Errorf("%q of %q is spoken as %q", w, c[0], as[i])
			}
		}
	}
	if checked < 300 {
		t.Errorf("%d words were checked", checked)
	}
}
