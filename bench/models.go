package bench

import (
	"context"
	"fmt"
	"time"

	"riposte/llm"
)

// Model is what is measured of one chat model, in a process of its own.
type Model struct {
	Name   string  `json:"name"`
	Load   float64 `json:"load_ms"`      // To load it and make it ready.
	TTFT   float64 `json:"ttft_ms"`      // Median over the prompts; the instructions are known, the prompt is new.
	Rate   float64 `json:"tokens_per_s"` // Of whole answers of 48 tokens, prompts included.
	RSS    int64   `json:"rss"`          // Bytes of memory that the process has in the end.
	Failed int     `json:"failed"`       // Answers that ended with an error or without text.
	Error  string  `json:"error,omitempty"`

	Machine Machine `json:"machine"`
	Version string  `json:"version"` // Of the program that measures.
}

// modelPrompts is how many of the prompts each model is given.
const modelPrompts = 8

// MeasureModel opens a model and lets it answer fixed prompts greedily, after one that warms it up and does not count. rss
// returns the process's memory.
func MeasureModel(ctx context.Context, name string, open func(context.Context) (llm.Generator, error), rss func() (int64, error)) (Model, error) {
	m := Model{Name: name, Machine: machine()}
	began := time.Now()
	g, err := open(ctx)
	if err != nil {
		return m, err
	}
	m.Load = ms(time.Since(began))
	b := LLM{Model: g}
	if _, err := b.answer(ctx, firstTurn("warm up", "Say something.")); err != nil {
		return m, fmt.Errorf("%s: to warm up: %w", name, err)
	}
	var first []float64
	var all time.Duration
	tokens := 0
	for i, prompt := range llmPrompts[:modelPrompts] {
		a, err := b.answer(ctx, firstTurn(fmt.Sprint("model ", i), prompt))
		if ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		if err != nil {
			m.Failed++
			continue
		}
		first, all, tokens = append(first, ms(a.first)), all+a.all, tokens+a.usage.Output
	}
	if len(first) > 0 {
		m.TTFT, m.Rate = median(first), float64(tokens)/all.Seconds()
	}
	m.Machine = m.Machine.after()
	m.RSS, err = rss()
	return m, err
}
