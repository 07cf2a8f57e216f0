package piper

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"riposte/native/nativetest"
	"riposte/tts"
)

// needEspeak loads espeak-ng, or skips where it is not on this machine.
func needEspeak(t testing.TB) {
	t.Helper()
	if err := openEspeak(""); err != nil {
		if os.Getenv(nativetest.Required) == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestUnitsKeepTheMarks(t *testing.T) {
	needEspeak(t)
	for _, tt := range []struct {
		text string
		want []unit
	}{
		{"Hello, world.", []unit{{"həlˈoʊ, wˈɜːld.", true}}},
		{"Yes", []unit{{"jˈɛs", true}}},
		{"Yes,", []unit{{"jˈɛs,", true}}},
		{"How are you? Fine!", []unit{{"hˈaʊ ɑːɹ juː?", true}, {"fˈaɪn!", true}}},
		{"Thanks: yes; no", []unit{{"θˈæŋks: jˈɛs; nˈoʊ", true}}},
		{"What?! No...", []unit{{"wˌʌt?", true}, {"nˈoʊ.", true}}},
		{`He said "go." Then left.`, []unit{{"hiː sˈɛd ɡˈoʊ.", true}, {"ðˈɛn lˈɛft.", true}}},
		{"I'm (really) fine.", []unit{{"aɪm ɹˈiəli fˈaɪn.", true}}},
		{"If you wait for a moment, I look it up, right now. And then, so to speak, I call you.", []unit{
			{"ɪf juː wˈeɪt fɚɹə mˈoʊmənt,", false}, {"aɪ lˈʊk ɪɾ ˈʌp, ɹˈaɪt nˈaʊ.", true}, {"ænd ðˈɛn, sˌoʊ tə spˈiːk, aɪ kˈɔːl juː.", true},
		}},
		{"", nil},
		{" ... ", nil},
	} {
		got, err := units("en-us", tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(unit{})); diff != "" {
			t.Errorf("%q: %s", tt.text, diff)
		}
	}
}

// A voice that takes a lone A for the article says "ten uh em" in the morning.
func TestLettersAreSpokenAsLetters(t *testing.T) {
	needEspeak(t)
	const letter, article = "eɪ", "ɐ"
	for text, want := range map[string]string{
		"at 10:30 a.m. sharp": letter, "at 10 AM": letter, "an A.I. model": letter, "the AI": letter, "AT&T": letter, "AD 79": letter, "vitamin A is good": letter,
		"plan A": letter, "an A+ student": letter, "Q&A is next": letter, "N/A": letter,
		"a cat": article, "A cat": article, "I read A Tale": article,
	} {
		got, err := units("en-us", tts.Normalize(text, "en-us"))
		if err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
		if !strings.Contains(got[0].phonemes, want) || want == letter && strings.Contains(got[0].phonemes, article+" ") {
			t.Errorf("%q is %s", text, got[0].phonemes)
		}
	}
	if got := spellA("de", "Plan A ist"); got != "Plan A ist" {
		t.Errorf("German reads %q", got)
	}
}

func TestTerminator(t *testing.T) {
	for span, want := range map[string]rune{
		"Hello, w": ',', "orld. H": '.', "you? I": '?', "fine; t": ';', "hanks: y": ':', "es!": '!', "Wait... w": '.', "hat?! (": '?', "no — y": ',', "Hello… t": '.',
		`"go." `: '.', "es": 0, "": 0, "a": 0, "one\ntwo\n\nt": 0, "你好。世": '.', "U.S.A. is big": 0,
	} {
		if got := terminator(span); got != want {
			t.Errorf("%q ends with %q, want %q", span, got, want)
		}
	}
}

func TestLongSentencesAreCutBetweenWords(t *testing.T) {
	needEspeak(t)
	word := "wonderful "
	one, err := units("en-us", word)
	if err != nil {
		t.Fatal(err)
	}
	all, err := units("en-us", strings.Repeat(word, 200))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Errorf("%d units", len(all))
	}
	words := 0
	for i, u := range all {
		if n := utf8.RuneCountInString(u.phonemes); n > maxUnit {
			t.Errorf("unit %d has %d phonemes", i, n)
		}
		if u.sentence != (i == len(all)-1) {
			t.Errorf("unit %d of %d: sentence is %v", i, len(all), u.sentence)
		}
		words += len(strings.Fields(u.phonemes))
	}
	if want := 200 * len(strings.Fields(one[0].phonemes)); words != want {
		t.Errorf("%d words, want %d", words, want)
	}
	if head, rest := cutWords(strings.Repeat("a", 250), maxUnit); len(head) != maxUnit || len(rest) != 50 {
		t.Errorf("a word of 250 is cut into %d and %d", len(head), len(rest))
	}
}

func TestIDs(t *testing.T) {
	v := &voice{
		PhonemeIDs: map[string][]int64{bos: {1}, pad: {0}, eos: {2}, " ": {3}, "a": {10}, "\u0303": {11}, "x": {20, 21}, "b": {12}},
		PhonemeMap: map[string][]string{"c": {"b", "a"}},
	}
	for _, tt := range []struct {
		phonemes string
		ids      []int64
		unknown  int
	}{
		{"a", []int64{1, 0, 10, 0, 2}, 0},
		{"ã a", []int64{1, 0, 10, 0, 11, 0, 3, 0, 10, 0, 2}, 0}, // Decomposed into the vowel and its tilde.
		{"x", []int64{1, 0, 20, 0, 21, 0, 2}, 0},
		{"c", []int64{1, 0, 12, 0, 10, 0, 2}, 0},
		{"a?z", []int64{1, 0, 10, 0, 2}, 2},
		{"?z", nil, 2},
		{" ", nil, 0},
		{"", nil, 0},
	} {
		ids, _, unknown := v.ids(tt.phonemes)
		if diff := cmp.Diff(tt.ids, ids); diff != "" || unknown != tt.unknown {
			t.Errorf("%q: %d unknown, want %d; %s", tt.phonemes, unknown, tt.unknown, diff)
		}
	}
}

func TestVoicesShareEspeak(t *testing.T) {
	needEspeak(t)
	want := map[string]string{}
	for _, v := range []string{"en-us", "de", "fr"} {
		u, err := units(v, "Station.")
		if err != nil {
			t.Fatal(err)
		}
		want[v] = u[0].phonemes
	}
	if want["en-us"] == want["de"] || want["de"] == want["fr"] {
		t.Fatalf("languages sound the same: %q", want)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		v := []string{"en-us", "de", "fr"}[i%3]
		wg.Go(func() {
			for range 50 {
				if u, err := units(v, "Station."); err != nil || u[0].phonemes != want[v] {
					t.Errorf("%s: %v %v, want %q", v, u, err, want[v])
					return
				}
			}
		})
	}
	wg.Wait()
	if _, err := units("xx-nowhere", "Hi."); !errors.Is(err, ErrEspeak) {
		t.Errorf("an unknown voice: %v, want %v", err, ErrEspeak)
	}
}

func FuzzUnits(f *testing.F) {
	for _, s := range []string{"Hello, world.", "a\x00b", "\xff\xfe", "[[h@l'oU]] <speak>", "1 2 3", "你好。", strings.Repeat("ab, ", 300)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		needEspeak(t)
		all, err := units("en-us", strings.ToValidUTF8(text, " "))
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range all {
			if n := utf8.RuneCountInString(u.phonemes); n > maxUnit+2 {
				t.Fatalf("%d phonemes in a unit", n)
			}
		}
	})
}

func BenchmarkUnits(b *testing.B) {
	needEspeak(b)
	for b.Loop() {
		if _, err := units("en-us", sentence); err != nil {
			b.Fatal(err)
		}
	}
}
