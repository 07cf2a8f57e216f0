package stub

import (
	"context"
	"iter"
	"strings"
	"time"

	"riposte/llm"
)

// Model is a language model that gives every question the same answer, a token at a time.
type Model struct {
	Delays
	idle
}

// Generate answers. A token is a word, with the space before it.
func (m *Model) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		tokens := m.tokens()
		usage := llm.Usage{Prompt: prompt(r), Cached: prompt(r), Finish: llm.FinishStop}
		if r.MaxTokens > 0 && r.MaxTokens < len(tokens) {
			tokens, usage.Finish = tokens[:r.MaxTokens], llm.FinishLength
		}
		next := time.Now().Add(m.LLM)
		for i, token := range tokens {
			if err := until(ctx, next); err != nil {
				yield(llm.Piece{}, err)
				return
			}
			if i > 0 {
				token = " " + token
			}
			if !yield(llm.Piece{Text: token}, nil) {
				return
			}
			next = next.Add(m.Token)
		}
		usage.Output = len(tokens)
		yield(llm.Piece{Usage: &usage}, nil)
	}
}

// tokens returns the answer, which is said again and again where it has to be longer.
func (m *Model) tokens() []string {
	said := strings.Fields(strings.Join(answer, " "))
	tokens := said
	for len(tokens) < m.Words {
		tokens = append(tokens, said...)
	}
	if m.Words > 0 {
		tokens = tokens[:m.Words]
	}
	return tokens
}

// Read reads ahead, in the time of a token.
func (m *Model) Read(ctx context.Context, r llm.Request) (llm.Reading, error) {
	return llm.Reading{Prompt: prompt(r), Cached: prompt(r), Over: 0.5}, until(ctx, time.Now().Add(m.Token))
}

// prompt counts the words of a conversation.
func prompt(r llm.Request) (n int) {
	for _, m := range r.Messages {
		n += len(strings.Fields(m.Text))
	}
	return n
}
