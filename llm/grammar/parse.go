package grammar

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a part of a rule: sequence, choice, class, reference or repetition.
type node interface{ isNode() }

type (
	sequence   []node
	choice     []node
	class      []runeRange // Sorted, without overlaps.
	reference  int         // The rule's index.
	repetition struct {
		of          node
		least, most int // most is noMax without a limit.
	}
)

func (sequence) isNode()   {}
func (choice) isNode()     {}
func (class) isNode()      {}
func (reference) isNode()  {}
func (repetition) isNode() {}

// runeRange is a set of neighbouring characters.
type runeRange struct{ lo, hi rune }

// rule is a named part.
type rule struct {
	name string
	body node // Nil until it is defined.
}

// ruleSet is a grammar that was read.
type ruleSet struct {
	list  []rule
	index map[string]int
}

// of returns the index of a rule, which need not be defined yet.
func (s *ruleSet) of(name string) int {
	i, ok := s.index[name]
	if !ok {
		i = len(s.list)
		s.index[name] = i
		s.list = append(s.list, rule{name: name})
	}
	return i
}

// parse reads all rules.
func parse(text string) (*ruleSet, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("the grammar has %d bytes, at most %d are read", len(text), MaxText)
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, fmt.Errorf("the grammar is not UTF-8 text")
	}
	p := parser{text: text, rules: &ruleSet{index: map[string]int{}}}
	p.space(true)
	for p.at < len(p.text) && p.err == nil {
		p.rule()
	}
	return p.rules, p.err
}

// parser reads a grammar from left to right. After its first error it reads nothing more.
type parser struct {
	text  string
	at    int
	depth int
	rules *ruleSet
	err   error
}

// fail notes an error and goes to the end.
func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		line := 1 + strings.Count(p.text[:min(p.at, len(p.text))], "\n")
		p.err = fmt.Errorf("line %d of the grammar: %s", line, fmt.Sprintf(format, args...))
	}
	p.at = len(p.text)
}

// peek is the next byte, 0 at the end.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

// space skips spaces and comments, and lines' ends if the rule may go on in the next line.
func (p *parser) space(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			p.at++
		case c == '#':
			if n := strings.IndexAny(p.text[p.at:], "\r\n"); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.text)
			}
		default:
			return
		}
	}
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-'
}

func (p *parser) name() string {
	begin := p.at
	for p.at < len(p.text) && isNameByte(p.text[p.at]) {
		p.at++
	}
	return p.text[begin:p.at]
}

func (p *parser) rule() {
	name := p.name()
	if name == "" {
		p.fail("a rule's name is expected, not %q", p.near())
		return
	}
	p.space(false)
	if !strings.HasPrefix(p.text[p.at:], "::=") {
		p.fail("%q is to be followed by ::=", name)
		return
	}
	p.at += len("::=")
	p.space(true)
	i := p.rules.of(name)
	if p.rules.list[i].body != nil {
		p.fail("the rule %q is defined twice", name)
		return
	}
	body := p.choice(false)
	if c := p.peek(); p.at < len(p.text) && c != '\n' && c != '\r' {
		p.fail("in the rule %q, %q is not understood", name, p.near())
		return
	}
	p.rules.list[i].body = body
	p.space(true)
}

// near is the text that could not be read.
func (p *parser) near() string {
	s := p.text[p.at:]
	for i := range s {
		if i >= 12 {
			return s[:i]
		}
	}
	return s
}

// choice reads alternatives.
func (p *parser) choice(nested bool) node {
	all := choice{p.sequence(nested)}
	for p.peek() == '|' {
		p.at++
		p.space(true)
		all = append(all, p.sequence(nested))
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// sequence reads what follows each other.
func (p *parser) sequence(nested bool) node {
	all := sequence{}
	for p.at < len(p.text) {
		switch c := p.peek(); {
		case c == '"':
			all = append(all, p.literal())
		case c == '[':
			all = append(all, p.class())
		case c == '.':
			p.at++
			all = append(all, class{{0, utf8.MaxRune}})
		case c == '(':
			if p.depth++; p.depth > maxDepth {
				p.fail("parentheses are nested more than %d times", maxDepth)
			}
			p.at = min(p.at+1, len(p.text))
			p.space(true)
			all = append(all, p.choice(true))
			if p.depth--; p.peek() != ')' {
				p.fail("a parenthesis is not closed")
			}
			p.at = min(p.at+1, len(p.text))
		case c == '*' || c == '+' || c == '?' || c == '{':
			if len(all) == 0 {
				p.fail("%q repeats nothing", string(c))
				break
			}
			r := p.times()
			r.of = all[len(all)-1]
			all[len(all)-1] = r
		case c == '<' || c == '!':
			p.fail("tokens are not supported: write their text")
		case isNameByte(c):
			all = append(all, reference(p.rules.of(p.name())))
		default:
			return one(all)
		}
		p.space(nested)
	}
	return one(all)
}

// one takes a sequence of one for what is in it.
func one(all sequence) node {
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// times reads *, +, ?, {m}, {m,} or {m,n}.
func (p *parser) times() repetition {
	c := p.peek()
	p.at++
	switch c {
	case '*':
		return repetition{least: 0, most: noMax}
	case '+':
		return repetition{least: 1, most: noMax}
	case '?':
		return repetition{least: 0, most: 1}
	}
	end := strings.IndexByte(p.text[p.at:], '}')
	if end < 0 {
		p.fail("a brace is not closed")
		return repetition{}
	}
	low, high, ranged := strings.Cut(p.text[p.at:p.at+end], ",")
	number := func(s string) int {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 || n > maxCode {
			p.fail("%q is no number of repetitions up to %d", s, maxCode)
		}
		return n
	}
	r := repetition{least: number(low)}
	switch {
	case !ranged:
		r.most = r.least
	case strings.TrimSpace(high) == "":
		r.most = noMax
	default:
		r.most = number(high)
	}
	if r.most != noMax && r.most < r.least {
		p.fail("{%d,%d}: the first number is the larger one", r.least, r.most)
	}
	if p.err == nil {
		p.at += end + 1
	}
	return r
}

// literal reads a text in quotes.
func (p *parser) literal() node {
	p.at++
	all := sequence{}
	for p.peek() != '"' {
		if p.at >= len(p.text) {
			p.fail("a quote is not closed")
			return all
		}
		c := p.character()
		all = append(all, class{{c, c}})
	}
	p.at++
	return all // Never taken for what is in it, so that a repetition repeats all of it.
}

// class reads a set of characters.
func (p *parser) class() node {
	p.at++
	not := p.peek() == '^'
	if not {
		p.at++
	}
	var all class
	for p.peek() != ']' {
		if p.at >= len(p.text) {
			p.fail("a bracket is not closed")
			return all
		}
		lo := p.character()
		hi := lo
		if p.peek() == '-' && !strings.HasPrefix(p.text[p.at:], "-]") {
			p.at++
			hi = p.character()
		}
		if hi < lo && p.err == nil {
			p.fail("the range from %q to %q is empty", lo, hi)
		}
		all = append(all, runeRange{lo, hi})
	}
	p.at++
	return tidy(all, not)
}

// tidy sorts a set and joins what overlaps, or returns all characters that are not in it.
func tidy(all class, not bool) class {
	slices.SortFunc(all, func(a, b runeRange) int { return int(a.lo - b.lo) })
	var in, out class
	next := rune(0) // The first character that is not decided.
	for _, r := range all {
		if r.lo > next {
			out = append(out, runeRange{next, r.lo - 1})
		}
		if n := len(in); n > 0 && r.lo <= in[n-1].hi+1 {
			in[n-1].hi = max(in[n-1].hi, r.hi)
		} else {
			in = append(in, r)
		}
		next = max(next, r.hi+1)
	}
	if !not {
		return in
	}
	if next <= utf8.MaxRune {
		out = append(out, runeRange{next, utf8.MaxRune})
	}
	return out
}

// character reads one, or what is written for it.
func (p *parser) character() rune {
	if p.at >= len(p.text) {
		p.fail("a character is missing at the end")
		return 0
	}
	if p.text[p.at] != '\\' {
		c, n := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += n
		return c
	}
	if p.at+1 >= len(p.text) {
		p.fail("a character is missing after \\")
		return 0
	}
	c := p.text[p.at+1]
	p.at += 2
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case '\\', '"', '[', ']', '-':
		return rune(c)
	case 'x':
		return p.hex(2)
	case 'u':
		return p.hex(4)
	case 'U':
		return p.hex(8)
	}
	p.fail(`\%c is no escape`, c)
	return 0
}

func (p *parser) hex(digits int) rune {
	if p.at+digits > len(p.text) {
		p.fail("%d hexadecimal digits are expected", digits)
		return 0
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+digits], 16, 32)
	if err != nil || n > utf8.MaxRune {
		p.fail("%q is no hexadecimal number of a character", p.text[p.at:p.at+digits])
		return 0
	}
	p.at += digits
	return rune(n)
}
