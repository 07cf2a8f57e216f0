package llama

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"strings"

	"riposte/llm"
	"riposte/llm/toolcall"
)

// spelled writes tools, calls and results as text, for templates that have no words for them.
func spelled(tools []llm.Tool, messages []llm.Message) []llm.Message {
	var out []llm.Message
	for i, m := range messages {
		switch {
		case m.Role == llm.ToolRole:
			text := toolcall.Result(m.Text)
			if i > 0 && messages[i-1].Role == llm.ToolRole {
				out[len(out)-1].Text += "\n" + text
				continue
			}
			m = llm.Message{Role: llm.User, Text: text}
		case len(m.Calls) > 0:
			text := toolcall.Spell(m.Calls)
			if m.Text != "" {
				text = m.Text + "\n" + text
			}
			m = llm.Message{Role: m.Role, Text: text}
		}
		out = append(out, m)
	}
	if len(tools) == 0 {
		return out
	}
	text := toolcall.Describe(tools)
	if len(out) > 0 && out[0].Role == llm.System {
		out[0].Text += "\n\n" + text
		return out
	}
	return append([]llm.Message{{Role: llm.System, Text: text}}, out...)
}

// oneByOne gives each call, and the text before it, a message of its own, with the call's result behind it.
func oneByOne(messages []llm.Message) []llm.Message {
	var out []llm.Message
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if len(m.Calls) == 0 || len(m.Calls) == 1 && m.Text == "" {
			out = append(out, m)
			continue
		}
		if m.Text != "" {
			out = append(out, llm.Message{Role: m.Role, Text: m.Text})
		}
		var results []llm.Message
		for i+1 < len(messages) && messages[i+1].Role == llm.ToolRole {
			i++
			results = append(results, messages[i])
		}
		for _, c := range m.Calls {
			out = append(out, llm.Message{Role: m.Role, Calls: []llm.ToolCall{c}})
			for k, r := range results {
				if r.Call == c.ID {
					out = append(out, r)
					results = append(results[:k:k], results[k+1:]...)
					break
				}
			}
		}
		out = append(out, results...)
	}
	return out
}

// offers reports whether a text names all tools.
func (t *chatTemplate) offers(text string) bool {
	for _, tool := range t.tools {
		if !strings.Contains(text, tool.Name) {
			return false
		}
	}
	return true
}

// writesTools reports whether the template really writes tools, calls and results where it is given some.
func (t *chatTemplate) writesTools() bool {
	const name, city, result = "probe_weather", "Probeville", "probably sunny"
	p := t.with([]llm.Tool{{Name: name, Description: "D", Parameters: json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string", "description": "C"}}}`)}})
	ask := llm.Message{Role: llm.User, Text: "Q"}
	before, err := p.apply([]llm.Message{ask})
	if err != nil || !strings.Contains(before, name) {
		return false
	}
	after, err := p.apply([]llm.Message{ask,
		{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "1", Name: name, Arguments: json.RawMessage(`{"city": "` + city + `"}`)}}},
		{Role: llm.ToolRole, Call: "1", Text: result},
	})
	return err == nil && strings.Count(after, name) > strings.Count(before, name) && strings.Contains(after, city) && strings.Contains(after, result)
}

// shortID makes of a call's ID one of nine letters and digits, which is what some templates want.
func shortID(id string) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // A hash takes everything.
	var b [9]byte
	for i, n := 0, h.Sum64(); i < len(b); i++ {
		b[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(b[:])
}

// hearing returns a yield that tells what the model says from what it calls.
func hearing(style toolcall.Style, tools []llm.Tool, yield func(llm.Piece, error) bool) func(llm.Piece, error) bool {
	r := toolcall.NewReader(style, tools)
	called := false
	var logProb float32 // Of what is held back, as are the tokens.
	var tokens []llm.Token
	say := func(text string) bool {
		if text == "" {
			return true
		}
		p := llm.Piece{Text: text, LogProb: logProb, Tokens: tokens}
		logProb, tokens = 0, nil
		return yield(p, nil)
	}
	return func(p llm.Piece, err error) bool {
		switch {
		case err != nil:
			return yield(p, err)
		case p.Usage != nil:
			text, err := r.End(p.Usage.Finish == llm.FinishLength)
			if !say(text) {
				return false
			}
			if err != nil {
				return yield(llm.Piece{}, err)
			}
			if called && p.Usage.Finish == llm.FinishStop {
				p.Usage.Finish = llm.FinishTools
			}
			return yield(p, nil)
		}
		logProb, tokens = logProb+p.LogProb, append(tokens, p.Tokens...)
		text, calls, err := r.Push(p.Text)
		if !say(text) {
			return false
		}
		for _, c := range calls {
			called, logProb, tokens = true, 0, nil
			if !yield(llm.Piece{Call: &c}, nil) {
				return false
			}
		}
		if err != nil {
			yield(llm.Piece{}, err)
			return false
		}
		return true
	}
}

// argumentsOf are the arguments of a call, {} where there are none.
func argumentsOf(c llm.ToolCall) json.RawMessage {
	if len(bytes.TrimSpace(c.Arguments)) == 0 {
		return json.RawMessage("{}")
	}
	return c.Arguments
}
