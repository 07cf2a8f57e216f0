package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/budget"
	"riposte/llm/llama"
	"riposte/native"
)

// benchLLMCmd measures the model.
type benchLLMCmd struct {
	Prompts int    `default:"24" placeholder:"N" help:"How many of the 24 prompts are used."`
	Runs    int    `default:"5" placeholder:"N" help:"Conversations of ten turns, and answers that are cancelled."`
	Seed    uint64 `default:"1" help:"Order of the prompts."`
	JSON    bool   `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the model.
}

// Run measures and prints.
func (c *benchLLMCmd) Run(ctx context.Context, k *kong.Context) error {
	e, err := c.openModel(ctx, c.LLM.Model, max(4, c.LLM.Conversations), c.logger())
	if err != nil {
		return err
	}
	defer e.Close()
	b := bench.LLM{Model: e, Raw: e.Raw, Tokens: e.Tokens, Prompts: c.Prompts, Runs: c.Runs, Seed: c.Seed}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showLLM(k.Stdout, r)
	}
	return json.NewEncoder(k.Stdout).Encode(struct {
		bench.LLMResult
		Version string            `json:"version"`
		Models  map[string]string `json:"models"`
	}{r, version, map[string]string{"llm": c.LLM.Model}})
}

// openModel opens a chat model alone, for so many conversations.
func (s *settings) openModel(ctx context.Context, name string, conversations int, log *slog.Logger) (*llama.Engine, error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	gpu, err := native.ParseGPU(s.LLM.GPU)
	if err != nil {
		return nil, err
	}
	dir, err := store.LlamaDir(gpu)
	if err != nil {
		return nil, err
	}
	model, err := modelFile(store, name)
	if err != nil {
		return nil, err
	}
	layers := s.LLM.GPULayers
	if gpu == native.NoGPU {
		layers = 0
	}
	e := &llama.Engine{
		LibDir: dir, Model: model, Threads: threads(s.LLM.Threads), ContextTokens: s.LLM.Context, Conversations: conversations,
		GPULayers: layers, Devices: s.LLM.Devices, TensorSplit: s.LLM.Split, Executor: &budget.Executor{Cores: s.Cores}, Log: log,
	}
	return e, e.Open(ctx)
}

func showLLM(out io.Writer, r bench.LLMResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, values ...any) { fmt.Fprintf(w, name+"\t"+format+"\n", values...) }
	row("first text, instructions known", "p50 %.0f ms, p95 %.0f ms", r.TTFT.P50, r.TTFT.P95)
	row("first text of turn 10 by turn 1", "%.2f, with %d tokens before it", r.TurnRatio, r.History)
	row("  the turn's words read ahead", "%.2f", r.AheadRatio)
	row("tokens a second, one caller", "%.1f", r.Rate1)
	row("tokens a second, four callers together", "%.1f, %.2f times as many", r.Rate4, r.Scaling)
	row("after the first token, by the library alone", "%.2f (%.1f by %.1f tokens a second)", r.OverRaw, r.OurRate, r.RawRate)
	row("tokens after a cancellation, at most", "%d", r.CancelTokens)
	row("the same answers in all ways", "%v", r.Identical)
	for _, d := range r.Different {
		row("", "another %s", d)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d prompts, greedy; %d runs; %d answers failed; a first answer, to warm up, does not count\n%s, %d cores, load %.1f before and %.1f after\n",
		r.Prompts, r.Runs, r.Failed, r.Machine.CPU, r.Machine.Cores, r.Machine.Load1Before, r.Machine.Load1After)
	return err
}
