package piper

import (
	"strings"
	"unicode"
)

// place is where a word ends in what is spoken: behind so many characters of the phonemes of a unit.
type place struct{ unit, behind int }

// spokenWord is a word of the text as it is spoken, or what hyphens separate in one.
type spokenWord struct {
	from, end int // In bytes of the text.
	place     place
}

// places returns the words of a text that was read, and where each ends in it. espeak-ng does not tell: it runs words into
// each other ("of the") and takes others apart. So each word is read once more by itself, and what it sounds like there is
// found again in the clause.
func (r reading) places(espeakVoice, text string) ([]spokenWord, error) {
	all := spokenWords(text)
	spelled := spellA(espeakVoice, text)
	sources := spokenWords(spelled) // An A that is spelled out is one word as well.
	at := place{}
	for i := 0; i < len(all); {
		all[i].place = at
		c := r.clauseOf(sources[i].from)
		if c < 0 {
			i++
			continue
		}
		n := 1
		for i+n < len(all) && r.clauseOf(sources[i+n].from) == c {
			n++
		}
		alone := make([]string, n)
		for k := range alone {
			s := sources[i+k]
			p, err := sound(espeakVoice, spelled[s.from:s.end])
			if err != nil {
				return nil, err
			}
			alone[k] = p
		}
		for k, behind := range wordEnds(r.clauses[c].phonemes, alone) {
			if behind > 0 {
				at = r.clauses[c].place(behind)
			}
			all[i+k].place = at
		}
		i += n
	}
	return all, nil
}

// clauseOf returns the clause that holds the byte of the text, -1 where there is none.
func (r reading) clauseOf(at int) int {
	for i, c := range r.clauses {
		if at < c.end {
			return i
		}
	}
	return -1
}

// place returns where so many of the clause's characters have been spoken.
func (c clause) place(behind int) place {
	p := c.pieces[0]
	for _, next := range c.pieces[1:] {
		if next.from < behind {
			p = next
		}
	}
	return place{p.unit, p.at + min(behind-p.from, p.n)}
}

// spokenWords returns the words of a text that hold something to pronounce.
func spokenWords(text string) []spokenWord {
	var all []spokenWord
	from := -1
	flush := func(to int) {
		if from >= 0 && strings.ContainsFunc(text[from:to], func(r rune) bool { return !isMark(r) }) {
			all = append(all, spokenWord{from: from, end: to})
		}
		from = -1
	}
	for i, r := range text {
		switch {
		case unicode.IsSpace(r), r == '-', r == '–':
			flush(i)
		case from < 0:
			from = i
		}
	}
	flush(len(text))
	return all
}

// sound returns the phonemes of a word by itself.
func sound(espeakVoice, word string) (string, error) {
	var all []string
	err := readClauses(espeakVoice, strings.TrimFunc(word, isMark), func(phonemes, _ string) {
		all = append(all, strings.Fields(decomposed(languageSwitch.ReplaceAllString(phonemes, "")))...)
	})
	return strings.Join(all, " "), err
}
