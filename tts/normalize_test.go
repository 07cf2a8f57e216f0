package tts

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// readCases reads testdata/normalize.txt: lines "text => what is said", with headings between them.
func readCases(t testing.TB) [][2]string {
	t.Helper()
	b, err := os.ReadFile("testdata/normalize.txt")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][2]string
	for line := range strings.Lines(string(b)) {
		if text, said, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " => "); ok {
			cases = append(cases, [2]string{text, said})
		}
	}
	return cases
}

func TestNormalizeEnglish(t *testing.T) {
	cases := readCases(t)
	if len(cases) < 120 {
		t.Fatalf("%d cases were read, want 120 or more", len(cases))
	}
	for _, c := range cases {
		if got := Normalize(c[0], "en-us"); got != c[1] {
			t.Errorf("%s\n got %s\nwant %s", c[0], got, c[1])
		}
		if again := Normalize(c[1], "en-us"); again != c[1] {
			t.Errorf("said once: %s\nsaid twice: %s", c[1], again)
		}
	}
}

func TestNormalizeBlocks(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a list", "You need:\n- milk\n- two eggs\n- *salt*.\n", "You need: milk. two eggs. salt."},
		{"steps", "1. Wash it\n2) Dry it\n", "one: Wash it. two: Dry it."},
		{"a heading", "# Menu\nSoup of the day", "Menu. Soup of the day"},
		{"wrapped lines", "This is one\nsentence.", "This is one sentence."},
		{"paragraphs", "First\n\nSecond", "First. Second"},
		{"code", "Run:\n```go\nfmt.Println\n```\nDone", "Run: fmt. Println. Done"},
		{"a table", "| Day | Price |\n|---|---:|\n| Mon | $5 |", "Day, Price. Mon, five dollars"},
		{"rulers", "Above\n\n---\n\nBelow", "Above. Below"},
		{"quotes", "> one\n> two", "one two"},
		{"links by reference", "See [the docs][1].\n\n[1]: https://example.com", "See the docs."},
		{"Windows lines", "One.\r\nTwo.", "One. Two."},
		{"a comment", "Yes <!-- do not say this --> please", "Yes please"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Normalize(tt.text, "en"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDatesFollowTheLanguage(t *testing.T) {
	for lang, want := range map[string]string{
		"en": "March fourth, twenty twenty-five", "en-us": "March fourth, twenty twenty-five", "en-gb": "April third, twenty twenty-five", "en_GB": "April third, twenty twenty-five",
	} {
		if got := Normalize("03/04/2025", lang); got != want {
			t.Errorf("%s: got %q, want %q", lang, got, want)
		}
	}
}

func TestOtherLanguagesKeepTheirNumbers(t *testing.T) {
	for _, tt := range []struct{ lang, text, want string }{
		{"de", "**Es kostet** 5 Euro 😀.", "Es kostet 5 Euro."},
		{"fr", "# Bonjour\n- *un* œuf", "Bonjour. un œuf"},
		{"zh", "你好，世界！", "你好，世界！"},
		{"", "3 _Dinge_", "3 Dinge"},
	} {
		if got := Normalize(tt.text, tt.lang); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.lang, got, tt.want)
		}
	}
}

// unspeakable finds what no voice may get to see.
func unspeakable(said string) rune {
	for _, r := range said {
		if strings.ContainsRune("*_`#~|<>[]{}\\/=+^$€£%@&°\n\r\t", r) || unicode.IsControl(r) || isEmoji(r) {
			return r
		}
	}
	return 0
}

func TestNumbersAreWords(t *testing.T) {
	for n, want := range map[int64]string{
		0: "zero", 13: "thirteen", 20: "twenty", 21: "twenty-one", 100: "one hundred", 101: "one hundred one", 999: "nine hundred ninety-nine",
		1000: "one thousand", 1001: "one thousand one", 1_000_000: "one million", 1_002_003: "one million two thousand three",
		9_223_372_036_854_775_807: "nine quintillion two hundred twenty-three quadrillion three hundred seventy-two trillion thirty-six billion eight hundred fifty-four million seven hundred seventy-five thousand eight hundred seven",
	} {
		if got := cardinal(n); got != want {
			t.Errorf("cardinal(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{1: "first", 2: "second", 3: "third", 5: "fifth", 8: "eighth", 9: "ninth", 12: "twelfth", 20: "twentieth", 21: "twenty-first", 40: "fortieth", 100: "one hundredth", 1012: "one thousand twelfth"} {
		if got := ordinal(n); got != want {
			t.Errorf("ordinal(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{476: "four hundred seventy-six", 1066: "ten sixty-six", 1900: "nineteen hundred", 1905: "nineteen oh five", 2000: "two thousand", 2009: "two thousand nine", 2026: "twenty twenty-six", 1776: "seventeen seventy-six"} {
		if got := year(n); got != want {
			t.Errorf("year(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c[0])
	}
	f.Add("**\n# \x00\xff[](){}<>\n| a\n|-|")
	f.Fuzz(func(t *testing.T, text string) {
		for _, lang := range []string{"en", "en-gb", "de"} {
			said := Normalize(text, lang)
			if !utf8.ValidString(said) {
				t.Fatalf("%s: %q became %q, which is not UTF-8", lang, text, said)
			}
			if r := unspeakable(said); r != 0 {
				t.Fatalf("%s: %q became %q, which holds %q", lang, text, said, r)
			}
			if lang != "de" {
				if i := strings.IndexAny(said, "0123456789"); i >= 0 {
					t.Fatalf("%s: %q became %q, which holds digits", lang, text, said)
				}
			}
			if said != "" && !strings.ContainsFunc(said, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
				t.Fatalf("%s: %q became %q, in which nothing can be pronounced", lang, text, said)
			}
		}
	})
}

func BenchmarkNormalizeWords(b *testing.B) {
	for b.Loop() {
		Normalize("I can certainly help you with that, so please tell me a bit more about it.", "en-us")
	}
}

func BenchmarkNormalize(b *testing.B) {
	for b.Loop() {
		Normalize("Your table for **four** is booked for 7:30 p.m. on March 5th, and it costs $12.50 each.", "en-us")
	}
}
