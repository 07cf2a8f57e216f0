package main

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"golang.org/x/term"

	"riposte/budget"
)

// canvas is where traces are shown: how wide it is, and whether it has colours.
type canvas struct {
	out    io.Writer
	width  int
	colour bool
}

// pageWidth is that of what is no terminal, such as a file.
const pageWidth = 120

// canvasOn returns the canvas that out is. Only a terminal has colours, and those not when NO_COLOR is set.
func canvasOn(out io.Writer) canvas {
	c := canvas{out: out, width: pageWidth}
	f, ok := out.(*os.File)
	if !ok || !isatty.IsTerminal(f.Fd()) {
		return c
	}
	c.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		c.width = max(w, 40)
	}
	return c
}

// style is how text looks, as ANSI terminals are told.
type style string

// The styles.
const (
	bold   style = "1"
	faint  style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// stageStyles are those of the stages' bars.
var stageStyles = map[budget.Stage]style{budget.Mic: "36", budget.STT: "34", budget.LLM: "35", budget.TTS: "32"}

// verdictStyles are those of verdicts.
var verdictStyles = map[budget.Verdict]style{budget.Met: green, budget.Masked: yellow, budget.Over: red, budget.Failed: red}

// in returns text in a style, where there are any, and without what a terminal might obey.
func (c canvas) in(s style, text string) string {
	text = plain(text)
	if !c.colour || s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// clip returns text on one line, without what a terminal might obey, and cut to so many characters.
func clip(text string, width int) string {
	text = strings.Join(strings.FieldsFunc(plain(text), func(r rune) bool { return r <= ' ' || r == 0xa0 }), " ")
	if width <= 0 {
		return ""
	}
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// pad returns text with spaces behind it, to so many characters, and without what a terminal might obey.
func pad(text string, width int) string {
	text = plain(text)
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// wrap breaks text into lines of so many characters.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(clip(text, len(text)+1)) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines, line = append(lines, line), word
		}
	}
	return append(lines, line)
}
