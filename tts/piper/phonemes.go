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

// maxUnit is how many phonemes are spoken in one go: about 15 s, so that a long text takes no more memory than a short one.
const maxUnit = 200

// firstUnit is how many phonemes the first unit has at least before it ends with a clause, not only with a sentence: the text
// part works on whole units, and its time grows with them. Between clauses a voice rests as long as inside of a unit.
const firstUnit = 24

// unit is what the network speaks in one go: a sentence, or a part of a long one.
type unit struct {
	phonemes string
	sentence bool // Whether a sentence ends with it.
}

// open reports whether the unit ends without a mark, so that what follows belongs to it.
func (u unit) open() bool {
	last, _ := utf8.DecodeLastRuneInString(u.phonemes)
	return !strings.ContainsRune(".,?!;:", last)
}

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

// units turns text into what is spoken in one go. Text without anything to pronounce gives none.
func units(espeakVoice, text string) ([]unit, error) {
	var all []unit
	var now strings.Builder
	flush := func(sentence bool) {
		if p := strings.TrimSpace(now.String()); p != "" {
			all = append(all, unit{p, sentence})
		}
		now.Reset()
	}
	err := readClauses(espeakVoice, spellA(espeakVoice, text), func(phonemes, span string) {
		phonemes = strings.Join(strings.Fields(languageSwitch.ReplaceAllString(phonemes, "")), " ")
		if phonemes == "" {
			return
		}
		if utf8.RuneCountInString(now.String())+utf8.RuneCountInString(phonemes) > maxUnit {
			flush(false)
		}
		for utf8.RuneCountInString(phonemes) > maxUnit {
			head, rest := cutWords(phonemes, maxUnit)
			now.WriteString(head)
			flush(false)
			phonemes = rest
		}
		now.WriteString(phonemes)
		end := terminator(span)
		if end != 0 {
			now.WriteRune(end)
		}
		if end == '.' || end == '?' || end == '!' {
			flush(true)
			return
		}
		if end != 0 && len(all) == 0 && utf8.RuneCountInString(now.String()) >= firstUnit {
			flush(false)
			return
		}
		now.WriteByte(' ')
	})
	flush(true)
	return all, err
}

// cutWords cuts after the last word that ends within n characters; in the middle of a word where the first is longer.
func cutWords(s string, n int) (head, rest string) {
	at, space, count := len(s), -1, 0
	for i, r := range s {
		if count == n {
			at = i
			break
		}
		if r == ' ' {
			space = i
		}
		count++
	}
	if at < len(s) && space > 0 {
		at = space
	}
	return s[:at], strings.TrimSpace(s[at:])
}

// terminator returns the mark that ends the clause in span, which is all that is left of it in the phonemes: one of
// . , ? ! ; : or 0. The span may run a little into the next clause.
func terminator(span string) rune {
	if r, n := utf8.DecodeLastRuneInString(span); unicode.IsLetter(r) || unicode.IsNumber(r) {
		// What was read ahead, unless the whole span is one word.
		if cut := span[:len(span)-n]; strings.TrimFunc(cut, isMark) != cut {
			span = cut
		}
	}
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

// isMark reports whether r can stand between the last letter of a clause and the first of the next.
func isMark(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }

// endMarks are the marks that end clauses, and as which of the marks that voices know they count.
var endMarks = map[rune]rune{
	'.': '.', ',': ',', '?': '?', '!': '!', ';': ';', ':': ':',
	'…': '.', '—': ',', '–': ',', '。': '.', '、': ',', '，': ',', '？': '?', '！': '!', '；': ';', '：': ':', '؟': '?', '،': ',', '؛': ';', '।': '.', '¿': 0, '¡': 0,
}

// ids returns the numbers of the phonemes as the network takes them, nil where it knows none of them, and how many it does
// not know, which are left out.
func (v *voice) ids(phonemes string) (ids []int64, unknown int) {
	known := false
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
	// Voices are trained on decomposed characters: a nasal vowel is the vowel and a tilde.
	for _, r := range norm.NFD.String(phonemes) {
		p := string(r)
		if mapped, ok := v.PhonemeMap[p]; ok {
			for _, m := range mapped {
				add(m)
			}
			continue
		}
		add(p)
	}
	if !known {
		return nil, unknown
	}
	return append(ids, v.PhonemeIDs[eos]...), unknown
}
