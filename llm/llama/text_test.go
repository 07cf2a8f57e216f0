package llama

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestAnswerText(t *testing.T) {
	for name, test := range map[string]struct {
		stops   []string
		pieces  []string
		want    []string // What each push shows; the last is the rest, unless it stopped.
		stopped bool
	}{
		"plain":                   {pieces: []string{"Hello", " world"}, want: []string{"Hello", " world", ""}},
		"half characters":         {pieces: []string{"caf\xc3", "\xa9 \xf0\x9f", "\x98", "\x80!"}, want: []string{"caf", "é ", "", "😀!", ""}},
		"half a character at end": {pieces: []string{"a\xe2\x82"}, want: []string{"a", ""}},
		"not a character":         {pieces: []string{"a\xffb", "\xc3", "("}, want: []string{"a\uFFFDb", "", "\uFFFD(", ""}},
		"stop":                    {stops: []string{"END"}, pieces: []string{"go ", "END", ""}, want: []string{"go ", ""}, stopped: true},
		"stop in pieces":          {stops: []string{"\nUser:"}, pieces: []string{"Hi.\n", "Us", "er", ": x"}, want: []string{"Hi.", "", "", ""}, stopped: true},
		"not the stop after all":  {stops: []string{"\nUser:"}, pieces: []string{"Hi.\n", "Us", "ually"}, want: []string{"Hi.", "", "\nUsually", ""}},
		"held until the end":      {stops: []string{"###"}, pieces: []string{"a##"}, want: []string{"a", "##"}},
		"begins again":            {stops: []string{"aab"}, pieces: []string{"xaa", "ab"}, want: []string{"x", "a"}, stopped: true},
		"the earlier of two":      {stops: []string{"later", "now"}, pieces: []string{"right now or later"}, want: []string{"right "}, stopped: true},
		"empty stops are none":    {stops: []string{"", "z"}, pieces: []string{"ab"}, want: []string{"ab", ""}},
		"stop of many bytes":      {stops: []string{"é"}, pieces: []string{"a\xc3", "\xa9b"}, want: []string{"a", ""}, stopped: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAnswerText(test.stops)
			var got []string
			stopped := false
			for _, p := range test.pieces {
				var text string
				if text, stopped = a.push([]byte(p)); stopped {
					got = append(got, text)
					break
				}
				got = append(got, text)
			}
			if !stopped {
				got = append(got, a.rest())
			}
			if diff := cmp.Diff(test.want, got); diff != "" || stopped != test.stopped {
				t.Errorf("stopped %v: %s", stopped, diff)
			}
		})
	}
}

func FuzzAnswerText(f *testing.F) {
	f.Add("Hello\nUser: x", "\nUser:", 3)
	f.Add("caf\xc3\xa9 😀", "é", 1)
	f.Add("aaaaab", "aab", 2)
	f.Fuzz(func(t *testing.T, text, stop string, step int) {
		if step < 1 || !utf8.ValidString(stop) {
			return
		}
		a := newAnswerText([]string{stop})
		var shown strings.Builder
		stopped := false
		for rest := []byte(text); len(rest) > 0 && !stopped; {
			n := min(step, len(rest))
			var s string
			s, stopped = a.push(rest[:n])
			if !utf8.ValidString(s) {
				t.Fatalf("shown %q is not whole characters", s)
			}
			shown.WriteString(s)
			rest = rest[n:]
		}
		if !stopped {
			shown.WriteString(a.rest())
		}
		if stop != "" && strings.Contains(shown.String(), stop) {
			t.Fatalf("%q was shown with its stop %q", shown.String(), stop)
		}
		if utf8.ValidString(text) {
			want, _, _ := strings.Cut(text, stop)
			if stop == "" {
				want = text
			}
			if shown.String() != want {
				t.Fatalf("shown %q, want %q", shown.String(), want)
			}
		}
	})
}
