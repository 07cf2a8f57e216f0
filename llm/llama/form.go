package llama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"riposte/llm"
	"riposte/llm/grammar"
	"riposte/llm/schema"
	"riposte/llm/toolcall"
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

// newForm makes the form of an answer in a style of calls, nil for one that is free.
func newForm(r llm.Request, style toolcall.Style, words func() *lexicon) (*form, error) {
	text, err := requestGrammar(r, style)
	if err != nil || text == "" {
		return nil, err
	}
	g, err := grammar.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", llm.ErrFormat, err)
	}
	return &form{words: words(), text: g.Matcher()}, nil
}

// requestGrammar is what a request's format and tools ask for, as a grammar. It is empty if they ask for nothing.
func requestGrammar(r llm.Request, style toolcall.Style) (string, error) {
	if err := toolcall.Check(r.Tools, r.Choice); err != nil {
		return "", err
	}
	switch {
	case len(r.Tools) == 0:
		return formGrammar(r.Format)
	case r.Format.Grammar == "":
		return toolcall.Grammar(style, r.Tools, r.Choice, r.OneCall, anyObject(r.Format.Schema))
	case r.Choice == llm.ChoiceNone:
		return formGrammar(r.Format)
	}
	return "", fmt.Errorf("%w: an answer cannot keep to a grammar and call tools as well: choose \"none\" of the tools, or give a schema", llm.ErrFormat)
}

// formGrammar is what a format says, as a grammar. It is empty for one that says nothing.
func formGrammar(f llm.Format) (string, error) {
	switch {
	case len(f.Schema) == 0:
		return f.Grammar, nil
	case f.Grammar != "":
		return "", fmt.Errorf("%w: both a schema and a grammar are given: give one", llm.ErrFormat)
	}
	return schema.Compile(anyObject(f.Schema))
}

// anyObject returns a schema, and that of any object for an empty one.
func anyObject(s json.RawMessage) json.RawMessage {
	if t := bytes.TrimSpace(s); len(t) > 1 && t[0] == '{' && len(bytes.TrimSpace(t[1:])) == 1 {
		return json.RawMessage(`{"type": "object"}`)
	}
	return s
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

// forced takes the tokens of what the answer has to go on with, and returns them: they need not be picked one by one. The
// last of them is left to the model, which may know a longer one, unless it ends the answer.
func (f *form) forced() []token {
	if f == nil {
		return nil
	}
	text, ends := f.text.Forced()
	tokens := f.words.text.Spell(text)
	n := 0
	for _, t := range tokens {
		n += len(f.words.text.Text(t))
	}
	if len(tokens) > 0 && (!ends || n < len(text)) {
		tokens = tokens[:len(tokens)-1]
	}
	for _, t := range tokens {
		f.take(t)
	}
	return tokens
}

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
