package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// phrase is what is left to be read of a line. After the first error nothing more is read.
type phrase struct {
	at     string
	tokens []token
	err    error
}

// Time is a length of time in a script.
type Time = time.Duration

// The bounds of what a script may ask for, so that a slip of the pen fills no memory.
const (
	longest = 10 * time.Minute
	most    = 1000
)

// token is a word of a line, or a text in quotation marks.
type token struct {
	text   string
	quoted bool
}

// split finds the tokens. What stands behind a # is for people.
func (p *phrase) split(line string) {
	for {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
			return
		case line[0] == '"':
			text, rest, closed := strings.Cut(line[1:], `"`)
			if !closed {
				p.fail("a quotation mark is missing")
				return
			}
			p.tokens, line = append(p.tokens, token{text, true}), rest
		default:
			end := strings.IndexAny(line, " \t\"#,")
			if end < 0 {
				end = len(line)
			}
			if end > 0 {
				p.tokens = append(p.tokens, token{text: line[:end]})
			}
			line = strings.TrimPrefix(line[end:], ",")
		}
	}
}

// choose reads a word and goes on as it says. what is what the word is one of.
func choose[T any](p *phrase, what string, by map[string]func(*phrase) T) T {
	var none T
	w := p.word()
	if p.err != nil {
		return none
	}
	if by[w] == nil {
		p.fail("%q is no %s: known are %s", w, what, strings.Join(slices.Sorted(maps.Keys(by)), ", "))
		return none
	}
	return by[w](p)
}

// next takes the next token off.
func (p *phrase) next(wanted string) token {
	if p.err != nil {
		return token{}
	}
	if len(p.tokens) == 0 {
		p.fail("%s is missing", wanted)
		return token{}
	}
	t := p.tokens[0]
	p.tokens = p.tokens[1:]
	return t
}

func (p *phrase) word() string {
	t := p.next("a word")
	if t.quoted {
		p.fail("%q stands where no text can", t.text)
	}
	return t.text
}

func (p *phrase) text() string {
	t := p.next("a text in quotation marks")
	if p.err == nil && !t.quoted {
		p.fail("%q stands where a text in quotation marks has to", t.text)
	}
	return t.text
}

func (p *phrase) duration() Time {
	t := p.next("a time, such as 200ms")
	d, err := time.ParseDuration(t.text)
	switch {
	case p.err != nil:
	case err != nil || t.quoted || d < 0:
		p.fail("%q is no time: 200ms and 1.5s are", t.text)
	case d > longest:
		p.fail("%s is too long: a script may take %v for one thing", t.text, longest)
	}
	return d
}

func (p *phrase) number() int {
	t := p.next("a number")
	n, err := strconv.Atoi(t.text)
	switch {
	case p.err != nil:
	case err != nil || t.quoted || n < 0:
		p.fail("%q is no number: 3 is", t.text)
	case n > most:
		p.fail("%d is too much: a script may count to %d", n, most)
	}
	return n
}

// takes takes the next token off if it is the given word.
func (p *phrase) takes(word string) bool {
	if p.err != nil || len(p.tokens) == 0 || p.tokens[0].quoted || p.tokens[0].text != word {
		return false
	}
	p.tokens = p.tokens[1:]
	return true
}

// expects takes the given words off, which have to be next.
func (p *phrase) expects(words ...string) {
	for _, w := range words {
		if p.err == nil && !p.takes(w) {
			p.fail("%q has to stand behind what there is of the line", w)
		}
	}
}

// sees reports whether a text, or a time, is next.
func (p *phrase) sees(kind string) bool {
	if p.err != nil || len(p.tokens) == 0 {
		return false
	}
	t := p.tokens[0]
	switch kind {
	case "text":
		return t.quoted
	case "time":
		_, err := time.ParseDuration(t.text)
		return err == nil && !t.quoted
	case "number":
		_, err := strconv.Atoi(t.text)
		return err == nil && !t.quoted
	}
	return !t.quoted && t.text == kind
}

func (p *phrase) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s: "+format, append([]any{p.at}, args...)...)
	}
}
