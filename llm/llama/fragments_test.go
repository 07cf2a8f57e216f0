package llama

import (
	"slices"
	"strings"
	"testing"

	"riposte/llm"
)

func TestFragments(t *testing.T) {
	var asked []string
	f := fragments{markers: []string{"<a>", "<b>"}, tokenize: func(s string) []token {
		asked = append(asked, s)
		return prompt(s)
	}}
	for _, text := range []string{"x<a>one<b>two<a>", "x<a>one<b>two<a>three<b>", "", "<a>", "<a><a><b>"} {
		if got := f.tokens(text); !slices.Equal(got, prompt(text)) {
			t.Errorf("%q: %v", text, got)
		}
	}
	if want := []string{"x", "<a>one", "<b>two", "<a>", "<a>three", "<b>"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want each piece once: %q", asked, want)
	}
}

func TestFragmentsForget(t *testing.T) {
	calls := 0
	f := fragments{markers: []string{"<a>"}, tokenize: func(s string) []token { calls++; return make([]token, len(s)) }}
	large := strings.Repeat("x", maxFragments/4)
	for range 3 {
		f.tokens(large + "<a>")
	}
	if calls != 2 {
		t.Errorf("%d calls, want 2", calls)
	}
	for i := range 5 {
		f.tokens(large + strings.Repeat("y", i))
	}
	if f.held > maxFragments || len(f.known) > 3 {
		t.Errorf("%d fragments of %d are held", len(f.known), f.held)
	}
}

func TestFragmentsAreWhatTheTokenizerSays(t *testing.T) {
	e := commonEngine(t)
	if len(e.ask.pieces.markers) == 0 {
		t.Fatal("the template has no markers")
	}
	for _, text := range []string{"Hello there.", " begins with space", "ends with space ", "\n\nlines\n\n", "  ", "a<b", "< |im_end|>", "caf\u00e9 😀", "1234567"} {
		text := e.ask.template.render([]llm.Message{{Role: llm.System, Text: text}, {Role: llm.User, Text: text}, {Role: llm.Assistant, Text: text}})
		if got, want := e.ask.pieces.tokens(text), e.model.tokenize(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
