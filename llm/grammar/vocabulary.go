package grammar

import (
	"bytes"
	"cmp"
	"slices"
)

// Vocabulary is the texts of a model's tokens, in an order in which what they have in common is looked at once. It is
// immutable, and safe for concurrent use.
type Vocabulary struct {
	tokens  []word
	text    map[int32][]byte
	index   map[string]int32
	longest int
}

type word struct {
	token  int32
	text   []byte
	common int // How many bytes it begins with that the word before begins with too.
}

// NewVocabulary takes the bytes of each token. Those without any are never allowed.
func NewVocabulary(text map[int32][]byte) *Vocabulary {
	v := &Vocabulary{text: text, index: map[string]int32{}}
	for t, b := range text {
		if len(b) == 0 {
			continue
		}
		v.tokens = append(v.tokens, word{token: t, text: b})
		v.longest = max(v.longest, len(b))
		if old, ok := v.index[string(b)]; !ok || t < old {
			v.index[string(b)] = t
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

// Spell writes a text in tokens, the longest first, as far as it can be written.
func (v *Vocabulary) Spell(text []byte) []int32 {
	var out []int32
	for len(text) > 0 {
		n := min(len(text), v.longest)
		token, ok := v.index[string(text[:n])]
		for !ok && n > 1 {
			n--
			token, ok = v.index[string(text[:n])]
		}
		if !ok {
			break
		}
		out, text = append(out, token), text[n:]
	}
	return out
}

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
