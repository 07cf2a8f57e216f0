package llama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"riposte/llm"
	"riposte/llm/grammar"
	"riposte/llm/schema"
)

// lexicon is what all tokens of a model say.
type lexicon struct {
	text *grammar.Vocabulary
	ends []int32 // The tokens that end an answer.
}

// form is what one answer has to keep to. It belongs to the loop.
type form struct {
	words *lexicon
	text  *grammar.Matcher
	list  []int32 // Kept between tokens.
}

// newForm makes the form of an answer, nil for one that is free.
func newForm(r llm.Request, words func() *lexicon) (*form, error) {
	text, err := formGrammar(r.Format)
	if err != nil || text == "" {
		return nil, err
	}
	g, err := grammar.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", llm.ErrFormat, err)
	}
	return &form{words: words(), text: g.Matcher()}, nil
}

// formGrammar is what a format says, as a grammar. It is empty for one that says nothing.
func formGrammar(f llm.Format) (string, error) {
	switch {
	case len(f.Schema) == 0:
		return f.Grammar, nil
	case f.Grammar != "":
		return "", fmt.Errorf("%w: both a schema and a grammar are given: give one", llm.ErrFormat)
	}
	s := f.Schema
	if t := bytes.TrimSpace(s); len(t) > 1 && t[0] == '{' && len(bytes.TrimSpace(t[1:])) == 1 {
		s = json.RawMessage(`{"type": "object"}`)
	}
	return schema.Compile(s)
}

// allows reports whether a token may come next.
func (f *form) allows(t token) bool {
	if text := f.words.text.Text(int32(t)); len(text) > 0 {
		return f.text.Allows(text)
	}
	if !f.text.MayEnd() {
		return false
	}
	for _, e := range f.words.ends {
		if e == int32(t) {
			return true
		}
	}
	return false
}

// allowed returns all tokens that may come next, until it is called again.
func (f *form) allowed() []int32 {
	f.list = f.words.text.Allowed(f.text, f.list[:0])
	if f.text.MayEnd() {
		f.list = append(f.list, f.words.ends...)
	}
	return f.list
}

// take adds a token to the answer.
func (f *form) take(t token) { f.text.Advance(f.words.text.Text(int32(t))) }

// complete reports whether the answer is, and nothing can follow it.
func (f *form) complete() bool { return f != nil && f.text.MustEnd() }

// stuck says why nothing may come next.
func (f *form) stuck() error {
	err := f.text.Err()
	if err == nil {
		err = errors.New("the model has no token with which the answer could go on")
	}
	return fmt.Errorf("%w: %w", llm.ErrFormat, err)
}
