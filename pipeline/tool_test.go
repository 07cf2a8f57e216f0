package pipeline

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"riposte/llm"
	"riposte/scenario"
	"riposte/transport"
	"riposte/tts"
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

// toolbox is the tools that the service runs in a script.
type toolbox struct {
	mu  sync.Mutex
	all []scenario.Runs
}

// set says what a tool does from now on.
func (b *toolbox) set(s scenario.Runs) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(slices.DeleteFunc(b.all, func(r scenario.Runs) bool { return r.Tool == s.Tool }), s)
}

// Offered returns them as they are.
func (b *toolbox) Offered() []llm.Tool {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, r := range b.all {
		names = append(names, r.Tool)
	}
	return offered(names)
}

func (b *toolbox) find(name string) (scenario.Runs, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.all, func(r scenario.Runs) bool { return r.Tool == name })
	if i < 0 {
		return scenario.Runs{}, false
	}
	return b.all[i], true
}

// Server returns who runs a tool.
func (b *toolbox) Server(name string) string {
	if _, ok := b.find(name); ok {
		return "box"
	}
	return ""
}

// amiss is a call that came to nothing.
type amiss struct{ text, outcome string }

func (a amiss) Error() string   { return a.text }
func (a amiss) Outcome() string { return a.outcome }

// Run does what the script says.
func (b *toolbox) Run(ctx context.Context, c llm.ToolCall) (string, error) {
	r, _ := b.find(c.Name)
	if err := elapse(ctx, r.Takes); err != nil {
		return "", err
	}
	switch r.Outcome {
	case "":
		return r.Text, nil
	case "hangs":
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	return "", amiss{r.Text, r.Outcome}
}

// Phrase speaks a text at once.
func (c *cast) Phrase(text string) (tts.Phrase, bool) {
	p := tts.Phrase{Rate: rate}
	o := tts.Options{Words: func(w tts.Word) { p.Words = append(p.Words, w) }}
	c.mu.Lock()
	whole, places := c.tts, c.places
	c.tts, c.places = part{}, true
	c.mu.Unlock()
	for pcm := range c.speak(context.Background(), text, o) {
		p.Sound = append(p.Sound, pcm...)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tts, c.places = whole, places
	return p, true
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
