package pipeline

import (
	"encoding/json"
	"slices"

	"riposte/llm"
	"riposte/scenario"
	"riposte/transport"
)

// offered returns the tools of a script, which all take the same argument.
func offered(names []string) []llm.Tool {
	var out []llm.Tool
	for _, n := range names {
		out = append(out, llm.Tool{Name: n, Parameters: json.RawMessage(
			`{"type": "object", "properties": {"about": {"type": "string"}}, "required": ["about"], "additionalProperties": false}`)})
	}
	return out
}

// call makes a call of a script's.
func (c *cast) call(s scenario.Call) *llm.ToolCall {
	arguments, _ := json.Marshal(map[string]string{"about": s.About}) // it cannot fail
	return &llm.ToolCall{ID: newID("call"), Name: s.Tool, Arguments: arguments}
}

// about returns the argument of a call.
func about(arguments json.RawMessage) string {
	var a struct{ About string }
	_ = json.Unmarshal(arguments, &a) // what is none is about nothing
	return a.About
}

// returns adds the result of the newest call of a tool.
func (p *play) returns(s scenario.Returns) {
	for _, c := range slices.Backward(told[transport.Called](p.phone.line)) {
		if c.Item.Call.Name == s.Tool {
			p.sends(transport.Add{Item: transport.Item{Role: llm.ToolRole, Text: s.Text, Call: &llm.ToolCall{ID: c.Item.Call.ID}}})
			return
		}
	}
	p.amiss("%s was not called", s.Tool)
}

// ruleOfCalls: the model never reads a call without a result behind it, or a result without its call; and nothing is called that
// is not part of an answer that was given.
func (p *play) ruleOfCalls() {
	for _, prompt := range append(slices.Clone(p.cast.prompts), p.session.history.messages("", "")) {
		if why := malformed(prompt); why != "" {
			p.amiss("the model read %s: %+v", why, prompt)
		}
	}
}

// malformed says what is wrong with a conversation that has calls.
func malformed(messages []llm.Message) string {
	var open []string // Calls whose results have to follow.
	for _, m := range messages {
		if m.Role == llm.ToolRole {
			i := slices.Index(open, m.Call)
			if i < 0 {
				return "a result without a call"
			}
			open = slices.Delete(open, i, i+1)
			continue
		}
		if len(open) > 0 {
			return "a call without a result"
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return "a call without a result at the end"
	}
	return ""
}
