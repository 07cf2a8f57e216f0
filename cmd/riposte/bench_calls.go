package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/caller"
)

// benchCallsCmd measures many calls at once.
type benchCallsCmd struct {
	Corpus   string        `required:"" placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names."`
	Callers  int           `name:"calls" default:"4" help:"Callers, each with a conversation of its own."`
	Turns    int           `default:"4" help:"Turns of each call."`
	Ramp     time.Duration `default:"10s" help:"From the first caller's coming to the last one's."`
	Patience time.Duration `default:"0" help:"How long a caller who is refused goes on trying, each time after as long as the service says; 0 is not at all."`
	URL      string        `name:"url" placeholder:"URL" help:"Service to measure, of any kind that speaks the protocol; without it, one is started for this measurement alone, in a process of its own."`
	Wire     string        `default:"ws" enum:"ws,webrtc" help:"How to call: ws (WebSocket) or webrtc."`
	Language string        `default:"en" help:"Language of the clips to say."`
	Seed     uint64        `default:"1" help:"Order of the clips."`
	Wait     time.Duration `default:"30s" help:"How long the service may be silent while it owes an answer."`
	JSON     bool          `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the service that is started.
}

// Validate reports what cannot be measured. kong calls it.
func (c *benchCallsCmd) Validate() error {
	var errs []error
	if c.Callers < 1 || c.Turns < 1 {
		errs = append(errs, fmt.Errorf("--calls is %d and --turns is %d: each must be at least 1", c.Callers, c.Turns))
	}
	if c.Ramp < 0 || c.Patience < 0 {
		errs = append(errs, errors.New("--ramp and --patience must not be negative"))
	}
	return errors.Join(append(errs, c.settings.Validate())...)
}

// Run measures and prints.
func (c *benchCallsCmd) Run(ctx context.Context, k *kong.Context) (err error) {
	clips, err := bench.ReadCorpus(c.Corpus)
	if err != nil {
		return err
	}
	b := bench.Calls{
		Caller: caller.Caller{URL: c.URL, Wire: caller.Wire(c.Wire), Wait: c.Wait}, Clips: bench.Spoken(clips, c.Language), Calls: c.Callers, Turns: c.Turns,
		Ramp: c.Ramp, Patience: c.Patience, Seed: c.Seed, Each: c.progress,
	}
	if c.URL == "" {
		service, err := startChild(ctx, k.Selected().Flags, os.Stderr)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, service.stop()) }()
		b.Caller.URL = service.URL
	}
	if b.Usage, err = bench.UsageAt(b.Caller.URL); err != nil {
		return err
	}
	if _, err := b.Usage(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "what the service uses is not known:", err)
		b.Usage = nil
	}
	r, err := b.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(err, c.show(k.Stdout, r)) // who ends it early wants to know what was measured until then
}

// show prints what was measured.
func (c *benchCallsCmd) show(out io.Writer, r bench.CallsResult) error {
	if !c.JSON {
		return showCallers(out, r)
	}
	r.Version, r.Models = version, c.subject(c.URL)
	return json.NewEncoder(out).Encode(r)
}

// progress says what happened, for whoever waits.
func (c *benchCallsCmd) progress(e bench.CallEvent) {
	switch who := fmt.Sprintf("%d held; caller %d", e.Held, e.Caller); {
	case e.Turn == 0:
		fmt.Fprintf(os.Stderr, "%s: %v\n", who, e.Err)
	case e.Err != nil:
		fmt.Fprintf(os.Stderr, "%s, turn %d, %s: %v\n", who, e.Turn, filepath.Base(e.Clip.File), e.Err)
	default:
		fmt.Fprintf(os.Stderr, "%s, turn %d, %s: %d ms, heard %q\n", who, e.Turn, filepath.Base(e.Clip.File), e.Came.Gap.Milliseconds(), e.Came.Transcript)
	}
}

func showCallers(out io.Writer, r bench.CallsResult) error {
	fmt.Fprintf(out, "%d callers, %d of them taken, at most %d at once; %.0f s of calls in %.0f s\n", r.Callers, r.Admitted, r.AtOnce, r.Held, r.Took)
	fmt.Fprintf(out, "%d refusals", r.Refused)
	for _, code := range slices.Sorted(maps.Keys(r.Refusals)) {
		fmt.Fprintf(out, ", %d %s", r.Refusals[code], code)
	}
	fmt.Fprintf(out, "; told after %.0f ms (p50), %.0f ms (p95), at most %.0f ms\n", r.RefusalMs.P50, r.RefusalMs.P95, r.SlowestMs)
	fmt.Fprintf(out, "%d of %d frames of answers had not come when they were to be played\n", r.Missed, r.Frames)
	fmt.Fprintf(out, "service: %.3f cores a call, %.0f MB at most, %.1f MB more for each call at once\n", r.CPU, float64(r.RSS)/1e6, float64(r.RSSPer)/1e6)
	fmt.Fprintf(out, "the callers' own frames left late by %.1f ms (p50), %.1f ms (p95), %.1f ms (p99)\n\n", r.LateMs.P50, r.LateMs.P95, r.LateMs.P99)
	return showTurns(out, r.TurnsResult)
}
