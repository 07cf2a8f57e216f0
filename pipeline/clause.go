package pipeline

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clauser cuts an answer, as it comes from the model, into pieces that can be spoken. The first piece is short, so that
// speaking starts early; later ones grow, so that they sound whole. Joined together the pieces are the answer, to the letter.
//
// A piece never ends inside a number, an abbreviation or an address, since a cut needs white space behind the mark.
type clauser struct {
	pending string // What has come and is not cut yet.
	cut     int    // How many pieces have been cut.
}

// The lengths, in characters, from which a piece may end at a mark. A clause of 12 characters sounds for about 0.7 s: longer
// than the next one takes to synthesise, so that the voice does not run dry.
const (
	firstClauseMin = 12  // The first one ends at any mark from here on,
	firstClauseMax = 48  // and at any space from here on.
	laterClauseMin = 24  // A later one ends at the end of a sentence from here on,
	laterClauseMid = 60  // at any mark from here on,
	laterClauseMax = 160 // and at any space from here on.
)

// push adds text and returns the pieces that are complete.
func (c *clauser) push(text string) []string {
	c.pending += text
	var out []string
	for {
		n := c.end()
		if n == 0 {
			return out
		}
		out = append(out, c.pending[:n])
		c.pending = c.pending[n:]
		c.cut++
	}
}

// rest returns what is left at the end of the answer.
func (c *clauser) rest() string {
	r := c.pending
	c.pending = ""
	if strings.TrimSpace(r) == "" {
		return ""
	}
	return r
}

// end returns how many bytes of pending make the next piece, white space behind it included; 0 means that more must come.
func (c *clauser) end() int {
	p := c.pending
	chars := 0
	for i, r := range p {
		chars++
		if !unicode.IsSpace(r) || i == 0 {
			continue
		}
		after := i + utf8.RuneLen(r)
		if r == '\n' && strings.TrimSpace(p[:i]) != "" {
			return after // a line's end is the end of a sentence or of a list's item
		}
		if strings.TrimSpace(p[after:]) == "" {
			return 0 // what follows may still change the reading of the mark
		}
		if c.mayEnd(p[:i], chars) {
			return after
		}
	}
	return 0
}

func (c *clauser) mayEnd(piece string, chars int) bool {
	sentence, mark := endMark(piece)
	if c.cut == 0 {
		return chars >= firstClauseMax || chars >= firstClauseMin && mark
	}
	return chars >= laterClauseMax || chars >= laterClauseMid && mark || chars >= laterClauseMin && sentence
}

// endMark says whether piece ends in a mark that ends a sentence, and whether in any mark at which a voice pauses.
func endMark(piece string) (sentence, mark bool) {
	p := strings.TrimRight(piece, `"')]*_`+"”’»")
	last, _ := utf8.DecodeLastRuneInString(p)
	switch last {
	case '!', '?', '…', '。', '！', '？':
		return true, true
	case '.':
		if abbreviated(p) {
			return false, false
		}
		return true, true
	case ',', ';', ':', '–', '—', '，', '；', '：', '、':
		return false, true
	}
	return false, false
}

// abbreviations are words whose full stop does not end a sentence.
var abbreviations = map[string]bool{
	"mr": true, "mrs": true, "ms": true, "dr": true, "prof": true, "st": true, "mt": true, "jr": true, "sr": true,
	"vs": true, "etc": true, "e.g": true, "i.e": true, "no": true, "fig": true, "inc": true, "ltd": true, "co": true,
	"approx": true, "dept": true, "est": true, "min": true, "max": true, "a.m": true, "p.m": true, "u.s": true, "u.k": true,
	"jan": true, "feb": true, "mar": true, "apr": true, "jun": true, "jul": true, "aug": true, "sep": true, "sept": true,
	"oct": true, "nov": true, "dec": true,
}

// abbreviated reports whether the full stop at the end of p belongs to its last word: "Dr.", "e.g.", an initial, or the
// number of a list's item.
func abbreviated(p string) bool {
	word := strings.TrimSuffix(p, ".")
	if i := strings.LastIndexFunc(word, unicode.IsSpace); i >= 0 {
		word = word[i+1:]
	}
	word = strings.TrimLeft(word, `("'[*`)
	if abbreviations[strings.ToLower(word)] {
		return true
	}
	if len(word) == 1 && word != "I" && unicode.IsUpper(rune(word[0])) {
		return true // an initial
	}
	return word != "" && len(word) <= 2 && strings.Trim(word, "0123456789") == "" && strings.TrimSpace(strings.TrimSuffix(p, word+".")) == ""
}
