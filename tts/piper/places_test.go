package piper

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/tts"
)

// heardAs returns the phonemes of each word of a text, by where the words end.
func heardAs(t testing.TB, text string) []string {
	t.Helper()
	said, err := read("en-us", text)
	if err != nil {
		t.Fatal(err)
	}
	words, err := said.places("en-us", text)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	last := place{}
	for _, w := range words {
		var b strings.Builder
		for ; last.unit < w.place.unit; last = (place{last.unit + 1, 0}) {
			b.WriteString(string([]rune(said.units[last.unit].phonemes)[last.behind:]))
		}
		b.WriteString(string([]rune(said.units[last.unit].phonemes)[last.behind:w.place.behind]))
		last = w.place
		all = append(all, strings.TrimSpace(strings.TrimLeft(b.String(), " .,?!;:")))
	}
	return all
}

// espeak-ng runs words into each other and takes others apart: the places of words are found nevertheless.
func TestPlacesOfWords(t *testing.T) {
	needEspeak(t)
	for _, tt := range []struct{ text, want string }{
		{"Your table for four is booked.", "jʊɹ tˈeɪbəl fɔːɹ fˈoːɹ ɪz bˈʊkt"},
		{"I think that the end of the world is out of it, for a while.", "aɪ θˈɪŋk ðæt ðɪ ˈɛnd ʌv ðə wˈɜːld ɪz ˌaʊɾ əv ɪt fɚɹ ə wˈaɪl"},
		{"In nineteen ninety-eight the U-S team got it. I am at ten A-M.", "ɪn nˈaɪntiːn nˈaɪnti ˈeɪt ðə jˈuː ˈɛs tˈiːm ɡˈɑːt ɪt aɪ ɐm æt tˈɛn ˈeɪ ˈɛm"},
		{"vitamin A, I said. A cat? I do.", "vˈaɪɾəmɪn ˈeɪ aɪ sˈɛd ɐ kˈæt aɪ dˈuː"},
		{"you? I", "juː ˈaɪ"},
		{"...", ""},
	} {
		if diff := cmp.Diff(strings.Fields(tt.want), heardAs(t, tt.text)); diff != "" && tt.want != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
	// What is cut into units is none the less in its place.
	for i, p := range heardAs(t, strings.Repeat("wonderful day ", 100)) {
		if want := []string{"wˈʌndɚfəl", "dˈeɪ"}[i%2]; p != want {
			t.Fatalf("word %d is %q, want %q", i, p, want)
		}
	}
}

func FuzzPlaces(f *testing.F) {
	for _, s := range []string{"Hello, world.", "a - b-c", "A B? I", "你好。世界", strings.Repeat("ab, ", 100), "1 2 3", "x\u0303y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		needEspeak(t)
		text = tts.Normalize(text, "en")
		said, err := read("en-us", text)
		if err != nil {
			t.Fatal(err)
		}
		words, err := said.places("en-us", text)
		if err != nil {
			t.Fatal(err)
		}
		last := place{}
		for _, w := range words {
			p := w.place
			if p.unit < last.unit || p.unit == last.unit && p.behind < last.behind {
				t.Fatalf("%q: %v behind %v", text, p, last)
			}
			if p != (place{}) && p.behind > len([]rune(said.units[p.unit].phonemes)) {
				t.Fatalf("%q: %v in %q", text, p, said.units[p.unit].phonemes)
			}
			last = p
		}
	})
}
