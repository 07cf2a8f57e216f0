package live

import (
	"slices"
	"strings"
	"unicode"

	"riposte/stt/wer"
)

// misheard is the share of the words of a text that a recogniser may get wrong.
const misheard = 0.25

// same reports whether a text is what was to be said, but for spelling and a word in four.
func same(want, got string) bool {
	return letters(want) == letters(got) || wer.WER(want, got).Rate() <= misheard
}

// letters returns a text as recognisers write it, without what stands between its words.
func letters(text string) string { return strings.Join(wer.Normalize(text), "") }

// begins reports whether a text is the beginning of another, and not all of it.
func begins(text, whole string) bool {
	t, w := words(text), words(whole)
	return len(t) > 0 && len(t) < len(w) && slices.Equal(t, w[:len(t)])
}

// words returns the words of a text that was written, not heard: in lower case, without punctuation.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' })
}

// sounds reports whether the words that are said to have been heard are those in which a recogniser heard the sound of them, but
// for a word at the end and a letter in four: the last word may have been cut.
func sounds(said, heard string) bool {
	const word = 6 // letters, a long one
	s, h := digits.Replace(letters(said)), digits.Replace(letters(heard))
	return distance(s, h) <= max(word, max(len(s), len(h))/4)
}

// digits are as long as they are spoken.
var digits = strings.NewReplacer("0", "zero", "1", "one", "2", "two", "3", "three", "4", "four", "5", "five", "6", "six", "7", "seven", "8", "eight", "9", "nine")

// distance returns how many letters have to be changed, left out or put in to make one text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			best := diagonal
			if a[i] != b[j] {
				best++
			}
			diagonal, row[j+1] = row[j+1], min(best, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
