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
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/caller"
)

// benchCallsCmd measures many calls at once.
type benchCallsCmd struct {
	Corpus   string        `placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names. With stubs it may be left out."`
	Callers  int           `name:"calls" default:"4" help:"Callers, each with a conversation of its own."`
	Turns    int           `default:"4" help:"Turns of each call."`
	Ramp     time.Duration `default:"10s" help:"From the first caller's coming to the last one's."`
	Patience time.Duration `default:"0" help:"How long a caller who is refused goes on trying, each time after as long as the service says; 0 is not at all."`
	URL      string        `name:"url" placeholder:"URL" help:"Service to measure, of any kind that speaks the protocol; without it, one is started for this measurement alone, in a process of its own."`
	Wire     string        `default:"ws" enum:"ws,websocket,webrtc,twilio,audiosocket,chanws" help:"How to call: websocket (or ws), webrtc, or by a telephone wire: twilio (Media Streams), audiosocket or chanws (Asterisk's chan_websocket), by which no turn reports come."`
	Engines  string        `default:"real" enum:"real,stub" help:"What hears, answers and speaks: real engines, or stubs that take set times, so that the service itself is measured. A service with stubs has talk-silence=400ms, talk-guesses=0, vad-turn= and calls-load=1, unless they are set."`
	Language string        `default:"en" help:"Language of the clips to say."`
	Seed     uint64        `default:"1" help:"Order of the clips."`
	Wait     time.Duration `default:"30s" help:"How long the service may be silent while it owes an answer."`
	JSON     bool          `name:"json" help:"Print one JSON object instead of a table."`

	Stub     stubFlags  `embed:"" prefix:"stub-"`
	Far      phoneFlags `embed:"" prefix:"far-"`
	settings            // Of the service that is started.
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
	if c.Corpus == "" && c.Engines != "stub" {
		errs = append(errs, errors.New("say with --corpus where the clips are"))
	}
	if c.URL != "" && c.Engines == "stub" {
		errs = append(errs, errors.New("stubs need a service of their own: leave --url out"))
	}
	return errors.Join(append(errs, c.Far.validate(c.Wire, c.URL), c.Stub.validate(), c.settings.Validate())...)
}

// Run measures and prints.
func (c *benchCallsCmd) Run(ctx context.Context, k *kong.Context) (err error) {
	b := bench.Calls{
		Caller: caller.Caller{URL: c.URL, Wire: wireNamed(c.Wire), Wait: c.Wait}, Calls: c.Callers, Turns: c.Turns,
		Ramp: c.Ramp, Patience: c.Patience, Seed: c.Seed, Each: c.progress,
	}
	if b.Clips, err = c.clips(); err != nil {
		return err
	}
	if c.URL == "" {
		if err := c.Far.suit(c.Wire, &c.settings); err != nil {
			return err
		}
		service, stop, err := c.serve(ctx, k, &b)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		b.Caller.URL = service.URL
		if b.Usage, err = bench.UsageOf(service.cmd.Process.Pid, service.URL); err != nil {
			return err
		}
	} else if b.Usage, err = bench.UsageAt(b.Caller.URL); err != nil {
		return err
	}
	if slices.Contains(phoneWires, c.Wire) {
		b.Telephone = &bench.Telephone{Phone: c.Far.phone(c.Wire, &c.settings, b.Caller.URL, c.Seed, c.Wait), Silence: c.Talk.Silence}
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

// clips returns what callers say.
func (c *benchCallsCmd) clips() ([]bench.Clip, error) {
	if c.Corpus == "" {
		clip, err := talker()
		return []bench.Clip{clip}, err
	}
	clips, err := bench.ReadCorpus(c.Corpus)
	return bench.Spoken(clips, c.Language), err
}

// serve starts a service in a process of its own, as b is to measure it. stop ends it.
func (c *benchCallsCmd) serve(ctx context.Context, k *kong.Context, b *bench.Calls) (service *child, stop func() error, err error) {
	if c.Engines != "stub" {
		if service, err = startChild(ctx, k.Selected().Flags, os.Stderr, "serve"); err != nil {
			return nil, nil, err
		}
		return service, service.stop, nil
	}
	if service, stop, err = c.Stub.start(ctx, &c.settings, c.Callers, k); err != nil {
		return nil, nil, err
	}
	delays := c.Stub.delays()
	b.Stubs, b.Settle = &delays, service.relax
	return service, stop, nil
}

// show prints what was measured.
func (c *benchCallsCmd) show(out io.Writer, r bench.CallsResult) error {
	switch {
	case !c.JSON && c.Engines == "stub":
		return c.showStubs(out, r)
	case !c.JSON:
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

// showStubs prints what was measured of a service with stubs.
func (c *benchCallsCmd) showStubs(out io.Writer, r bench.CallsResult) error {
	fmt.Fprintf(out, "%d callers by %s, %d of them taken, at most %d at once; %.0f s of calls in %.0f s; the service had %s, the callers %s\n",
		r.Callers, c.Wire, r.Admitted, r.AtOnce, r.Held, r.Took, cores(c.Stub.Cores), cores(r.CallerOf))
	fmt.Fprintf(out, "%d turns, %d failed; met %d, masked %d, over %d; %d refusals\n\n", r.Turns, r.Failed, r.Verdicts["met"], r.Verdicts["masked"], r.Verdicts["over"], r.Refused)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, p bench.Percentiles) {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f\t%.1f\t\n", name, p.P50, p.P95, p.P99)
	}
	fmt.Fprintln(w, "ms\tp50\tp95\tp99\t")
	row("gap at the caller", r.Gap)
	row("of that, added by the service and the way", r.Added)
	row("platform turn gap", r.PlatformGap)
	row("the callers' own frames left late by", r.LateMs)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d of %d frames of answers had not come when they were to be played: %.3f %%\n", r.Missed, r.Frames, 100*r.LatePart)
	fmt.Fprintf(out, "service: %.4f cores a call, %.0f kB of memory a call (%.1f MB without any, %.1f MB at most)\n",
		r.CPU, float64(r.RSSPer)/1e3, float64(r.Idle.RSS)/1e6, float64(r.RSS)/1e6)
	fmt.Fprintf(out, "without calls and at most: %d and %d goroutines, %d and %d threads, %d and %d file handles\n",
		r.Idle.Goroutines, r.Most.Goroutines, r.Idle.Threads, r.Most.Threads, r.Idle.Files, r.Most.Files)
	starved := "they had time enough"
	if r.Starved {
		starved = "THEY HAD TOO LITTLE: what is late may be so because of them"
	}
	fmt.Fprintf(out, "callers: %.2f of %s; %s\n", r.CallerCPU, cores(r.CallerOf), starved)
	for why, times := range failures(r.Failures) {
		fmt.Fprintf(out, "%d times: %s\n", times, why)
	}
	for _, f := range r.Faults {
		fmt.Fprintf(out, "against the wire's protocol: %s\n", f)
	}
	_, err := fmt.Fprintf(out, "%v\n", r.Machine)
	return err
}

// cores says how many there are; 0 is all.
func cores(n int) string {
	switch n {
	case 0:
		return "all cores"
	case 1:
		return "1 core"
	}
	return fmt.Sprintf("%d cores", n)
}

// failures counts those that are the same.
func failures(all []bench.TurnFailure) map[string]int {
	times := map[string]int{}
	for _, f := range all {
		times[f.Why]++
	}
	return times
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
