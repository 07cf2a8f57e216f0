package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/budget"
	"riposte/llm"
)

// benchChatCmd measures what REST adds to the model.
type benchChatCmd struct {
	Pairs int    `default:"200" placeholder:"N" help:"Questions that are asked both ways."`
	Seed  uint64 `default:"1" help:"Which way is first."`
	JSON  bool   `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the service that is started.
}

// mostOver is what asking over REST may add to the first token, at the median, in milliseconds.
const mostOver = 2

// Run measures and prints.
func (c *benchChatCmd) Run(ctx context.Context, k *kong.Context) error {
	c.Trace.File = "none"
	c.REST.Max = max(1, c.REST.Max)
	s := newService(&c.settings, c.logger())
	url, stop, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer stop()
	sampling := c.call().Sampling
	sampling.Temperature = 0
	b := bench.Chat{
		Model: s.model, URL: strings.Replace(url, "ws", "http", 1), Name: modelName(c.LLM.Model), Pairs: c.Pairs, Seed: c.Seed,
		Request: llm.Request{Whole: true, MaxTokens: 8, Sampling: sampling, Urgency: budget.Urgency{Class: budget.Background}},
	}
	if len(c.Keys) > 0 {
		b.Key = c.Keys[0]
	}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showChat(k.Stdout, r)
	}
	r.Version, r.Models = version, map[string]string{"llm": c.LLM.Model}
	return json.NewEncoder(k.Stdout).Encode(r)
}

func showChat(out io.Writer, r bench.ChatResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "first text, ms\tp50\tp95\tp99\t")
	for _, row := range []struct {
		name string
		p    bench.Percentiles
	}{{"the model alone", r.Engine}, {"/v1/chat/completions", r.REST}, {"what that adds, by pairs", r.Over}} {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t\n", row.name, row.p.P50, row.p.P95, row.p.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	verdict := "met"
	if r.Over.P50 >= mostOver {
		verdict = "missed"
	}
	_, err := fmt.Fprintf(out, "\n%d pairs, %d failed; less than %d ms at the median is asked for: %s\n%v\n", r.Pairs, r.Failed, mostOver, verdict, r.Machine)
	return err
}
