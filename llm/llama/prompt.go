package llama

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"riposte/llm"
)

// prompter makes tokens of conversations. It is safe for concurrent use.
type prompter struct {
	template *chatTemplate
	pieces   *fragments
	begin    []token // What every document begins with: the BOS token, or nothing.
	beginsAs string  // Its text, in case the template writes it as well.
	markers  *strings.Replacer
	longest  int     // Bytes of the longest token's text; 0 where that is not known.
	keep     float32 // Of the room, where something is left out; 0 for three quarters.
}

// newPrompter makes one that uses a tokenizer, which must be safe for concurrent use and take the texts of control
// tokens for what they are. Given these, nobody can end their message by saying one. Before those of them that are in
// cuts as well, a text may be cut without becoming other tokens.
func newPrompter(t *chatTemplate, tokenize func(string) []token, control, cuts []string) *prompter {
	var pairs, written []string
	control = slices.Concat(control, t.style.Markers())
	for _, c := range control {
		if first, n := utf8.DecodeRuneInString(c); len(c) > n+1 {
			pairs = append(pairs, c, string(first)+" "+c[n:])
		}
	}
	for _, c := range cuts {
		if c != "" && t.writes(c) {
			written = append(written, c)
		}
	}
	return &prompter{template: t, pieces: &fragments{tokenize: tokenize, markers: written}, markers: strings.NewReplacer(pairs...)}
}

// with returns a prompter for conversations with these tools, of which so much is kept where something is left out.
func (p *prompter) with(tools []llm.Tool, keep float32) *prompter {
	c := *p
	c.template, c.keep = p.template.with(p.cleanTools(tools)), keep
	return &c
}

// build returns the tokens of a conversation, at most room of them. Where it is longer, its oldest messages are left
// out, never the system's and never the last, nor the call that the last is the result of. They are left out in blocks of a quarter of the room, or what
// is not to be kept of it, and from one place on, so that the beginning of the prompt stays the same for many turns and need not be computed anew in each.
func (p *prompter) build(messages []llm.Message, room int) ([]token, error) {
	all := p.clean(messages)
	if len(all) == 0 {
		return nil, ErrNoMessages
	}
	all, err := p.fitting(all, room)
	if err != nil {
		return nil, err
	}
	tokens := p.tokens(all)
	if len(tokens) <= room {
		return tokens, nil
	}
	block := max(room/4, 1)
	if p.keep > 0 {
		block = max(int(float32(room)*(1-p.keep)), 1)
	}
	spoken := make([]int, len(all)) // The tokens of each message that may be left out, roughly: markers count as 4.
	for i, m := range all[:len(all)-1] {
		if m.Role != llm.System {
			spoken[i] = len(p.pieces.tokens(m.Text)) + 4
			for _, c := range m.Calls {
				spoken[i] += len(p.pieces.tokens(string(c.Arguments))) + 16
			}
		}
	}
	least := (len(tokens) - room + block - 1) / block * block
	for {
		kept, more := without(all, spoken, least)
		tokens = p.tokens(kept)
		if len(tokens) <= room {
			return tokens, nil
		}
		if !more {
			return nil, fmt.Errorf("%w: the system prompt and the last message are %d tokens, %d fit: shorten them or allow more context",
				llm.ErrTooLong, len(tokens), room)
		}
		least += block
	}
}

// whole returns the tokens of all of a conversation, at most room of them.
func (p *prompter) whole(messages []llm.Message, room int) ([]token, error) {
	all := p.clean(messages)
	if len(all) == 0 {
		return nil, ErrNoMessages
	}
	kept, err := p.fitting(all, room)
	if err != nil {
		return nil, err
	}
	tokens := p.tokens(kept)
	if len(kept) < len(all) || len(tokens) > room {
		return nil, fmt.Errorf("%w: at most %d tokens do, with one more for an answer", llm.ErrTooLong, room)
	}
	return tokens, nil
}

// fitting leaves out the oldest messages of what cannot fit however it is tokenised, since every token has but so many bytes. A tokenizer
// takes longer than anybody waits for a megabyte without a space, and cannot be stopped.
func (p *prompter) fitting(all []llm.Message, room int) ([]llm.Message, error) {
	if p.longest == 0 {
		return all, nil
	}
	least := func(m llm.Message) int { // The tokens that it has at least.
		n := len(m.Text)
		for _, c := range m.Calls {
			n += len(c.Name) + len(c.Arguments)
		}
		return n / p.longest
	}
	sum, spoken := 0, make([]int, len(all))
	for i, m := range all {
		spoken[i] = least(m)
		sum += spoken[i]
	}
	if sum <= room {
		return all, nil
	}
	kept, _ := without(all, spoken, sum-room)
	sum = 0
	for _, m := range kept {
		sum += least(m)
	}
	if sum > room {
		return nil, fmt.Errorf("%w: the system prompt and the last message are at least %d tokens, %d fit: shorten them or allow more context", llm.ErrTooLong, sum, room)
	}
	return kept, nil
}

// without leaves out the oldest messages until at least so many tokens are gone, and then until a user speaks. It
// reports whether anything more could be left out.
func without(all []llm.Message, spoken []int, least int) (kept []llm.Message, more bool) {
	gone, last := 0, len(all)-1
	for last > 0 && all[last].Role == llm.ToolRole {
		last--
	}
	for i, m := range all {
		if i >= last || m.Role == llm.System {
			kept = append(kept, m)
			continue
		}
		if gone < least || m.Role != llm.User && !more {
			gone += spoken[i]
			continue
		}
		more = true
		kept = append(kept, m)
	}
	return kept, more
}

// tokens renders and tokenises a conversation.
func (p *prompter) tokens(messages []llm.Message) []token {
	text := p.template.render(messages)
	if p.beginsAs != "" && strings.HasPrefix(text, p.beginsAs) {
		return p.pieces.tokens(text)
	}
	return append(slices.Clone(p.begin), p.pieces.tokens(text)...)
}

// clean leaves out messages without text and takes from the others what a tokenizer would stumble over or obey.
func (p *prompter) clean(messages []llm.Message) []llm.Message {
	out := make([]llm.Message, 0, len(messages))
	for _, m := range messages {
		m.Text = plainText(m.Text)
		if strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 && m.Role != llm.ToolRole {
			continue
		}
		m.Text = p.markers.Replace(m.Text)
		m.Calls = slices.Clone(m.Calls)
		for i, c := range m.Calls {
			m.Calls[i].Name = p.markers.Replace(plainText(c.Name))
			m.Calls[i].Arguments = p.cleanJSON(c.Arguments)
		}
		if m.Role == "" {
			m.Role = llm.User
		}
		m.Role = llm.Role(p.markers.Replace(string(m.Role)))
		out = append(out, m)
	}
	return out
}

// plainText takes from a text what a tokenizer would stumble over.
func plainText(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
}

// cleanJSON breaks the markers in JSON. They can only stand in strings, which stay strings.
func (p *prompter) cleanJSON(raw json.RawMessage) json.RawMessage {
	return json.RawMessage(p.markers.Replace(plainText(string(raw))))
}

// cleanTools is clean for the descriptions of tools, which may come from far away as well.
func (p *prompter) cleanTools(tools []llm.Tool) []llm.Tool {
	out := slices.Clone(tools)
	for i, t := range out {
		out[i].Description = p.markers.Replace(plainText(t.Description))
		out[i].Parameters = p.cleanJSON(t.Parameters)
	}
	return out
}
