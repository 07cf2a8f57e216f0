package rest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"riposte/llm"
)

// responseRequest is a request for a response: of OpenAI's, what is made of text alone.
type responseRequest struct {
	Model        string          `json:"model"`
	Input        json.RawMessage `json:"input"`
	Instructions *string         `json:"instructions"`
	sampling

	Tools         []tool          `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	ParallelCalls *bool           `json:"parallel_tool_calls"`
	Text          struct {
		Format *format `json:"format"`
	} `json:"text"`

	MaxOutputTokens *int            `json:"max_output_tokens"`
	TopLogProbs     *int            `json:"top_logprobs"`
	Include         []string        `json:"include"`
	Truncation      string          `json:"truncation"`
	Metadata        json.RawMessage `json:"metadata"`
	User            *string         `json:"user"`
	Stream          *bool           `json:"stream"`

	// What would change the answer, and is not done.
	Previous     *string         `json:"previous_response_id"`
	Conversation json.RawMessage `json:"conversation"`
	Prompt       json.RawMessage `json:"prompt"`
	Background   *bool           `json:"background"`
}

// withLogProbs is what asks for the odds of tokens.
const withLogProbs = "message.output_text.logprobs"

// supported refuses what would change the answer and is not done.
func (q *responseRequest) supported() error {
	switch {
	case q.Previous != nil && *q.Previous != "":
		return unsupported("previous_response_id", "This service keeps no responses: send the whole conversation as input.")
	case !isNull(q.Conversation):
		return unsupported("conversation", "This service keeps no conversations: send the whole of it as input.")
	case !isNull(q.Prompt):
		return unsupported("prompt", "This service keeps no prompts: send it as instructions and input.")
	case q.Background != nil && *q.Background:
		return unsupported("background", "Responses are not kept until they are asked for: wait for this one, or have it streamed.")
	case q.Truncation != "" && q.Truncation != "auto" && q.Truncation != "disabled":
		return wrong("truncation", "truncation is %s; it can be auto or disabled.", quoted(q.Truncation))
	}
	return nil
}

// request returns what the model is asked. The error is a *Problem.
func (q *responseRequest) request(set Route) (r llm.Request, err error) {
	if err := q.supported(); err != nil {
		return r, err
	}
	r = llm.Request{Whole: q.Truncation != "auto", OneCall: q.ParallelCalls != nil && !*q.ParallelCalls, Urgency: background}
	if r.Messages, err = inputOf(q.Input); err != nil {
		return r, err
	}
	if q.Instructions != nil && *q.Instructions != "" {
		r.Messages = append([]llm.Message{{Role: llm.System, Text: *q.Instructions}}, r.Messages...)
	}
	r.Messages = instructed(r.Messages, set.Instructions)
	if r.Tools, err = offered(q.Tools); err != nil {
		return r, err
	}
	if r.Choice, r.Tools, err = choose(q.ToolChoice, r.Tools); err != nil {
		return r, err
	}
	if r.Format, err = q.Text.Format.form("text.format"); err != nil {
		return r, err
	}
	if r.Sampling, err = q.over(set.Sampling); err != nil {
		return r, err
	}
	for _, asked := range q.Include {
		r.Sampling.LogProbs = r.Sampling.LogProbs || asked == withLogProbs
	}
	if q.TopLogProbs != nil {
		if *q.TopLogProbs < 0 || *q.TopLogProbs > mostTop {
			return r, wrong("top_logprobs", "top_logprobs is %d; it can be from 0 to %d.", *q.TopLogProbs, mostTop)
		}
		r.Sampling.Top = *q.TopLogProbs
	}
	if q.MaxOutputTokens != nil {
		if *q.MaxOutputTokens < 1 {
			return r, wrong("max_output_tokens", "max_output_tokens is %d; it must be at least 1.", *q.MaxOutputTokens)
		}
		r.MaxTokens = *q.MaxOutputTokens
	}
	return r, nil
}

// inputItem is one of what a response is to answer.
type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   content         `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// inputOf turns input into the model's messages: a text of the user's, or items.
func inputOf(raw json.RawMessage) ([]llm.Message, error) {
	if isNull(raw) {
		return nil, missing("input")
	}
	if bytes.TrimSpace(raw)[0] == '"' {
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, misread(err)
		}
		all := []llm.Message{{Role: llm.User, Text: text}}
		return all, said(all, "input")
	}
	var items []inputItem
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, wrong("input", "input is neither a text nor a list of items: %v.", err)
	}
	var out []llm.Message
	calls := map[string]bool{}
	for i, item := range items {
		m, err := item.message(fmt.Sprintf("input[%d]", i), calls)
		if err != nil {
			return nil, err
		}
		last := len(out) - 1
		switch {
		case m.Role == "":
		case len(m.Calls) > 0 && last >= 0 && out[last].Role == llm.Assistant: // one answer, of several items
			out[last].Calls = append(out[last].Calls, m.Calls...)
		default:
			out = append(out, m)
		}
	}
	return out, said(out, "input")
}

// message turns an item into one of the model's messages; one without a role is left out. calls are those that were made so far.
func (i inputItem) message(param string, calls map[string]bool) (llm.Message, error) {
	switch i.Type {
	case "", "message":
		if err := i.Content.check(param + ".content"); err != nil {
			return llm.Message{}, err
		}
		role, ok := map[string]llm.Role{"system": llm.System, "developer": llm.System, "user": llm.User, "assistant": llm.Assistant}[i.Role]
		if !ok {
			return llm.Message{}, wrong(param+".role", "%s.role is %s; it can be system, developer, user or assistant.", param, quoted(i.Role))
		}
		if !i.Content.set {
			return llm.Message{}, missing(param + ".content")
		}
		return llm.Message{Role: role, Text: i.Content.text}, nil
	case "function_call":
		c, err := madeCall(param, i.CallID, i.Name, i.Arguments)
		calls[i.CallID] = true
		return llm.Message{Role: llm.Assistant, Calls: []llm.ToolCall{c}}, err
	case "function_call_output":
		var output content
		if err := json.Unmarshal(i.Output, &output); err != nil || output.odd != "" || !output.set {
			return llm.Message{}, wrong(param+".output", "%s.output is neither a text nor a list of texts.", param)
		}
		if !calls[i.CallID] {
			return llm.Message{}, wrong(param+".call_id", "%s is the result of the call %s, which no item before it has made: put the function_call in front.", param, quoted(i.CallID))
		}
		return llm.Message{Role: llm.ToolRole, Call: i.CallID, Text: output.text}, nil
	case "reasoning": // of another model: this one has none
		return llm.Message{}, nil
	}
	return llm.Message{}, unsupported(param+".type", "%s.type is %s; it can be message, function_call or function_call_output.", param, quoted(i.Type))
}
