package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// obeyed reports whether a terminal might do something else with r than show it: move, colour, ask, end a line.
func obeyed(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' }

// turning reports whether r turns the direction in which text is shown, so that it reads as something else than it says.
func turning(r rune) bool {
	return r == '\u061c' || r == '\u200e' || r == '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// plain returns what callers and models said without what a terminal might obey.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case obeyed(r):
			return ' '
		case turning(r):
			return -1
		}
		return r
	}, text)
}

// escaped writes JSON in which what a terminal might obey is escaped, which means the same.
type escaped struct{ to io.Writer }

// Write writes a whole value, as an Encoder hands it over.
func (e escaped) Write(value []byte) (int, error) {
	var b strings.Builder
	for rest := value; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r != '\n' && (obeyed(r) || turning(r)) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.Write(rest[:n])
		}
		rest = rest[n:]
	}
	if _, err := io.WriteString(e.to, b.String()); err != nil {
		return 0, err
	}
	return len(value), nil
}
