package llama

import (
	"strings"
	"unicode/utf8"

	"riposte/llm/toolcall"
)

// answerText turns the bytes of tokens into text that may be shown: whole characters, and nothing that could still
// become a stop string.
type answerText struct {
	stops []string
	calls *toolcall.Style // How a call is written, in which nothing stops. Nil where none is.
	begun bool            // Something other than white space was there.
	bytes []byte          // The beginning of a character that is not complete.
	held  string          // The beginning of what could become a stop string.
}

// newAnswerText ends at the first of stops. Empty ones mean nothing.
func newAnswerText(stops []string) answerText {
	var t answerText
	for _, s := range stops {
		if s != "" {
			t.stops = append(t.stops, s)
		}
	}
	return t
}

// push adds the bytes of one token and returns what may be shown now. It returns true if a stop string has appeared;
// the text then ends before it, and nothing may be pushed any more.
func (t *answerText) push(b []byte) (string, bool) {
	t.bytes = append(t.bytes, b...)
	n := wholeCharacters(t.bytes)
	text := t.held + strings.ToValidUTF8(string(t.bytes[:n]), "\uFFFD")
	t.bytes = append(t.bytes[:0], t.bytes[n:]...)

	end := -1
	for _, s := range t.stops {
		if i := strings.Index(text, s); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	if t.calls != nil {
		if i := t.calls.Opens(text, t.begun); i >= 0 && (end < 0 || i < end) {
			t.calls, t.stops, end = nil, nil, -1
		}
		t.begun = t.begun || strings.TrimSpace(text) != ""
	}
	if end >= 0 {
		t.bytes, t.held = nil, ""
		return text[:end], true
	}
	hold := 0
	for _, s := range t.stops {
		hold = max(hold, overlap(text, s))
	}
	if t.calls != nil && len(t.stops) > 0 {
		for _, s := range t.calls.Signs() {
			hold = max(hold, overlap(text, s))
		}
	}
	t.held = text[len(text)-hold:]
	return text[:len(text)-hold], false
}

// holds returns how many bytes are held back.
func (t *answerText) holds() int { return len(t.held) + len(t.bytes) }

// rest returns what was held back, once it is certain that nothing follows. Half a character is dropped.
func (t *answerText) rest() string {
	held := t.held
	t.bytes, t.held = nil, ""
	return held
}

// wholeCharacters is the length of b without the character at its end that more bytes could complete.
func wholeCharacters(b []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		i := len(b) - back
		if !utf8.RuneStart(b[i]) {
			continue
		}
		if !utf8.FullRune(b[i:]) {
			return i
		}
		break
	}
	return len(b)
}

// overlap is the length of the longest end of text that is a beginning of stop.
func overlap(text, stop string) int {
	for n := min(len(text), len(stop)-1); n > 0; n-- {
		if strings.HasSuffix(text, stop[:n]) {
			return n
		}
	}
	return 0
}
