package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/budget"
	"riposte/caller"
)

// benchTurnsCmd measures turns.
type benchTurnsCmd struct {
	Corpus   string        `placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names."`
	Script   string        `placeholder:"FILE|DIR" help:"Act scripts of conversations instead: a .turn file, or all of a folder."`
	Slack    time.Duration `default:"300ms" help:"How much longer than a script says its words, answers and sounds may take; a third of it for what only takes ears."`
	Turns    int           `placeholder:"N" help:"Turns to take; without it, or with 0, each clip once."`
	URL      string        `name:"url" placeholder:"URL" help:"Service to measure; without it, one is started for this measurement alone."`
	Wire     string        `default:"ws" enum:"ws,webrtc,twilio,audiosocket,chanws" help:"How to call: ws (WebSocket), webrtc, or by a telephone wire: twilio (Media Streams), audiosocket or chanws (Asterisk's chan_websocket). By those the caller is told nothing but sound: the rest is known of a service that is started for this measurement."`
	Beside   bool          `default:"true" negatable:"" help:"With a telephone wire: say each clip over WebSocket as well, in turn with that, so that both can be compared."`
	Language string        `default:"en" help:"Language of the clips to say."`
	Seed     uint64        `default:"1" help:"Order of the clips."`
	Wait     time.Duration `default:"30s" help:"How long the service may be silent while it owes an answer."`
	JSON     bool          `name:"json" help:"Print one JSON object instead of a table."`

	Far          phoneFlags `embed:"" prefix:"far-"`
	networkFlags `embed:""` // In which the conversation is held a second time.

	settings // Of the service that is started.
}

// Run measures and prints.
func (c *benchTurnsCmd) Run(ctx context.Context, k *kong.Context) error {
	if c.Script != "" {
		return c.act(ctx, k)
	}
	if c.Corpus == "" || c.Turns < 0 {
		return errors.New("say with --corpus where the clips are, or with --script what to act; --turns may not be negative")
	}
	if err := errors.Join(c.check(c.Wire), c.Far.validate(c.Wire, c.URL)); err != nil {
		return err
	}
	clips, err := bench.ReadCorpus(c.Corpus)
	if err != nil {
		return err
	}
	clips = bench.Spoken(clips, c.Language)
	for _, clip := range clips {
		if _, _, err := clip.Sound(); err != nil { // before anything is said
			return err
		}
	}
	if c.Turns == 0 {
		c.Turns = len(clips)
	}
	b := bench.Turns{
		Caller: caller.Caller{URL: c.URL, Wire: caller.Wire(c.Wire), Wait: c.Wait}, Clips: clips, Turns: c.Turns, Seed: c.Seed, Each: c.progress,
	}
	telephone := slices.Contains(phoneWires, c.Wire)
	if telephone {
		b.Caller.Wire, b.Beside = caller.WebSocket, c.Beside
	}
	switch {
	case c.URL != "" && telephone:
		b.Telephone = &bench.Telephone{Phone: c.Far.phone(c.Wire, &c.settings, c.URL, c.Seed, c.Wait)}
	case c.URL != "":
	case telephone:
		var stop func() error
		if b.Caller.URL, b.Telephone, stop, err = newService(&c.settings, c.logger()).witnessed(ctx, &c.Far, c.Wire, c.Seed, c.Wait); err != nil {
			return err
		}
		defer stop()
	default:
		var stop func() error
		if b.Caller.URL, stop, err = standalone(ctx, &c.settings, c.logger()); err != nil {
			return err
		}
		defer stop()
	}
	if n, bad := c.network(c.Seed); bad {
		return c.compare(ctx, k.Stdout, bench.Networks{Turns: b, Network: n, Began: func(kind bench.NetworkKind) { fmt.Fprintf(os.Stderr, "%s network\n", kind) }})
	}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showTurns(k.Stdout, r)
	}
	r.Version, r.Models = version, c.subject(c.URL)
	return json.NewEncoder(k.Stdout).Encode(r)
}

// compare measures in two networks, and prints.
func (c *benchTurnsCmd) compare(ctx context.Context, out io.Writer, b bench.Networks) error {
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showNetworks(out, r)
	}
	for _, side := range []*bench.NetworkResult{&r.Clean, &r.Bad} {
		side.Version, side.Models = version, c.subject(c.URL)
	}
	return json.NewEncoder(out).Encode(r)
}

// progress says how a turn went, for whoever waits.
func (c *benchTurnsCmd) progress(n int, clip bench.Clip, t caller.Turn, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%d/%d %s: %v\n", n+1, c.Turns, filepath.Base(clip.File), err)
		return
	}
	fmt.Fprintf(os.Stderr, "%d/%d %s: %d ms, heard %q\n", n+1, c.Turns, filepath.Base(clip.File), t.Gap.Milliseconds(), t.Transcript)
}

func showTurns(out io.Writer, r bench.TurnsResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, p bench.Percentiles) {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t\n", name, p.P50, p.P95, p.P99)
	}
	fmt.Fprintln(w, "ms\tp50\tp95\tp99\t")
	row("gap at the caller", r.Gap)
	row("platform turn gap", r.PlatformGap)
	row("the way, on top of it", r.Way)
	for _, s := range budget.Stages {
		row(string(s), r.Stages[string(s)])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d turns, %d failed; met %d, masked %d, over %d; %d answers begun too early and given up\n",
		r.Turns, r.Failed, r.Verdicts["met"], r.Verdicts["masked"], r.Verdicts["over"], r.Cutoffs)
	fmt.Fprintf(out, "answers begun before the turn was over: %d, of which %d were given and %d tokens thrown away\n",
		r.Guesses.Tries, r.Guesses.Stood, r.Guesses.Wasted)
	fmt.Fprintf(out, "word error rate %.1f %%", 100*r.WER)
	showKinds(out, r.WERByKind)
	fmt.Fprintln(out)
	for _, f := range r.Failures {
		fmt.Fprintf(out, "turn %d failed, %s: %s\n", f.Turn, filepath.Base(f.Clip), f.Why)
	}
	if b := r.Beside; b != nil {
		fmt.Fprintf(out, "the same clips over WebSocket, in turn with these: gap p50 %.0f ms, p95 %.0f, p99 %.0f (by the service p50 %.0f); %d failed; the telephone wire takes %.0f ms more at the median\n",
			b.Gap.P50, b.Gap.P95, b.Gap.P99, b.PlatformGap.P50, b.Failed, b.Difference)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(out, "against the wire's protocol: %s\n", f)
	}
	_, err := fmt.Fprintf(out, "%v\n", r.Machine)
	return err
}
