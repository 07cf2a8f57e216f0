package llama

import (
	"strings"
	"testing"

	"riposte/llm"
)

// Tokens come with the text in which they end, and none comes of which nothing is said.
func TestNotes(t *testing.T) {
	said := func(tokens []llm.Token) string {
		var all []string
		for _, t := range tokens {
			all = append(all, t.Text)
		}
		return strings.Join(all, "|")
	}
	var n notes
	for _, text := range []string{"Hel", "lo", " wo"} {
		n.add(llm.Token{Text: text})
	}
	if got := said(n.take(1)); got != "Hel|lo" {
		t.Errorf("with one byte held %q, want all but the last token", got)
	}
	n.add(llm.Token{Text: "rld"})
	n.add(llm.Token{Text: "ST"})
	n.add(llm.Token{Text: "OP"})
	n.cut(4) // "orld": two bytes of " wo" were given before
	if got := said(n.take(0)); got != " wo|rld" {
		t.Errorf("before the stop %q", got)
	}
	if got := n.take(0); len(got) != 0 {
		t.Errorf("in the end %v", got)
	}
}
