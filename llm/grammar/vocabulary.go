package grammar

import (
	"bytes"
	"cmp"
	"slices"
)

// Vocabulary is the texts of a model's tokens, in an order in which what they have in common is looked at once. It is
// immutable, and safe for concurrent use.
type Vocabulary struct {
	tokens []word
	text   map[int32][]byte
}

type word struct {
	token  int32
	text   []byte
	common int // How many bytes it begins with that the word before begins with too.
}

// NewVocabulary takes the bytes of each token. Those without any are never allowed.
func NewVocabulary(text map[int32][]byte) *Vocabulary {
	v := &Vocabulary{text: text}
	for t, b := range text {
		if len(b) > 0 {
			v.tokens = append(v.tokens, word{token: t, text: b})
		}
	}
	slices.SortFunc(v.tokens, func(a, b word) int {
		return cmp.Or(bytes.Compare(a.text, b.text), cmp.Compare(a.token, b.token))
	})
	for i := 1; i < len(v.tokens); i++ {
		a, b := v.tokens[i-1].text, v.tokens[i].text
		n := 0
		for n < min(len(a), len(b)) && a[n] == b[n] {
			n++
		}
		v.tokens[i].common = n
	}
	return v
}

// Text returns the bytes of a token, none for one that is no text.
func (v *Vocabulary) Text(token int32) []byte { return v.text[token] }

// Allowed adds to list the tokens with which m's text may go on.
func (v *Vocabulary) Allowed(m *Matcher, list []int32) []int32 {
	path := []int32{m.at} // The states after each byte of the last word that led somewhere.
	for _, w := range v.tokens {
		if w.common >= len(path) {
			continue // It begins with what led nowhere.
		}
		path = path[:w.common+1]
		ok := true
		for _, b := range w.text[w.common:] {
			to := m.step(path[len(path)-1], b)
			if ok = to != dead; !ok {
				break
			}
			path = append(path, to)
		}
		if m.err != nil {
			return nil
		}
		if ok {
			list = append(list, w.token)
		}
	}
	return list
}
