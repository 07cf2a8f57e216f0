package pipeline

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clauser cuts an answer, as it comes from the model, into pieces that can be spoken. The first piece is short, so that
// speaking starts early; later ones grow, so that they sound whole. Joined together the pieces are the answer, to the letter,
// and they are the same however the answer comes.
//
// A piece ends at white space, or behind a mark of a script that has none; never inside a number, a date, an abbreviation, an
// address, or a span of Markdown, whose two marks are of use only together.
type clauser struct {
	pending string // What has come and is not cut yet.
	cut     int    // How many pieces have been cut.
}

// A clauseLength says from how many characters on a piece may end.
type clauseLength struct {
	sentence int // At the end of a sentence.
	mark     int // At any mark.
	space    int // At any space.
}

// clauseLengths are those of the first pieces; the last is that of all others. A piece should sound for longer than the model
// and the voice need for the next: "Sure!" sounds for 0.4 s, in which even a slow model writes ten words, and behind a mark a
// little silence is no harm. Ahead of 40 characters without a mark a voice has 2 s to say, and a turn 150 ms less to wait
// than with a sentence.
var clauseLengths = []clauseLength{
	{sentence: 3, mark: 5, space: 40},
	{sentence: 12, mark: 24, space: 80},
	{sentence: 24, mark: 60, space: 160},
}

const (
	// leaningMax is how many characters are waited for a better word to end with than "the".
	leaningMax = 16
	// endlessMax is how many characters are waited for any place to end at that is better than between two numbers.
	endlessMax = 40
	// spanMax is how long, in bytes, a span of Markdown can be: what is open for longer is no span.
	spanMax = 160
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
	length := clauseLengths[min(c.cut, len(clauseLengths)-1)]
	chars, begun, spaced := 0, false, false
	for i, r := range p {
		chars++
		after := i + utf8.RuneLen(r)
		switch {
		case r == '\n' && begun:
			return after // a line's end is the end of a sentence or of a list's item
		case unicode.IsSpace(r) && begun && !spaced:
			// what follows may still change the reading of the mark
			rest := strings.TrimLeftFunc(p[after:], unicode.IsSpace)
			if !utf8.FullRuneInString(rest) {
				return 0
			}
			if next, _ := utf8.DecodeRuneInString(rest); length.allows(p[:i], chars, next) && !inSpan(p[:i]) {
				return after
			}
		case spaceless(r):
			if !utf8.FullRuneInString(p[after:]) {
				return 0
			}
			next, _ := utf8.DecodeRuneInString(p[after:])
			if !unicode.IsSpace(next) && !unicode.IsPunct(next) && length.allows(p[:after], chars+1, next) && !inSpan(p[:after]) {
				return after
			}
		}
		spaced = unicode.IsSpace(r)
		begun = begun || !spaced
	}
	return 0
}

// spaceless reports whether r is a mark behind which its script has no space.
func spaceless(r rune) bool { return strings.ContainsRune("。！？，；：、", r) }

// allows reports whether a piece of so many characters, the white space behind it included, may end where next follows.
func (l clauseLength) allows(piece string, chars int, next rune) bool {
	sentence, mark := ends(piece, next)
	switch {
	case chars > l.sentence && sentence, chars > l.mark && mark:
		return true
	case chars <= l.space || mark:
		return false
	case chars > l.space+endlessMax:
		return true
	}
	// Between words of which neither is a number, since "5 km" and "May 4" are one.
	word := lastWord(piece)
	if unicode.IsNumber(next) || strings.ContainsFunc(word, unicode.IsNumber) || strings.HasSuffix(word, ".") {
		return false
	}
	return chars > l.space+leaningMax || !leaning[strings.ToLower(word)]
}

// endMark says whether piece ends in a mark that ends a sentence, and whether in any mark at which a voice pauses.
func endMark(piece string) (sentence, mark bool) { return ends(piece, ' ') }

// ends says whether piece ends in a mark that ends a sentence, and whether in any mark at which a voice pauses, where the next
// word begins with next.
func ends(piece string, next rune) (sentence, mark bool) {
	p := strings.TrimRight(piece, `"')]*_~`+"`"+`”’»」』）`)
	last, _ := utf8.DecodeLastRuneInString(p)
	switch last {
	case '!', '?', '…', '。', '！', '？':
		return true, true
	case '.':
		if abbreviated(p, next) {
			return false, false
		}
		return true, true
	case ',', ':':
		inside := unicode.IsNumber(next) && strings.ContainsFunc(lastWord(p), unicode.IsNumber)
		return false, !inside || last == ',' && !dayOfMonth(p)
	case ';', '，', '；', '：', '、':
		return false, true
	case '–', '—':
		return false, !unicode.IsNumber(next)
	}
	return false, false
}

// dayOfMonth reports whether p ends in a date, of which the year may follow: "July 4,".
func dayOfMonth(p string) bool {
	before := strings.TrimRight(strings.TrimSuffix(p, lastWord(p)), " ")
	month := strings.ToLower(strings.TrimSuffix(lastWord(before), "."))
	return len(month) >= 3 && slices.Contains(months, month[:3])
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	// abbreviations are words whose full stop does not end a sentence.
	abbreviations = set(`mr mrs ms mx dr prof st mt ft jr sr gen col sgt capt lt cmdr maj adm rev hon gov sen rep pres amb supt
		messrs mme mlle vs e.g i.e cf viz al ca approx inc ltd co corp bros dept est assoc univ intl misc
		ave blvd rd ln hwy apt tel ext`)
	// numbered are words whose full stop does not end a sentence ahead of a number. Elsewhere they may be words of their own.
	numbered = set(`no nos nr fig figs vol p pp sec sect ch chap art ed par para op ver min max
		jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri sat sun`)
	// closing are abbreviations with which a sentence can end, if what follows begins one.
	closing = set(`etc a.m p.m a.d b.c jr sr inc ltd co corp`)
	// leaning are words that belong to the next one, so that no voice pauses behind them.
	leaning = set(`a an the this that these those my your his her its our their some any no every each of to in on at for from by
		with into onto over under about as than like and or but nor so if because when while who which whose is are was were be been
		am will would can could should must may might shall do does did not has have had i you he she it we they very more most`)
)

// abbreviated reports whether the full stop at the end of p, where the next word begins with next, belongs to the last word of
// p: "Dr.", "e.g.", "U.S.", an initial, or the number of a list's item.
func abbreviated(p string, next rune) bool {
	word := strings.TrimSuffix(lastWord(p), ".")
	word = strings.TrimLeft(word, `("'[*_“‘`)
	lower := strings.ToLower(word)
	switch {
	case closing[lower] && unicode.IsUpper(next):
		return false
	case closing[lower], abbreviations[lower]:
		return true
	case numbered[lower]:
		return unicode.IsNumber(next)
	case lettered(word):
		return true
	}
	before := strings.TrimSpace(strings.TrimSuffix(p, lastWord(p)))
	item := word != "" && len(word) <= 2 && strings.Trim(word, "0123456789") == ""
	return item && (before == "" || strings.ContainsRune(":,;", rune(before[len(before)-1])))
}

// lettered reports whether word is made of single letters with full stops between them: "U.S", "Ph.D", or an initial.
func lettered(word string) bool {
	if word == "I" {
		return false
	}
	letters := strings.Split(word, ".")
	for _, l := range letters {
		if n := utf8.RuneCountInString(l); n == 0 || n > 2 || n == 2 && len(letters) == 1 || strings.ContainsFunc(l, func(r rune) bool { return !unicode.IsLetter(r) }) {
			return false
		}
	}
	first, _ := utf8.DecodeRuneInString(word)
	return len(letters) > 1 || unicode.IsUpper(first)
}

// lastWord returns what stands behind the last white space of p.
func lastWord(p string) string {
	return p[strings.LastIndexFunc(p, unicode.IsSpace)+1:]
}

// inSpan reports whether p ends inside a span of Markdown: code, a link, or emphasis.
func inSpan(p string) bool {
	open, from := "", 0
	for i := 0; i < len(p); {
		mark := spanMark(p[i:])
		if mark == "" {
			i++
			continue
		}
		before, after := byte(' '), byte(' ')
		if i > 0 {
			before = p[i-1]
		}
		if i+len(mark) < len(p) {
			after = p[i+len(mark)]
		}
		switch {
		case open == "" && mark != "]" && mark != ")" && (mark == "[" || mark[0] == '`' || wide(before) && !wide(after)):
			open, from = mark, i
		case open == "[" && mark == "]" && after == '(':
			open = "("
			mark = "](" // both are taken
		case open == "[" && mark == "]", open == "(" && mark == ")":
			open = ""
		case open != "" && strings.HasPrefix(mark, open) && (open[0] == '`' || !wide(before)):
			open = ""
		}
		i += len(mark)
	}
	return open != "" && len(p)-from <= spanMax
}

// spanMark returns the mark with which p begins, "" where there is none.
func spanMark(p string) string {
	switch p[0] {
	case '*', '_', '~', '`':
		mark := p[:len(p)-len(strings.TrimLeft(p, p[:1]))]
		if mark == "~" {
			return "" // about
		}
		return mark
	case '[', ']', ')':
		return p[:1]
	}
	return ""
}

// wide reports whether emphasis can begin behind b, and cannot end there.
func wide(b byte) bool {
	return b == ' ' || b == '\n' || b == '\t' || b == '(' || b == '"' || b == '\''
}
