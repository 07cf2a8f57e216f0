//go:build cgo

package whisper

import (
	"strings"
	"testing"
)

func TestLoopPeriod(t *testing.T) {
	phrase := "ask not what your country can do for you "
	for _, tt := range []struct {
		words string
		want  int
	}{
		{"", 0}, {"yes", 0}, {"no no no no no", 0}, {strings.Repeat("no ", 11), 0}, {strings.Repeat("no ", 12), 1}, {"well " + strings.Repeat("no ", 12), 1},
		{strings.Repeat("bye now ", 5), 0}, {strings.Repeat("bye now ", 6), 2}, {strings.Repeat("a b c d ", 3), 4}, {strings.Repeat(phrase, 2), 0},
		{strings.Repeat(phrase, 3), 9}, {strings.Repeat(phrase, 3) + "then", 0}, {"x y " + strings.Repeat(phrase, 3), 9},
	} {
		var ids []int32
		for _, tok := range text(tt.words).tokens {
			ids = append(ids, tok.id)
		}
		if got := loopPeriod(ids); got != tt.want {
			t.Errorf("%q: a loop of %d, want %d", tt.words, got, tt.want)
		}
	}
}
