package tts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Saying is a word of a text, as white space separates them, and what it became in the text as it is spoken.
type Saying struct {
	End  int // The byte in the text behind the word.
	Said int // The byte in the spoken text behind what the word is spoken as; where it is not spoken, that of the word before.
}

// Sayings returns the words of a text and where each ends in said, which is what Normalize made of the text for lang. Words
// that stand for themselves are found as they are. Others, such as "12:30" and "$5", are normalised one by one; where words
// are spoken together in another order, as in "$5 million", the last of them gets what is left.
func Sayings(text, said, lang string) []Saying {
	var all []Saying
	var written []piece
	for from, to := range words(text) {
		word := text[from:to]
		i := len(all)
		all = append(all, Saying{End: to})
		itself := isPlain(word)
		if !itself {
			word = Normalize(word, lang)
		}
		for _, p := range pieces(word) {
			p.word, p.itself = i, itself
			written = append(written, p)
		}
	}
	spoken := pieces(said)
	own(written, spoken, len(all))
	for _, p := range spoken {
		all[p.word].Said = p.end
	}
	for i := 1; i < len(all); i++ {
		all[i].Said = max(all[i].Said, all[i-1].Said)
	}
	return all
}

// piece is a word, or what hyphens separate in one: "U-S" may stand for two words.
type piece struct {
	key    string // Its letters and numbers, in lower case.
	end    int    // The byte behind it.
	word   int    // The word of the text that it belongs to.
	itself bool   // Whether that word is spoken as it is written, as far as its looks tell.
}

// pieces returns the pieces of a text that hold something to pronounce.
func pieces(text string) []piece {
	var all []piece
	for from, to := range words(text) {
		for from < to {
			end := to
			if i := strings.IndexAny(text[from:to], "-–"); i >= 0 {
				end = from + i
			}
			if key := strings.ToLower(strings.Map(pronounced, text[from:end])); key != "" {
				all = append(all, piece{key: key, end: end})
			}
			_, n := utf8.DecodeRuneInString(text[end:])
			from = end + n
		}
	}
	return all
}

// own says which word of the text each spoken piece belongs to, of so many.
func own(written, spoken []piece, words int) {
	from := Align(len(written), len(spoken), Costs{
		Pair: func(i, j int) int { return unlike(written[i], spoken[j]) },
		Skip: func(i int) int {
			if written[i].itself {
				return 3
			}
			return 2
		},
		Add: func(int) int { return 2 },
	})
	word := -1
	for j := 0; j < len(spoken); {
		if i := from[j]; i >= 0 {
			word = written[i].word
			spoken[j].word = word
			j++
			continue
		}
		// What was put in belongs to what is not spoken otherwise, if there is such a word, and else to the word ahead of it.
		next, k := words, j
		for ; k < len(spoken); k++ {
			if from[k] >= 0 {
				next = written[from[k]].word
				break
			}
		}
		word = max(word, next-1, 0)
		for ; j < k; j++ {
			spoken[j].word = word
		}
	}
}

// unlike returns what it costs that a word is spoken as another.
func unlike(written, spoken piece) int {
	switch {
	case written.key == spoken.key:
		return 0
	case len(written.key) >= 3 && strings.HasPrefix(spoken.key, written.key[:3]):
		return 2
	case written.itself:
		return 4
	}
	return 3
}

// words yields where the words of a text begin and end.
func words(text string) func(yield func(from, to int) bool) {
	return func(yield func(from, to int) bool) {
		from := -1
		for i, r := range text {
			switch space := unicode.IsSpace(r); {
			case space && from >= 0:
				if !yield(from, i) {
					return
				}
				from = -1
			case !space && from < 0:
				from = i
			}
		}
		if from >= 0 {
			yield(from, len(text))
		}
	}
}

// isPlain reports whether a word is made of letters alone, but for the marks around and inside of it.
func isPlain(word string) bool {
	inner := strings.Trim(word, `.,;:?!'’"“”()…*_`)
	return inner != "" && !strings.ContainsFunc(inner, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !slices.Contains([]rune{'\'', '’', '-'}, r)
	})
}

// pronounced keeps the letters and numbers of a word.
func pronounced(r rune) rune {
	if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
		return r
	}
	return -1
}
