package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/bench"
)

// benchTracesCmd measures how traces are kept and found.
type benchTracesCmd struct {
	Turns int    `default:"200000" placeholder:"N" help:"Turns to keep, in a file that is removed afterwards."`
	Runs  int    `default:"9" placeholder:"N" help:"How often each question is asked."`
	Seed  uint64 `default:"1" help:"What the turns look like."`
	JSON  bool   `name:"json" help:"Print one JSON object instead of a table."`
}

// Run measures and prints.
func (c *benchTracesCmd) Run(ctx context.Context, k *kong.Context) error {
	r, err := bench.Traces{Turns: c.Turns, Runs: c.Runs, Seed: c.Seed}.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showTracesBench(k.Stdout, r)
	}
	r.Version, r.Models = version, map[string]string{}
	return json.NewEncoder(k.Stdout).Encode(r)
}

func showTracesBench(out io.Writer, r bench.TracesResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ms\tmedian\tlongest\t")
	for _, row := range []struct {
		name string
		m    bench.Median
	}{
		{"list", r.List}, {"filter that no turn passes", r.Filter}, {"words", r.Text}, {"percentiles", r.Percentiles}, {"percentiles by hour and model", r.ByHour},
		{"percentiles of a frequent word", r.ByWord}, {"two sets", r.Compare},
	} {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t\n", row.name, row.m.P50, row.m.Max)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d turns, %d dropped; %.0f bytes a turn; a call hands one over in %.1f µs, and it is written in %.0f µs\n%v\n",
		r.Turns, r.Failed, r.BytesPerTurn, r.Hand, r.Write, r.Machine)
	return err
}
