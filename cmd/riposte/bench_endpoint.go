package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/audio"
	"riposte/bench"
	"riposte/budget"
)

// benchEndpointCmd measures when turns are taken to be over.
type benchEndpointCmd struct {
	Corpus   string `required:"" placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names."`
	Language string `default:"en" help:"Language of the clips to hear."`
	Silences bool   `help:"Tell what was found out about each silence, on standard error."`
	JSON     bool   `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the engines.
}

// Run measures and prints.
func (c *benchEndpointCmd) Run(ctx context.Context, k *kong.Context) error {
	clips, err := bench.ReadCorpus(c.Corpus)
	if err != nil {
		return err
	}
	e, err := openEngines(ctx, &c.settings, nil, nil, c.logger())
	if err != nil {
		return err
	}
	defer e.close()
	b := bench.Endpoint{
		Clips: bench.Spoken(clips, c.Language), VAD: e.vad.New, STT: e.crew(defaultRoute).stt, LLM: e.crew(defaultRoute).llm, Eagerness: c.Talk.Eagerness, Instructions: c.Talk.Instructions,
		Each: func(clip bench.Clip, silences int) {
			fmt.Fprintf(os.Stderr, "%s: %d silences\n", filepath.Base(clip.File), silences)
		},
	}
	if e.end != nil {
		b.Turns = func(ctx context.Context, speech audio.PCM) (float32, error) {
			return e.end.Over(ctx, speech, budget.Urgency{})
		}
	}
	if c.Silences {
		b.Log = func(clip bench.Clip, s bench.SilenceReport) {
			fmt.Fprintf(os.Stderr, "%s\t%d\t%d\t%.3f\t%v\t%.3f\t%.4f\t%s\n",
				filepath.Base(clip.File), s.At.Milliseconds(), s.Length.Milliseconds(), s.Sound, s.Signals.Fall, s.Closed, s.Over, s.Signals.Text)
		}
	}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showEndpoint(k.Stdout, r)
	}
	r.Version, r.Models = version, map[string]string{"stt": c.STT.Model, "llm": c.LLM.Model, "vad": c.VAD.Model, "end": c.VAD.Turn}
	return json.NewEncoder(k.Stdout).Encode(r)
}

func showEndpoint(out io.Writer, r bench.EndpointResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tcut off\tdecided after p50\tp95\t")
	row := func(name string, cutoffs int, p bench.Percentiles) {
		fmt.Fprintf(w, "%s\t%d of %d pauses\t%.0f ms\t%.0f ms\t\n", name, cutoffs, r.Pauses, p.P50, p.P95)
	}
	row("as set", r.FalseCutoffs, r.Decide)
	row("500 ms of silence", r.Fixed500.FalseCutoffs, r.Fixed500.Decide)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nwhat each witness alone is worth, and all together, with less and with more patience:")
	fmt.Fprintln(w, "witness\tpatience\tcut off\tp50\tp95\t")
	for _, p := range r.Curve {
		fmt.Fprintf(w, "%s\t%.1f\t%.0f %%\t%.0f ms\t%.0f ms\t\n", p.Policy, p.Patience, 100*p.FalseCutoffRate, p.P50, p.P95)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d turns, %d clips failed\n%v\n",
		r.Ends, r.Failed, r.Machine)
	return err
}
