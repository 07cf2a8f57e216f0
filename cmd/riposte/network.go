package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"riposte/bench"
	"riposte/budget"
	"riposte/caller/lossy"
)

// networkFlags say what network a bench puts between its callers and a service on this machine.
type networkFlags struct {
	Loss   float64       `placeholder:"PERCENT" help:"Over WebRTC: lose so many of the packets, each way."`
	Jitter time.Duration `placeholder:"D" help:"Over WebRTC: delay each packet by up to so much, as chance has it."`
	Delay  time.Duration `placeholder:"D" help:"Over WebRTC: delay all packets by so much, each way."`
	Outage outage        `placeholder:"D@D" help:"Over WebRTC: let nothing pass for so long, from so long after the call's beginning, as in 3s@20s; the caller then has another address."`
}

// outage is how long nothing passes, and from when.
type outage struct{ length, from time.Duration }

// UnmarshalText reads an outage such as 3s@20s. kong calls it.
func (o *outage) UnmarshalText(b []byte) error {
	length, from, ok := strings.Cut(string(b), "@")
	var errs [2]error
	o.length, errs[0] = time.ParseDuration(length)
	o.from, errs[1] = time.ParseDuration(from)
	if err := errors.Join(errs[:]...); !ok || err != nil || o.length <= 0 || o.from < 0 {
		return fmt.Errorf("an outage is %q: it must be how long it is and when it begins, such as 3s@20s", b)
	}
	return nil
}

// network returns the network, and whether it is a bad one.
func (f networkFlags) network(seed uint64) (lossy.Network, bool) {
	n := lossy.Network{Loss: f.Loss / 100, Jitter: f.Jitter, Delay: f.Delay, Outage: f.Outage.length, From: f.Outage.from, Seed: seed}
	return n, f != networkFlags{}
}

// check reports what cannot be, by the wire that is called by.
func (f networkFlags) check(wire string) error {
	n, bad := f.network(0)
	if bad && wire != "webrtc" {
		return errors.New("--loss, --jitter, --delay and --outage are for --wire webrtc")
	}
	return n.Validate()
}

// showNetworks prints what the same conversation was like in two networks.
func showNetworks(out io.Writer, r bench.NetworksResult) error {
	n := r.Network
	fmt.Fprintf(out, "bad network: %.3g %% lost, %v of delay and up to %v of jitter each way", 100*n.Loss, n.Delay, n.Jitter)
	if n.Outage > 0 {
		fmt.Fprintf(out, ", nothing for %v from %v on, then another address", n.Outage, n.From)
	}
	fmt.Fprint(out, "\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tclean p50\tp95\tbad p50\tp95\t")
	row := func(name string, clean, bad bench.Percentiles) {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t\n", name, clean.P50, clean.P95, bad.P50, bad.P95)
	}
	row("gap at the caller, ms", r.Clean.Gap, r.Bad.Gap)
	row("platform turn gap, ms", r.Clean.PlatformGap, r.Bad.PlatformGap)
	row("the way, on top of it, ms", r.Clean.Way, r.Bad.Way)
	for _, s := range budget.Stages {
		row(string(s)+", ms", r.Clean.Stages[string(s)], r.Bad.Stages[string(s)])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, side := range []struct {
		name string
		bench.NetworkResult
	}{{"clean", r.Clean}, {"bad", r.Bad}} {
		p := side.Packets
		fmt.Fprintf(out, "\n%s: %d turns, %d failed, %d calls; word error rate %.1f %%; %d answers begun too early and given up\n",
			side.name, side.Turns, side.Failed, side.Calls, 100*side.WER, side.Cutoffs)
		fmt.Fprintf(out, "  packets of the caller's sound, as the service counts: %.0f came, %.0f missed, of these %.0f late (%.2f %%); %.0f recovered, %.0f concealed\n",
			p["received"], p["missed"], p["late"], 100*side.Late, p["recovered"], p["concealed"])
		fmt.Fprintf(out, "  the network carried %d packets and lost %d\n  %v\n", side.Carried, side.Lost, side.Machine)
		for _, f := range side.Failures {
			fmt.Fprintf(out, "  turn %d failed: %s\n", f.Turn, f.Why)
		}
	}
	return nil
}
