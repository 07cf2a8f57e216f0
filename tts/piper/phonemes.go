package piper

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The phonemes with a meaning of their own in every Piper voice: start, the filler between all others, and end.
const (
	bos = "^"
	pad = "_"
	eos = "$"
)

// languageSwitch is how espeak-ng marks words of another language.
var languageSwitch = regexp.MustCompile(`\([a-z][a-z-]*\)`)

// letterA is an A that stands for itself: "vitamin A is", "grade A". At the beginning of a sentence, and ahead of a capital,
// it is the article, which is all that espeak-ng takes a lone A for.
var letterA = regexp.MustCompile(`([\pL\pN,] )A(?:( \p{Ll})|([.,;:!?)]|$))`)

// spellA writes the letter A as the word that sounds like it, for English.
func spellA(espeakVoice, text string) string {
	if !strings.HasPrefix(espeakVoice, "en") {
		return text
	}
	return letterA.ReplaceAllString(text, "${1}eh$2$3")
}

// decomposed returns phonemes in the characters that voices are trained on: a nasal vowel is the vowel and a tilde.
func decomposed(phonemes string) string { return norm.NFD.String(phonemes) }

// terminator returns the mark that ends the clause in span, which is all that is left of it in the phonemes: one of
// . , ? ! ; : or 0. The span may run a little into the next clause.
func terminator(span string) rune {
	span = span[:len(span)-readAhead(span)]
	end := rune(0)
	for len(span) > 0 {
		r, n := utf8.DecodeLastRuneInString(span)
		if !isMark(r) {
			break
		}
		if t := endMarks[r]; t != 0 {
			end = t // The first mark of several counts: "?!" asks, "..." ends.
		}
		span = span[:len(span)-n]
	}
	return end
}

// readAhead returns how many bytes of a span are letters of the next clause.
func readAhead(span string) int {
	if r, n := utf8.DecodeLastRuneInString(span); unicode.IsLetter(r) || unicode.IsNumber(r) {
		if cut := span[:len(span)-n]; strings.TrimFunc(cut, isMark) != cut { // Else the whole span is one word.
			return n
		}
	}
	return 0
}

// isMark reports whether r can stand between the last letter of a clause and the first of the next.
func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }

// endMarks are the marks that end clauses, and as which of the marks that voices know they count.
var endMarks = map[rune]rune{
	'.': '.', ',': ',', '?': '?', '!': '!', ';': ';', ':': ':',
	'…': '.', '—': ',', '–': ',', '。': '.', '、': ',', '，': ',', '？': '?', '！': '!', '；': ';', '：': ':', '؟': '?', '،': ',', '؛': ';', '।': '.', '¿': 0, '¡': 0,
}

// ids returns the numbers of the phonemes as the network takes them, nil where it knows none of them; for each character how
// many numbers there are up to it, without the filler behind it; and how many characters it does not know, which are left out.
func (v *voice) ids(phonemes string) (ids []int64, behind []int, unknown int) {
	known := false
	behind = make([]int, 0, len(phonemes))
	ids = make([]int64, 0, 2*len(phonemes)+4)
	ids = append(append(ids, v.PhonemeIDs[bos]...), v.PhonemeIDs[pad]...)
	add := func(p string) {
		numbers, ok := v.PhonemeIDs[p]
		if !ok {
			unknown++
			return
		}
		known = known || p != " "
		for _, id := range numbers {
			ids = append(append(ids, id), v.PhonemeIDs[pad]...)
		}
	}
	for _, r := range decomposed(phonemes) {
		p := string(r)
		if mapped, ok := v.PhonemeMap[p]; ok {
			for _, m := range mapped {
				add(m)
			}
		} else {
			add(p)
		}
		behind = append(behind, len(ids)-len(v.PhonemeIDs[pad]))
	}
	if !known {
		return nil, nil, unknown
	}
	return append(ids, v.PhonemeIDs[eos]...), behind, unknown
}
