package rest

import (
	"encoding/json"
	"fmt"
	"strings"

	"riposte/llm"
)

// message is one of a chat, in OpenAI's form.
type message struct {
	Role      string     `json:"role"`
	Content   content    `json:"content"`
	Calls     []toolCall `json:"tool_calls"`
	Call      string     `json:"tool_call_id"`
	Functions any        `json:"function_call"`
}

// toolCall is a call that an assistant has made.
type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// conversation turns messages into the model's.
func conversation(all []message) ([]llm.Message, error) {
	if len(all) == 0 {
		return nil, missing("messages")
	}
	out := make([]llm.Message, 0, len(all))
	calls := map[string]bool{}
	for i, m := range all {
		param := fmt.Sprintf("messages[%d]", i)
		if err := m.Content.check(param + ".content"); err != nil {
			return nil, err
		}
		converted := llm.Message{Text: m.Content.text}
		switch m.Role {
		case "system", "developer":
			converted.Role = llm.System
		case "user":
			converted.Role = llm.User
		case "assistant":
			converted.Role = llm.Assistant
			if m.Functions != nil {
				return nil, unsupported(param+".function_call", "function_call is not supported: use tool_calls.")
			}
			for k, c := range m.Calls {
				made, err := c.call(fmt.Sprintf("%s.tool_calls[%d]", param, k))
				if err != nil {
					return nil, err
				}
				calls[made.ID] = true
				converted.Calls = append(converted.Calls, made)
			}
		case "tool":
			if !calls[m.Call] {
				return nil, wrong(param+".tool_call_id", "%s is the result of the call %s, which no message before it has made: put the assistant's message with its tool_calls in front.", param, quoted(m.Call))
			}
			converted.Role, converted.Call = llm.ToolRole, m.Call
		default:
			return nil, wrong(param+".role", "%s.role is %s; it can be system, developer, user, assistant or tool.", param, quoted(m.Role))
		}
		if !m.Content.set && len(m.Calls) == 0 {
			return nil, missing(param + ".content")
		}
		out = append(out, converted)
	}
	return out, said(out, "messages")
}

// said refuses a conversation in which nobody says anything.
func said(all []llm.Message, param string) error {
	for _, m := range all {
		if strings.TrimSpace(m.Text) != "" || len(m.Calls) > 0 || m.Role == llm.ToolRole {
			return nil
		}
	}
	return wrong(param, "%s has no text in it: say something.", param)
}

// call turns a call into the model's.
func (c toolCall) call(param string) (llm.ToolCall, error) {
	if c.Type != "" && c.Type != "function" {
		return llm.ToolCall{}, unsupported(param+".type", "%s.type is %s; only functions can be called.", param, quoted(c.Type))
	}
	return madeCall(param, c.ID, c.Function.Name, c.Function.Arguments)
}

// madeCall is a call that was made.
func madeCall(param, id, name, arguments string) (llm.ToolCall, error) {
	switch {
	case id == "" || name == "":
		return llm.ToolCall{}, wrong(param, "%s lacks its ID or the name of the function.", param)
	case strings.TrimSpace(arguments) == "":
		arguments = "{}"
	case !json.Valid([]byte(arguments)):
		return llm.ToolCall{}, wrong(param, "%s has arguments that are no JSON.", param)
	}
	return llm.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(arguments)}, nil
}

// instructed puts instructions before a conversation in which the system says nothing.
func instructed(all []llm.Message, instructions string) []llm.Message {
	if instructions == "" {
		return all
	}
	for _, m := range all {
		if m.Role == llm.System {
			return all
		}
	}
	return append([]llm.Message{{Role: llm.System, Text: instructions}}, all...)
}
