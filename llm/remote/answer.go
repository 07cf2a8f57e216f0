package remote

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"

	"riposte/llm"
	"riposte/remote"
)

// answer is what a server streams, on its way to becoming pieces.
type answer struct {
	request  *remote.Request
	yield    func(llm.Piece) bool // Reports whether more is wanted.
	most     int                  // Tokens; 0 is without a limit.
	logProbs bool

	thoughts thoughts
	calls    []*call
	chunks   int // That brought something.
	finish   llm.Finish
	usage    *llm.Usage
	rest     *time.Timer // Ends the request when it has ended but for its usage.
	done     bool        // Nothing more is to be read.
}

// call is a call of a tool that comes in parts.
type call struct {
	index     int64
	id, name  string
	arguments bytes.Buffer
}

const (
	// tail is how long the end of a stream may take that brings no more than its usage: the last words wait for it.
	tail = 250 * time.Millisecond
	// mostArguments is how long the arguments of one call may be, in bytes, mostName its tool's name, and mostCalls how many calls an answer
	// may make.
	mostArguments, mostName, mostCalls = 1 << 20, 64, 64
)

// take takes in a chunk.
func (a *answer) take(c openai.ChatCompletionChunk) error {
	if c.JSON.Usage.Valid() && c.Usage.PromptTokens+c.Usage.CompletionTokens > 0 {
		a.usage = &llm.Usage{
			Prompt: tokens(c.Usage.PromptTokens), Cached: tokens(c.Usage.PromptTokensDetails.CachedTokens), Output: tokens(c.Usage.CompletionTokens),
		}
		a.done = a.finish != ""
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.add(choice); err != nil || a.done {
			return err
		}
	}
	return nil
}

// tokens returns a number of tokens that a server says, as far as there can be so many: whoever adds them up can rely on that.
func tokens(n int64) int { return int(max(0, min(n, math.MaxInt32))) }

// add takes in what comes next of the answer.
func (a *answer) add(c openai.ChatCompletionChunkChoice) error {
	text := a.thoughts.leave(c.Delta.Content)
	if c.Delta.Content != "" || len(c.Delta.ToolCalls) > 0 {
		a.chunks++
		a.request.Came()
	}
	if text != "" {
		p := llm.Piece{Text: text}
		for _, t := range c.Logprobs.Content {
			if a.logProbs {
				p.LogProb += float32(t.Logprob)
				p.Tokens = append(p.Tokens, tokenOf(t))
			}
		}
		a.request.Began()
		if !a.yield(p) {
			a.done = true
			return nil
		}
	}
	for _, t := range c.Delta.ToolCalls {
		if err := a.call(t); err != nil {
			return err
		}
	}
	switch {
	case c.FinishReason != "":
		a.finish = finishOf(c.FinishReason)
		if a.rest == nil {
			a.rest = time.AfterFunc(tail, a.request.Enough)
		}
	case a.most > 0 && a.chunks >= 2*a.most: // it does not keep to what was asked for
		a.finish, a.done = llm.FinishLength, true
	}
	return nil
}

// tokenOf returns a token that the server has told of. Its bytes count where it names them: not each token is a text.
func tokenOf(t openai.ChatCompletionTokenLogprob) llm.Token {
	text := func(token string, bytes []int64) string {
		b := make([]byte, len(bytes))
		for i, v := range bytes {
			b[i] = byte(v)
		}
		return cmp.Or(string(b), token)
	}
	out := llm.Token{Text: text(t.Token, t.Bytes), LogProb: float32(t.Logprob)}
	for _, top := range t.TopLogprobs {
		out.Top = append(out.Top, llm.Token{Text: text(top.Token, top.Bytes), LogProb: float32(top.Logprob)})
	}
	return out
}

// call takes in a part of a call. Some servers count their calls, some only give each an ID of its own.
func (a *answer) call(t openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	var c *call
	for _, known := range a.calls {
		if known.index == t.Index {
			c = known
		}
	}
	if c == nil || t.ID != "" && c.id != "" && t.ID != c.id && t.Function.Name != "" {
		if len(a.calls) == mostCalls {
			return fmt.Errorf("%w: more than %d calls of tools", remote.ErrBig, mostCalls)
		}
		c = &call{index: t.Index}
		a.calls = append(a.calls, c)
	}
	if c.id == "" {
		c.id = t.ID
	}
	if c.name == "" {
		c.name = t.Function.Name
	}
	c.arguments.WriteString(t.Function.Arguments)
	if c.arguments.Len() > mostArguments {
		return fmt.Errorf("%w: arguments of more than %d bytes", remote.ErrBig, mostArguments)
	}
	return nil
}

// end yields what is left once the stream has ended, as err says.
func (a *answer) end(err error) error {
	if a.rest != nil {
		a.rest.Stop()
	}
	switch {
	case a.finish != "": // what goes wrong behind the end is no loss
	case a.done:
		return nil
	case err != nil:
		return err
	case a.chunks == 0:
		return fmt.Errorf("%w: the stream was empty", remote.ErrCut)
	default:
		return remote.ErrCut
	}
	a.request.Began()
	if text := a.thoughts.rest(); text != "" && !a.yield(llm.Piece{Text: text}) {
		return nil
	}
	for _, c := range a.calls {
		arguments := bytes.TrimSpace(c.arguments.Bytes())
		if len(arguments) == 0 {
			arguments = []byte("{}")
		}
		if c.name == "" || len(c.name) > mostName || arguments[0] != '{' || !json.Valid(arguments) {
			if a.finish == llm.FinishLength {
				continue // it was cut in the middle of the call
			}
			return fmt.Errorf("%w: the call of the tool %.64q has no JSON object for its arguments, or no name of at most %d bytes", remote.ErrGarbage, c.name, mostName)
		}
		if !a.yield(llm.Piece{Call: &llm.ToolCall{ID: "call_" + rand.Text(), Name: c.name, Arguments: json.RawMessage(arguments)}}) {
			return nil
		}
	}
	if len(a.calls) > 0 && a.finish == llm.FinishStop {
		a.finish = llm.FinishTools
	}
	u := llm.Usage{Output: a.chunks}
	if a.usage != nil {
		u = *a.usage
	}
	u.Finish = a.finish
	a.yield(llm.Piece{Usage: &u})
	return nil
}

// finishOf returns what a server's reason for the end is called here.
func finishOf(reason string) llm.Finish {
	switch reason {
	case "length":
		return llm.FinishLength
	case "tool_calls", "function_call":
		return llm.FinishTools
	}
	return llm.FinishStop
}

// thoughts leaves out what a model thinks before it answers, where a server does not tell that from the answer: it stands between
// <think> and </think>, and nobody wants to hear it.
type thoughts struct {
	held string // What may be the beginning of them, or of their end.
	in   bool   // They have begun,
	past bool   // and they have ended, or there are none.
	trim bool   // The space behind them has to go.
}

const thinks, thought, space = "<think>", "</think>", " \n\r\t"

// leave returns what of the next text belongs to the answer.
func (t *thoughts) leave(text string) string {
	if t.trim {
		text = strings.TrimLeft(text, space)
		t.trim = text == ""
	}
	if t.past {
		return text
	}
	t.held += text
	if !t.in {
		head := strings.TrimLeft(t.held, space)
		switch {
		case strings.HasPrefix(head, thinks):
			t.in, t.held = true, head[len(thinks):]
		case strings.HasPrefix(thinks, head):
			return "" // more will tell
		default:
			t.past, text, t.held = true, t.held, ""
			return text
		}
	}
	if _, after, ok := strings.Cut(t.held, thought); ok {
		t.past, t.held = true, ""
		after = strings.TrimLeft(after, space)
		t.trim = after == ""
		return after
	}
	t.held = t.held[max(0, len(t.held)-len(thought)):]
	return ""
}

// rest returns what was held back and belongs to the answer after all.
func (t *thoughts) rest() string {
	if t.past || t.in {
		return ""
	}
	return t.held
}
