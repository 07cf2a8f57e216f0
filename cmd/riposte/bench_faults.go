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
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/caller"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
)

// benchFaultsCmd measures what callers hear while engines have faults.
type benchFaultsCmd struct {
	Corpus   string        `required:"" placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names."`
	Times    int           `default:"10" help:"Turns with each fault; as many without any are among them. A turn takes some 10 s."`
	Faults   []string      `placeholder:"FAULT" help:"These faults alone: delay, hang, error or garbage of stt, llm or tts, such as stt.hang,llm.delay."`
	Delay    time.Duration `default:"1500ms" help:"How much later the delayed engines bring their first result."`
	Disk     string        `default:"" enum:",blocked" help:"blocked: no faults of engines, but half of the turns with the file of traces locked, so that none can be written."`
	Language string        `default:"en" help:"Language of the clips to say."`
	Seed     uint64        `default:"1" help:"Clips and the order of the faults."`
	Wait     time.Duration `default:"30s" help:"How long the service may be silent while it owes an answer."`
	JSON     bool          `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the service that is started.

	faults []bench.Fault
}

// Validate reports what cannot be measured. kong calls it.
func (c *benchFaultsCmd) Validate() error {
	if c.Times < 1 {
		return fmt.Errorf("--times is %d: it must be at least 1", c.Times)
	}
	if c.Delay <= 0 {
		return fmt.Errorf("--delay is %v: it must be more than 0", c.Delay)
	}
	if c.Disk != "" && len(c.Faults) > 0 {
		return errors.New("--disk measures without faults of engines: leave --faults out, or --disk")
	}
	c.faults = bench.Faults
	if len(c.Faults) > 0 {
		c.faults = nil
	}
	for _, name := range c.Faults {
		f, err := bench.ParseFault(name)
		if err != nil {
			return fmt.Errorf("--faults: %w", err)
		}
		if !slices.Contains(c.faults, f) {
			c.faults = append(c.faults, f)
		}
	}
	return c.settings.Validate()
}

// Run measures and prints.
func (c *benchFaultsCmd) Run(ctx context.Context, k *kong.Context) error {
	clips, err := bench.ReadCorpus(c.Corpus)
	if err != nil {
		return err
	}
	clips = bench.Spoken(clips, c.Language)
	if c.Disk != "" {
		return c.runDisk(ctx, k, clips)
	}
	injector := &bench.Injector{Delay: c.Delay}
	s := newService(&c.settings, c.logger())
	s.around = around{
		stt: func(r stt.Recognizer) stt.Recognizer { return injector.Ear(r) },
		llm: func(g llm.Generator) llm.Generator { return injector.Model(g) },
		tts: func(v tts.Synthesizer) tts.Synthesizer { return injector.Voice(v) },
	}
	url, stop, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if err := s.rehearsed(ctx); err != nil {
		return err
	}
	b := bench.FaultRun{
		Caller: caller.Caller{URL: url, Wait: c.Wait}, Clips: clips, Faults: c.faults, Times: c.Times, Seed: c.Seed, Injector: injector,
		Plan: c.plan(), Openers: lines(c.Talk.Openers), Apology: c.Talk.Apology, Each: c.progress,
	}
	r, err := b.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	r.Version, r.Models = version, c.models()
	show := showFaults
	if c.JSON {
		show = func(out io.Writer, r bench.FaultsResult) error { return json.NewEncoder(out).Encode(r) }
	}
	return errors.Join(err, show(k.Stdout, r)) // who ends it early wants to know what was measured until then
}

// runDisk measures with the disk blocked, and not.
func (c *benchFaultsCmd) runDisk(ctx context.Context, k *kong.Context, clips []bench.Clip) (err error) {
	dir, err := os.MkdirTemp("", "riposte-traces-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c.Trace.File = filepath.Join(dir, "traces.db")
	s := newService(&c.settings, c.logger())
	defer s.keepTraces()()
	url, stop, err := s.alone(ctx)
	if err != nil {
		return err
	}
	defer stop()
	b := bench.DiskRun{
		Caller: caller.Caller{URL: url, Wait: c.Wait}, Clips: clips, Times: c.Times, Seed: c.Seed, Disk: &bench.LockedFile{Path: c.Trace.File},
		Plan: c.plan(), Each: c.diskProgress,
	}
	r, err := b.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	r.Version, r.Models = version, c.models()
	show := showDisk
	if c.JSON {
		show = func(out io.Writer, r bench.DiskResult) error { return json.NewEncoder(out).Encode(r) }
	}
	return errors.Join(err, show(k.Stdout, r))
}

// models says what does the work of each stage.
func (c *benchFaultsCmd) models() map[string]string {
	return map[string]string{
		"stt": c.STT.Model, "llm": c.LLM.Model, "hedge": c.LLM.Hedge, "tts": c.TTS.Voice, "vad": c.VAD.Model, "turn": c.VAD.Turn,
	}
}

// progress says how a turn went, for whoever waits.
func (c *benchFaultsCmd) progress(t bench.FaultTrial) {
	mark := "right"
	if !t.Right {
		mark = "WRONG"
	}
	fmt.Fprintf(os.Stderr, "%d/%d %s %s: %.0f ms, %s, %s %s, %s %s\n",
		t.Turn, 2*c.Times*len(c.faults), t.Fault, t.Rubbish, t.Gap, t.First, t.Verdict, t.Blame, mark, t.Why)
}

func (c *benchFaultsCmd) diskProgress(n int, blocked bool, t caller.Turn, err error) {
	state := "free"
	if blocked {
		state = "blocked"
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%d/%d %s: %v\n", n+1, 2*c.Times, state, err)
		return
	}
	fmt.Fprintf(os.Stderr, "%d/%d %s: %d ms\n", n+1, 2*c.Times, state, t.Gap.Milliseconds())
}

func showFaults(out io.Writer, r bench.FaultsResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\tturns\tin time, at the caller\tby the service\tgap p50\tp95\tverdict right\tfailed\t   first heard\t")
	for _, f := range append(slices.Clone(r.Faults), r.Clean) {
		fmt.Fprintf(w, "%s\t%d\t%.0f %%\t%.0f %%\t%.0f\t%.0f\t%.0f %%\t%d\t   %s\t\n", f.Fault, f.Turns, 100*f.HeardAtCaller, 100*f.HeardByPlatform,
			f.Gap.P50, f.Gap.P95, 100*f.Right, f.Failed, counts(f.First))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, f := range append(slices.Clone(r.Faults), r.Clean) {
		fmt.Fprintf(out, "%s: %s; blamed: %s\n", f.Fault, counts(f.Verdicts), counts(f.Blamed))
	}
	for _, t := range r.Trials {
		if t.Why != "" {
			fmt.Fprintf(out, "turn %d failed, %s %s, %s: %s\n", t.Turn, t.Fault, t.Rubbish, filepath.Base(t.Clip), t.Why)
		}
	}
	_, err := fmt.Fprintf(out, "%v\n", r.Machine)
	return err
}

// counts says how often there was what, in the order of the alphabet.
func counts[K ~string](of map[K]int) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s %d", k, of[k]))
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func showDisk(out io.Writer, r bench.DiskResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "disk\tturns\tgap p50\tp95\tplatform p50\tp95\tin time\twritten\tfailed\t")
	row := func(name string, d bench.DiskTurns) {
		fmt.Fprintf(w, "%s\t%d\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f %%\t%d\t%d\t\n", name, d.Turns, d.Gap.P50, d.Gap.P95, d.PlatformGap.P50, d.PlatformGap.P95,
			100*d.HeardAtCaller, d.Written, d.Failed)
	}
	row("blocked", r.Blocked)
	row("free", r.Free)
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%v\n", r.Machine)
	return err
}
