package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/caller"
)

// errLeak says that a service keeps something of calls that have ended.
var errLeak = errors.New("the service keeps something of calls that have ended")

// benchCyclesCmd looks for what calls leave behind.
type benchCyclesCmd struct {
	Cycles int           `default:"1000" help:"Calls to be set up and ended."`
	Warm   int           `default:"100" help:"Calls before them that do not count."`
	AtOnce int           `name:"calls" default:"4" help:"Calls that are held at the same time."`
	Hold   time.Duration `default:"200ms" help:"How long each is held."`
	Wire   string        `default:"webrtc" enum:"ws,websocket,webrtc" help:"How to call: websocket (or ws) or webrtc."`
	JSON   bool          `name:"json" help:"Print one JSON object instead of a table."`

	Stub     stubFlags `embed:"" prefix:"stub-"`
	settings           // Of the service that is started.
}

// ending is how many calls there are places for, by those that are held: the service may not be done with one when its caller is.
const ending = 8

// Validate reports what cannot be done. kong calls it.
func (c *benchCyclesCmd) Validate() error {
	var err error
	if c.Cycles < 1 || c.AtOnce < 1 || c.Warm < 0 || c.Hold < 0 {
		err = errors.New("--cycles and --calls must be at least 1, --warm and --hold not negative")
	}
	return errors.Join(err, c.Stub.validate(), c.settings.Validate())
}

// Run makes the calls, and prints what was kept of them. That is an error.
func (c *benchCyclesCmd) Run(ctx context.Context, k *kong.Context) (err error) {
	service, stop, err := c.Stub.start(ctx, &c.settings, ending*c.AtOnce, k)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	b := bench.Cycles{
		Caller: caller.Caller{URL: service.URL, Wire: wireNamed(c.Wire)}, Cycles: c.Cycles, Warm: c.Warm, AtOnce: c.AtOnce, Hold: c.Hold,
		Settle: service.relax, Each: func(done int, u bench.Usage) {
			fmt.Fprintf(os.Stderr, "%d/%d: %.1f MB, %d goroutines, %d file handles\n", done, c.Cycles, float64(u.RSS)/1e6, u.Goroutines, u.Files)
		},
	}
	if b.Usage, err = bench.UsageOf(service.cmd.Process.Pid, service.URL); err != nil {
		return err
	}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		r.Version, r.Models = version, c.subject("")
		err = json.NewEncoder(k.Stdout).Encode(r)
	} else {
		err = showCycles(k.Stdout, r)
	}
	if len(r.Leaks) > 0 {
		err = errors.Join(err, fmt.Errorf("%w: %v", errLeak, r.Leaks))
	}
	if r.Failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d calls failed", r.Failed, r.Cycles))
	}
	return err
}

func showCycles(out io.Writer, r bench.CyclesResult) error {
	fmt.Fprintf(out, "%d calls, %d failed, in %.0f s; set up in %.0f ms (p50), %.0f ms (p95), %.0f ms (p99); %.1f ms of a core each\n\n",
		r.Cycles, r.Failed, r.Took, r.SetupMs.P50, r.SetupMs.P95, r.SetupMs.P99, 1000*r.CPU)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "service\tbefore\tafter\t")
	fmt.Fprintf(w, "memory, MB\t%.1f\t%.1f\t\n", float64(r.Before.RSS)/1e6, float64(r.After.RSS)/1e6)
	fmt.Fprintf(w, "of that Go's heap\t%.1f\t%.1f\t\n", float64(r.Before.Heap)/1e6, float64(r.After.Heap)/1e6)
	for _, row := range []struct {
		name          string
		before, after int
	}{
		{"goroutines", r.Before.Goroutines, r.After.Goroutines}, {"threads", r.Before.Threads, r.After.Threads},
		{"file handles", r.Before.Files, r.After.Files}, {"sockets", r.Before.Sockets, r.After.Sockets},
	} {
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", row.name, row.before, row.after)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for why, times := range r.Failures {
		fmt.Fprintf(out, "%d times: %s\n", times, why)
	}
	verdict := "nothing is kept of calls that have ended"
	if len(r.Leaks) > 0 {
		verdict = "KEPT"
	}
	for _, leak := range r.Leaks {
		verdict += "; " + leak
	}
	_, err := fmt.Fprintf(out, "\n%s (%d bytes of memory a call)\n%v\n", verdict, r.PerCall, r.Machine)
	return err
}
