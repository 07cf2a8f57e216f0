package remote

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"riposte/llm"
)

// body returns a request in the protocol's words. Of sampling it has what the protocol has: top_k, min_p and repeat_penalty are some
// servers' own, which others refuse; they belong into Extra, by the names that the server has for them.
func (e *Engine) body(r llm.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{
		Model:         e.Server.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
		Temperature:   param.NewOpt(exact(r.Sampling.Temperature)),
	}
	for _, m := range r.Messages {
		p.Messages = append(p.Messages, message(m))
	}
	if err := tools(&p, r); err != nil {
		return p, err
	}
	if r.MaxTokens > 0 {
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens))
		if e.Server.Base.Hostname() == "api.openai.com" { // whose newer models do not take the older word, which all others know
			p.MaxTokens, p.MaxCompletionTokens = param.Opt[int64]{}, param.NewOpt(int64(r.MaxTokens))
		}
	}
	if s := r.Sampling.TopP; s > 0 && s < 1 {
		p.TopP = param.NewOpt(exact(s))
	}
	if s := r.Sampling.PresencePenalty; s != 0 {
		p.PresencePenalty = param.NewOpt(exact(s))
	}
	if s := r.Sampling.FrequencyPenalty; s != 0 {
		p.FrequencyPenalty = param.NewOpt(exact(s))
	}
	if s := r.Sampling.Seed; s != 0 {
		p.Seed = param.NewOpt(int64(s))
	}
	if r.Sampling.LogProbs {
		p.Logprobs = param.NewOpt(true)
	}
	if n := r.Sampling.Top; n > 0 {
		p.TopLogprobs = param.NewOpt(int64(n))
	}
	if r.OneCall && len(r.Tools) > 0 {
		p.ParallelToolCalls = param.NewOpt(false)
	}
	if len(r.Stop) > 0 {
		p.Stop.OfStringArray = r.Stop
	}
	switch {
	case r.Format.Grammar != "":
		return p, fmt.Errorf("%w: a remote model can be held to a JSON schema, and not to a grammar", llm.ErrFormat)
	case len(r.Format.Schema) > 0:
		var schema any
		if err := json.Unmarshal(r.Format.Schema, &schema); err != nil {
			return p, fmt.Errorf("%w: %w", llm.ErrFormat, err)
		}
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{
			JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "answer", Schema: schema},
		}
	}
	extra := map[string]any{}
	for name, value := range e.Extra {
		if value == nil {
			value = param.Omit
		}
		extra[name] = value
	}
	if len(extra) > 0 {
		p.SetExtraFields(extra)
	}
	return p, nil
}

// exact returns a number as it was written: 0.3 and not 0.30000001192092896.
func exact(f float32) float64 {
	var out float64
	_, _ = fmt.Sscan(fmt.Sprint(f), &out)
	return out
}

// message returns a message in the protocol's words.
func message(m llm.Message) openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case llm.System:
		return openai.SystemMessage(m.Text)
	case llm.ToolRole:
		return openai.ToolMessage(m.Text, m.Call)
	case llm.Assistant:
		a := openai.ChatCompletionAssistantMessageParam{}
		if m.Text != "" || len(m.Calls) == 0 {
			a.Content.OfString = param.NewOpt(m.Text)
		}
		for _, c := range m.Calls {
			a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: string(c.Arguments)},
			}})
		}
		return openai.ChatCompletionMessageParamUnion{OfAssistant: &a}
	}
	return openai.UserMessage(m.Text)
}

// tools puts the tools of r into a request.
func tools(p *openai.ChatCompletionNewParams, r llm.Request) error {
	if len(r.Tools) == 0 {
		return nil
	}
	for _, t := range r.Tools {
		f := shared.FunctionDefinitionParam{Name: t.Name}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		if len(t.Parameters) > 0 {
			if err := json.Unmarshal(t.Parameters, &f.Parameters); err != nil {
				return errors.Join(llm.ErrFormat, fmt.Errorf("the parameters of the tool %q: %w", t.Name, err))
			}
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	switch r.Choice {
	case llm.ChoiceAuto:
	case llm.ChoiceNone, llm.ChoiceRequired:
		p.ToolChoice.OfAuto = param.NewOpt(string(r.Choice))
	default:
		p.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: string(r.Choice)})
	}
	return nil
}
