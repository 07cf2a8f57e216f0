package rest

import (
	"encoding/json"

	"riposte/llm"
)

// chatRequest is a request for a chat completion. What is not here means nothing to the service, and is left out as other servers leave
// it out.
type chatRequest struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	sampling

	Tools         []tool          `json:"tools"`
	ToolChoice    json.RawMessage `json:"tool_choice"`
	ParallelCalls *bool           `json:"parallel_tool_calls"`
	Format        *format         `json:"response_format"`

	Stop                json.RawMessage `json:"stop"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	LogProbs            *bool           `json:"logprobs"`
	TopLogProbs         *int            `json:"top_logprobs"`

	Stream        *bool `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`

	// What would change the answer, and is not done.
	N            *int            `json:"n"`
	LogitBias    map[string]any  `json:"logit_bias"`
	Modalities   []string        `json:"modalities"`
	Audio        json.RawMessage `json:"audio"`
	Functions    json.RawMessage `json:"functions"`
	FunctionCall json.RawMessage `json:"function_call"`
	WebSearch    json.RawMessage `json:"web_search_options"`
}

// mostTop is how many of the likeliest tokens are named at most.
const mostTop = 20

// supported refuses what would change the answer and is not done.
func (q *chatRequest) supported() error {
	switch {
	case q.N != nil && *q.N != 1:
		return unsupported("n", "n is %d; this service gives one answer: ask as often as you want others.", *q.N)
	case len(q.LogitBias) > 0:
		return unsupported("logit_bias", "logit_bias is not supported.")
	case !isNull(q.Audio):
		return unsupported("audio", "Chats are answered in text: have it spoken by /v1/audio/speech.")
	case !isNull(q.Functions), !isNull(q.FunctionCall):
		return unsupported("functions", "functions and function_call are not supported: use tools and tool_choice.")
	case !isNull(q.WebSearch):
		return unsupported("web_search_options", "This service searches nothing.")
	}
	for _, m := range q.Modalities {
		if m != "text" {
			return unsupported("modalities", "modalities has %s; chats are answered in text.", quoted(m))
		}
	}
	return nil
}

// request returns what the model is asked. The error is a *Problem.
func (q *chatRequest) request(set Route) (r llm.Request, err error) {
	if err := q.supported(); err != nil {
		return r, err
	}
	r = llm.Request{Whole: true, OneCall: q.ParallelCalls != nil && !*q.ParallelCalls, Urgency: background}
	if r.Messages, err = conversation(q.Messages); err != nil {
		return r, err
	}
	r.Messages = instructed(r.Messages, set.Instructions)
	if r.Tools, err = offered(q.Tools); err != nil {
		return r, err
	}
	if r.Choice, r.Tools, err = choose(q.ToolChoice, r.Tools); err != nil {
		return r, err
	}
	if r.Format, err = q.Format.form("response_format"); err != nil {
		return r, err
	}
	if r.Stop, err = stops(q.Stop); err != nil {
		return r, err
	}
	if r.Sampling, err = q.over(set.Sampling); err != nil {
		return r, err
	}
	if err := q.likelihood(&r.Sampling); err != nil {
		return r, err
	}
	for _, m := range []struct {
		name string
		is   *int
	}{{"max_tokens", q.MaxTokens}, {"max_completion_tokens", q.MaxCompletionTokens}} {
		if m.is == nil {
			continue
		}
		if *m.is < 1 {
			return r, wrong(m.name, "%s is %d; it must be at least 1.", m.name, *m.is)
		}
		r.MaxTokens = *m.is
	}
	return r, nil
}

// likelihood reads what is wanted to be known of the tokens' odds.
func (q *chatRequest) likelihood(s *llm.Sampling) error {
	s.LogProbs = q.LogProbs != nil && *q.LogProbs
	if q.TopLogProbs == nil {
		return nil
	}
	n := *q.TopLogProbs
	if n < 0 || n > mostTop {
		return wrong("top_logprobs", "top_logprobs is %d; it can be from 0 to %d.", n, mostTop)
	}
	if n > 0 && !s.LogProbs {
		return wrong("top_logprobs", "top_logprobs is only for who asks for logprobs: set logprobs to true.")
	}
	s.Top = n
	return nil
}
