package rest

import (
	"strings"

	"riposte/llm"
)

// callObject is a call in OpenAI's form.
type callObject struct {
	Index    *int   `json:"index,omitempty"` // In streams.
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func callOf(c *llm.ToolCall) callObject {
	o := callObject{ID: c.ID, Type: "function"}
	o.Function.Name, o.Function.Arguments = c.Name, argumentsOf(c)
	return o
}

// argumentsOf are the arguments of a call, {} where there are none.
func argumentsOf(c *llm.ToolCall) string {
	if len(c.Arguments) == 0 {
		return "{}"
	}
	return string(c.Arguments)
}

// usageObject counts tokens.
type usageObject struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
		Audio  int `json:"audio_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
		Audio     int `json:"audio_tokens"`
		Accepted  int `json:"accepted_prediction_tokens"`
		Rejected  int `json:"rejected_prediction_tokens"`
	} `json:"completion_tokens_details"`
}

func usageOf(u *llm.Usage) *usageObject {
	if u == nil {
		return nil
	}
	o := &usageObject{Prompt: u.Prompt, Completion: u.Output, Total: u.Prompt + u.Output}
	o.PromptDetails.Cached = u.Cached
	return o
}

// logProbs says how likely the tokens were.
type logProbs struct {
	Content []tokenOdds `json:"content"`
	Refusal any         `json:"refusal"`
}

// tokenOdds says how likely one was.
type tokenOdds struct {
	Token   string      `json:"token"`
	LogProb float32     `json:"logprob"`
	Bytes   []int       `json:"bytes"`
	Top     []tokenOdds `json:"top_logprobs,omitempty"`
}

// leastLogProb stands for what cannot be written: the logarithm of nothing.
const leastLogProb = -9999

func oddsOf(tokens []llm.Token) []tokenOdds {
	out := []tokenOdds{}
	for _, t := range tokens {
		o := tokenOdds{Token: strings.ToValidUTF8(t.Text, "\uFFFD"), LogProb: max(leastLogProb, t.LogProb), Bytes: []int{}}
		for _, b := range []byte(t.Text) {
			o.Bytes = append(o.Bytes, int(b))
		}
		if len(t.Top) > 0 {
			o.Top = oddsOf(t.Top)
		}
		out = append(out, o)
	}
	return out
}

// frame is what all chunks of a stream have.
func (c *completion) frame() chunkObject {
	return chunkObject{ID: c.ID, Object: "chat.completion.chunk", Created: c.Created, Model: c.Model, Fingerprint: c.Fingerprint}
}

// chunkObject is one chunk of a stream.
type chunkObject struct {
	ID          string        `json:"id"`
	Object      string        `json:"object"`
	Created     int64         `json:"created"`
	Model       string        `json:"model"`
	Fingerprint string        `json:"system_fingerprint"`
	Choices     []chunkChoice `json:"choices"`
	Usage       *usageObject  `json:"usage,omitempty"`
}

type chunkChoice struct {
	Index    int       `json:"index"`
	Delta    delta     `json:"delta"`
	LogProbs *logProbs `json:"logprobs"`
	Finish   *string   `json:"finish_reason"`
}

// delta is what a chunk adds to the answer.
type delta struct {
	Role    string       `json:"role,omitempty"`
	Content *string      `json:"content,omitempty"`
	Calls   []callObject `json:"tool_calls,omitempty"`
}

// chunkOf is a chunk with an addition to the answer, or its end.
func (c *completion) chunkOf(d delta, odds *logProbs, finish string) chunkObject {
	o := c.frame()
	choice := chunkChoice{Delta: d, LogProbs: odds}
	if finish != "" {
		choice.Finish = &finish
	}
	o.Choices = []chunkChoice{choice}
	return o
}

// completionObject is a whole answer.
type completionObject struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []choice     `json:"choices"`
	Usage       *usageObject `json:"usage"`
}

type choice struct {
	Index    int           `json:"index"`
	Message  answerMessage `json:"message"`
	LogProbs *logProbs     `json:"logprobs"`
	Finish   string        `json:"finish_reason"`
}

// answerMessage is what the assistant says or calls. Its content is null where it only calls.
type answerMessage struct {
	Role        string       `json:"role"`
	Content     *string      `json:"content"`
	Refusal     any          `json:"refusal"`
	Annotations []any        `json:"annotations"`
	Calls       []callObject `json:"tool_calls,omitempty"`
}

// whole is the answer that was kept.
func (c *completion) whole() completionObject {
	m := answerMessage{Role: "assistant", Annotations: []any{}, Calls: c.calls}
	if text := c.text.String(); text != "" || len(c.calls) == 0 {
		m.Content = &text
	}
	finish := "stop"
	if c.usage != nil {
		finish = finishOf(c.usage.Finish)
	}
	return completionObject{
		ID: c.ID, Object: "chat.completion", Created: c.Created, Model: c.Model, Fingerprint: c.Fingerprint, Usage: usageOf(c.usage),
		Choices: []choice{{Message: m, LogProbs: c.odds(c.tokens), Finish: finish}},
	}
}
