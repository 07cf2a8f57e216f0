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
	"riposte/llm/llama"
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
	r.Version, r.Models = version, map[string]string{"llm": c.LLM.Model}
	return json.NewEncoder(k.Stdout).Encode(r)
}

// openModel opens a chat model alone, for so many conversations.
func (s *settings) openModel(ctx context.Context, name string, conversations int, log *slog.Logger) (*llama.Engine, error) {
	e, err := s.model(name, conversations, s.executor(), log)
	if err != nil {
		return nil, err
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
	_, err := fmt.Fprintf(out, "\n%d prompts, greedy; %d runs; %d answers failed; a first answer, to warm up, does not count\n%v\n",
		r.Prompts, r.Runs, r.Failed, r.Machine)
	return err
}
