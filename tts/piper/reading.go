package piper

import (
	"strings"
	"unicode/utf8"
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

// clause is what espeak-ng reads at once of a text, and where its phonemes are in the units.
type clause struct {
	phonemes string
	end      int // The byte in the text, as spellA has it, behind the clause.
	pieces   []piece
}

// piece is a run of a clause's phonemes in a unit, in characters.
type piece struct {
	from, n  int // Of the clause's.
	unit, at int // Where the first of them is.
}

// reading is what a text is spoken as. Text without anything to pronounce gives no units.
type reading struct {
	units   []unit
	clauses []clause
}

// units returns what a text is spoken as, unit by unit.
func units(espeakVoice, text string) ([]unit, error) {
	said, err := read(espeakVoice, text)
	return said.units, err
}

// read turns text into phonemes.
func read(espeakVoice, text string) (reading, error) {
	var all []unit
	var clauses []clause
	var now strings.Builder
	end := 0 // The byte behind what was read.
	flush := func(sentence bool) {
		if p := strings.TrimSpace(now.String()); p != "" {
			all = append(all, unit{p, sentence})
		}
		now.Reset()
	}
	err := readClauses(espeakVoice, spellA(espeakVoice, text), func(phonemes, span string) {
		end += len(span)
		phonemes = strings.Join(strings.Fields(languageSwitch.ReplaceAllString(phonemes, "")), " ")
		if phonemes == "" {
			return
		}
		phonemes = decomposed(phonemes)
		c := clause{phonemes: phonemes, end: end - readAhead(span)}
		write := func(phonemes string) {
			done := 0
			if n := len(c.pieces); n > 0 {
				done = c.pieces[n-1].from + c.pieces[n-1].n + 1 // The space at which the clause was cut is left out.
			}
			c.pieces = append(c.pieces, piece{done, utf8.RuneCountInString(phonemes), len(all), utf8.RuneCountInString(now.String())})
			now.WriteString(phonemes)
		}
		defer func() { clauses = append(clauses, c) }()
		if utf8.RuneCountInString(now.String())+utf8.RuneCountInString(phonemes) > maxUnit {
			flush(false)
		}
		for utf8.RuneCountInString(phonemes) > maxUnit {
			head, rest := cutWords(phonemes, maxUnit)
			write(head)
			flush(false)
			phonemes = rest
		}
		write(phonemes)
		mark := terminator(span)
		if mark != 0 {
			now.WriteRune(mark)
		}
		if mark == '.' || mark == '?' || mark == '!' {
			flush(true)
			return
		}
		if mark != 0 && len(all) == 0 && utf8.RuneCountInString(now.String()) >= firstUnit {
			flush(false)
			return
		}
		now.WriteByte(' ')
	})
	flush(true)
	return reading{all, clauses}, err
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
