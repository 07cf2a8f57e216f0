package llama

import (
	"slices"

	"riposte/llm"
)

// notes are the tokens of an answer that were not given to its reader yet, as their text was not.
type notes struct {
	tokens []llm.Token
	given  int // So many bytes at the beginning of their texts were.
}

// add notes the next token.
func (n *notes) add(t llm.Token) { n.tokens = append(n.tokens, t) }

// take returns those whose whole text is given to the reader now, which is all but the last held bytes.
func (n *notes) take(held int) []llm.Token {
	k, left := len(n.tokens), 0
	for k > 0 && left < held {
		k--
		left += len(n.tokens[k].Text)
	}
	out := n.tokens[:k:k]
	n.tokens, n.given = slices.Clone(n.tokens[k:]), left-held
	return out
}

// cut leaves out those of which nothing is given to the reader, where the text ends after so many bytes more.
func (n *notes) cut(more int) {
	from, until := 0, n.given+more
	for i, t := range n.tokens {
		if from >= until {
			n.tokens = n.tokens[:i]
			return
		}
		from += len(t.Text)
	}
}
