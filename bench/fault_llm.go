package bench

import (
	"context"
	"iter"
	"strings"
	"time"

	"riposte/budget"
	"riposte/llm"
)

// Model returns a model that has the injector's faults. One that is late, hangs or fails does so when it reads ahead as well.
func (i *Injector) Model(g llm.Generator) llm.Generator { return faultyModel{g, i} }

type faultyModel struct {
	llm.Generator
	faults *Injector
}

// Generate answers as the model does.
func (m faultyModel) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		kind, what := m.faults.strike(budget.LLM)
		if kind == Garbage {
			drivel(ctx, what, yield)
			return
		}
		if err := m.faults.stumble(ctx, kind); err != nil {
			yield(llm.Piece{}, err)
			return
		}
		m.Generator.Generate(ctx, r)(yield)
	}
}

// Read reads ahead as the model does.
func (m faultyModel) Read(ctx context.Context, r llm.Request) (llm.Reading, error) {
	kind, _ := m.faults.now(budget.LLM)
	if err := m.faults.stumble(ctx, kind); err != nil {
		return llm.Reading{}, err
	}
	return m.Generator.Read(ctx, r)
}

const (
	// drivelTokens is how long a model goes on that finds no end, and tokenTakes how long it takes for each token.
	drivelTokens = 200
	tokenTakes   = 15 * time.Millisecond
)

// drivel yields what makes no sense.
func drivel(ctx context.Context, what Rubbish, yield func(llm.Piece, error) bool) {
	tokens := strings.SplitAfter(circle(drivelTokens), " ")
	switch what {
	case Control:
		for i := range tokens {
			tokens[i] = "\x00\x1b\x07"
		}
	case Empty:
		tokens = nil
	}
	finish := llm.FinishStop
	for _, text := range tokens {
		select {
		case <-time.After(tokenTakes):
		case <-ctx.Done():
			yield(llm.Piece{}, context.Cause(ctx))
			return
		}
		if !yield(llm.Piece{Text: text}, nil) {
			return
		}
		finish = llm.FinishLength
	}
	yield(llm.Piece{Usage: &llm.Usage{Output: len(tokens), Finish: finish}}, nil)
}
