package rest

import (
	"encoding/json"

	"riposte/llm"
)

// responseObject is a response in OpenAI's form, as far as it has come.
type responseObject struct {
	ID           string           `json:"id"`
	Object       string           `json:"object"`
	CreatedAt    int64            `json:"created_at"`
	CompletedAt  *int64           `json:"completed_at"`
	Status       string           `json:"status"`
	Background   bool             `json:"background"`
	Error        any              `json:"error"`
	Incomplete   any              `json:"incomplete_details"`
	Instructions *string          `json:"instructions"`
	MaxTokens    *int             `json:"max_output_tokens"`
	Model        string           `json:"model"`
	Output       []any            `json:"output"`
	Parallel     bool             `json:"parallel_tool_calls"`
	Previous     *string          `json:"previous_response_id"`
	Reasoning    map[string]any   `json:"reasoning"`
	Store        bool             `json:"store"`
	Temperature  float32          `json:"temperature"`
	Text         map[string]any   `json:"text"`
	ToolChoice   any              `json:"tool_choice"`
	Tools        []map[string]any `json:"tools"`
	TopLogProbs  int              `json:"top_logprobs"`
	TopP         float32          `json:"top_p"`
	Truncation   string           `json:"truncation"`
	Usage        *responseUsage   `json:"usage"`
	User         *string          `json:"user"`
	Metadata     json.RawMessage  `json:"metadata"`
}

// responseUsage counts tokens.
type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// object returns the response that a request gets, before there is anything of it.
func (q *responseRequest) object(r llm.Request) responseObject {
	o := responseObject{
		Object: "response", Status: "in_progress", Instructions: q.Instructions, MaxTokens: q.MaxOutputTokens, Model: q.Model, Output: []any{},
		Parallel: !r.OneCall, Reasoning: map[string]any{"effort": nil, "summary": nil}, Temperature: r.Sampling.Temperature,
		TopP: r.Sampling.TopP, TopLogProbs: r.Sampling.Top, Truncation: "disabled", User: q.User, Metadata: q.Metadata,
		ToolChoice: "auto", Tools: []map[string]any{}, Text: map[string]any{"format": map[string]any{"type": "text"}},
	}
	if !r.Whole {
		o.Truncation = "auto"
	}
	if o.TopP < 0.001 { // off, or as good as greedy
		o.TopP = 1
	}
	if isNull(q.Metadata) {
		o.Metadata = json.RawMessage("{}")
	}
	if !isNull(q.ToolChoice) {
		o.ToolChoice = q.ToolChoice
	}
	if f := q.Text.Format; f != nil {
		form := map[string]any{"type": f.Type}
		if f.Type == "json_schema" {
			form["name"], form["schema"], form["strict"] = f.Name, f.Schema, true
		}
		o.Text["format"] = form
	}
	for _, t := range q.Tools {
		o.Tools = append(o.Tools, map[string]any{
			"type": "function", "name": t.function.Name, "description": t.function.Description, "parameters": t.function.Parameters, "strict": true,
		})
	}
	return o
}

// end completes the response by why it ended.
func (o *responseObject) end(u *llm.Usage, at int64) {
	o.Status, o.CompletedAt = "completed", &at
	if u == nil {
		return
	}
	o.Usage = &responseUsage{Input: u.Prompt, Output: u.Output, Total: u.Prompt + u.Output}
	o.Usage.InputDetails.Cached = u.Cached
	if u.Finish == llm.FinishLength {
		o.Status, o.CompletedAt, o.Incomplete = "incomplete", nil, map[string]any{"reason": "max_output_tokens"}
	}
}

// textPart is what an answer says.
type textPart struct {
	Type        string      `json:"type"`
	Text        string      `json:"text"`
	Annotations []any       `json:"annotations"`
	LogProbs    []tokenOdds `json:"logprobs"`
}

// messageItem is the item of an answer that says something.
type messageItem struct {
	ID      string     `json:"id"`
	Type    string     `json:"type"`
	Status  string     `json:"status"`
	Role    string     `json:"role"`
	Content []textPart `json:"content"`
}

// callItem is the item of an answer that calls a function.
type callItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Status    string `json:"status"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}
