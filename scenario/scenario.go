// Package scenario reads scripts of conversations: what a caller does and when, and what is expected of the service within how
// many milliseconds. It knows the language and nothing of how a script is acted: the tests of the pipeline do that with fake
// engines and a fake clock, and `riposte bench turns --script` with real engines and real speech. The language is documented in
// pipeline/testdata/README.md.
package scenario

import (
	"errors"
	"fmt"
	"strings"
)

// Script is a conversation and what is expected of it, as written down in a .turn file.
type Script struct{ Lines []Line }

// Line is one line of a script.
type Line struct {
	At   string // The file and the line, for messages.
	With With
	Statement
}

// With says with what engines a line holds.
type With int

// Lines hold with all engines unless they say otherwise.
const (
	All  With = iota
	Fake      // With fake engines and a fake clock.
	Real      // With real engines and real speech.
)

// Statement is what a line says. All of them are in this package.
type Statement interface{ isStatement() }

// statement makes a type one of the statements.
type statement struct{}

func (statement) isStatement() {}

// Parse reads a script. The error names all lines that make no sense, each with its place in the file called name, and what
// would make sense there.
func Parse(name, text string) (Script, error) {
	var s Script
	var errs []error
	for i, line := range strings.Split(text, "\n") {
		p := &phrase{at: fmt.Sprintf("%s:%d", name, i+1)}
		p.split(line)
		if len(p.tokens) == 0 && p.err == nil {
			continue
		}
		with := p.with()
		said := choose(p, "line", statements)
		if p.err == nil && len(p.tokens) > 0 {
			p.fail("%q is one word too many", p.tokens[0].text)
		}
		if p.err != nil {
			errs = append(errs, p.err)
			continue
		}
		s.Lines = append(s.Lines, Line{p.at, with, said})
	}
	return s, errors.Join(errs...)
}

// with reads with what engines a line holds.
func (p *phrase) with() With {
	switch {
	case p.takes("fake"):
		return Fake
	case p.takes("real"):
		return Real
	}
	return All
}

// statements are the lines that there are, by their first word.
var statements = map[string]verb{
	"caller":   among("thing that the caller does", callerVerbs),
	"line":     among("thing that happens to the line", lineVerbs),
	"room":     among("thing that the room does", map[string]verb{"brings": brings}),
	"service":  among("thing that the service does", map[string]verb{"shuts": shuts, "opens": opens, "waits": waitsWith}),
	"tool":     runs,
	"settings": among("setting", settingVerbs),
	"limits":   among("limit", limitVerbs),
	"stt":      engine(STT, sttVerbs),
	"model":    engine(Model, modelVerbs),
	"voice":    engine(Voice, voiceVerbs),
	"vad": among("thing that the vad does", map[string]verb{
		"lags": timed(func(t Time) Statement { return VADLags{For: t} }),
	}),
	"prosody": among("thing that the prosody does", map[string]verb{
		"says": counted(func(n int) Statement { return ProsodySays{Percent: n} }),
	}),
	"pending": quoting(func(why string) Statement { return Pending{Why: why} }),
	"expect":  expectLine,
	"now":     nowLine,
}

// Pending says that something is not yet as the script says: the script has to fail as long as this line is in it.
type Pending struct {
	statement
	Why string
}
