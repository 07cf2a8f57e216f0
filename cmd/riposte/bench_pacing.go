package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/caller"
)

// benchPacingCmd measures the pace of a telephone wire.
type benchPacingCmd struct {
	Wire    string  `default:"twilio" enum:"twilio,audiosocket,chanws" help:"The wire: twilio (Media Streams), audiosocket or chanws (Asterisk's chan_websocket)."`
	Minutes float64 `default:"5" help:"How long to listen, in minutes."`
	URL     string  `name:"url" placeholder:"URL" help:"Service to measure, which has to speak for so long; without it, one with stubs is started for this measurement alone, in a process of its own."`
	Seed    uint64  `default:"1" help:"What is drawn for the network, if anything is."`
	JSON    bool    `name:"json" help:"Print one JSON object instead of a table."`

	Stub     stubFlags  `embed:"" prefix:"stub-"`
	Far      phoneFlags `embed:"" prefix:"far-"`
	settings            // Of the service that is started.
}

// Validate reports what cannot be measured. kong calls it.
func (c *benchPacingCmd) Validate() error {
	if !(c.Minutes >= 0.1 && c.Minutes <= 240) {
		return fmt.Errorf("--minutes is %v: it must be 0.1 to 240", c.Minutes)
	}
	return errors.Join(c.Far.validate(c.Wire, c.URL), c.Stub.validate(), c.settings.Validate())
}

// Run measures and prints.
func (c *benchPacingCmd) Run(ctx context.Context, k *kong.Context) (err error) {
	clip, err := talker()
	if err != nil {
		return err
	}
	url := c.URL
	if url == "" {
		if err := c.Far.suit(c.Wire, &c.settings); err != nil {
			return err
		}
		const wordsPerMinute = 200 // More than the stub's voice says: the answer is not over when enough was heard.
		c.Stub.Words = int(math.Ceil((c.Minutes + 2) * wordsPerMinute))
		service, stop, err := c.Stub.start(ctx, &c.settings, 1, k)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		url = service.URL
	}
	b := bench.Pacing{
		Phone: c.Far.phone(c.Wire, &c.settings, url, c.Seed, time.Minute), For: time.Duration(c.Minutes * float64(time.Minute)),
		Speech: caller.Speech{Sound: clip.PCM, Rate: clip.Rate},
		Each: func(at time.Duration, inHand float64) {
			fmt.Fprintf(os.Stderr, "%v, %.0f ms in hand\n", at.Round(time.Second), inHand)
		},
	}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showPacing(k.Stdout, r)
	}
	r.Version, r.Models = version, c.subject(c.URL)
	return json.NewEncoder(k.Stdout).Encode(r)
}

func showPacing(out io.Writer, r bench.PacingResult) error {
	fmt.Fprintf(out, "%d frames by %s in %.0f s\n\n", r.Frames, r.Wire, r.Seconds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, s bench.Spread) {
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%.2f\t\n", name, s.P50, s.P99, s.Max)
	}
	fmt.Fprintln(w, "ms\tp50\tp99\tmost\t")
	row("from one frame to the next", r.Interval)
	row("off 20 ms, either way", r.Off)
	row("off the schedule, either way", r.Schedule)
	row("the far side's own frames left late by", r.LateMs)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%.3f %% of the intervals are off by more than 5 ms; drift over the call %.2f ms; %d underruns, %.0f ms; at most %.0f ms in hand at the far side\n",
		100*r.Beyond, r.Drift, r.Underrun, r.Starved, r.Queued)
	for _, f := range r.Faults {
		fmt.Fprintf(out, "against the wire's protocol: %s\n", f)
	}
	_, err := fmt.Fprintf(out, "%v\n%v\n", r, r.Machine)
	return err
}
