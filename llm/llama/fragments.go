package llama

import (
	"strings"
	"sync"
)

// fragments tokenises prompts piece by piece and remembers the pieces, because a turn's prompt is that of the turn
// before with a little more, and the tokenizer takes longer for a long history than the model for a short question.
// A prompt is cut before each marker of its template: tokenizers take control tokens out first, so nothing around a
// cut depends on what is on its other side. It is safe for concurrent use.
type fragments struct {
	tokenize func(text string) []token
	markers  []string

	mu    sync.Mutex
	known map[string][]token
	held  int // Tokens and bytes that are remembered.
}

// maxFragments is when everything is forgotten: a hundred conversations of a few thousand words.
const maxFragments = 4 << 20

// tokens returns the tokens of a text. They are the caller's.
func (f *fragments) tokens(text string) []token {
	var out []token
	for text != "" {
		n := f.cut(text)
		out = append(out, f.piece(text[:n])...)
		text = text[n:]
	}
	return out
}

// cut is the length of the first fragment of a text.
func (f *fragments) cut(text string) int {
	n := len(text)
	for _, m := range f.markers {
		if i := strings.Index(text[1:n], m); i >= 0 {
			n = i + 1
		}
	}
	return n
}

func (f *fragments) piece(text string) []token {
	f.mu.Lock()
	tokens, ok := f.known[text]
	f.mu.Unlock()
	if ok {
		return tokens
	}
	tokens = f.tokenize(text)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held += len(text) + len(tokens); f.known == nil || f.held > maxFragments {
		f.known, f.held = map[string][]token{}, len(text)+len(tokens)
	}
	f.known[strings.Clone(text)] = tokens // A copy, so that the whole prompt is not kept for one piece of it.
	return tokens
}
