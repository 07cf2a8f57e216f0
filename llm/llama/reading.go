package llama

import (
	"slices"
	"strings"

	"riposte/llm"
)

// stand is written in place of a message to find what a template writes after it.
const stand = "\u2402stand\u2402"

// unfinished returns the tokens of a conversation up to the end of its last message's text, so that a message that
// goes on begins with the same ones, but for the last where a word goes on. closing is the token with which the
// template closes such a message, or -1 where it writes none that can be told from the text.
func (p *prompter) unfinished(messages []llm.Message, room int) (tokens []token, closing token, err error) {
	messages = slices.Clone(messages)
	for i := len(messages) - 1; i >= 0; i-- {
		// A space at the end would belong to the next word.
		if messages[i].Text = strings.TrimSpace(messages[i].Text); messages[i].Text != "" {
			break
		}
	}
	if tokens, err = p.build(messages, room); err != nil {
		return nil, -1, err
	}
	after := p.pieces.tokens(p.after(p.clean(messages)))
	// Where the text and what follows it became tokens together, all of it is read: what differs is taken back later.
	if n := len(tokens) - len(after); len(after) > 0 && n > 0 && slices.Equal(tokens[n:], after) {
		return tokens[:n], after[0], nil
	}
	return tokens, -1, nil
}

// after returns what the template writes after the text of the last message.
func (p *prompter) after(messages []llm.Message) string {
	messages[len(messages)-1].Text = stand
	text := p.template.render(messages)
	i := strings.LastIndex(text, stand)
	if i < 0 {
		return ""
	}
	return text[i+len(stand):]
}
