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
)

// benchSoundCmd measures what is done to sound on its way.
type benchSoundCmd struct {
	JSON bool `name:"json" help:"Print one JSON object instead of a table."`
}

// Run measures and prints.
func (c *benchSoundCmd) Run(ctx context.Context, k *kong.Context) error {
	r, err := (&bench.Sound{Programs: []bench.Program{bench.Sox, bench.FFmpeg}}).Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showSound(k.Stdout, r)
	}
	r.Version = version
	return json.NewEncoder(k.Stdout).Encode(r)
}

func showSound(out io.Writer, r bench.SoundResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "Hz\tby\tripple\tat 85 %\tat 97.5 %\ttone by the rest\tbeyond the half\tnear it\t")
	for _, x := range r.Rates {
		fmt.Fprintf(w, "%d -> %d\t%s\t%.2f dB\t%.2f\t%.1f\t%.0f dB\t-%.0f dB\t-%.0f dB\t\n", x.In, x.Out, x.Program, x.Ripple, x.Edge, x.Half, x.SNR, x.Rejection, x.Near)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nthe half is that of the lower rate, above which nothing can be carried; the ripple is from 300 Hz to 85 % of it, beyond is more than 15 % away")
	if len(r.G711) > 0 {
		fmt.Fprintln(w, "\nG.711\tby\tsamples coded as here\tcodes decoded as here\ttone by the rest\tand here\t")
	}
	for _, x := range r.G711 {
		fmt.Fprintf(w, "%s\t%s\t%d of 65536\t%d of 256\t%.1f dB\t%.1f dB\t\n", x.Law, x.Program, x.Encoded, x.Decoded, x.SNR, x.OurSNR)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(r.Missing) > 0 {
		fmt.Fprintf(out, "\nnot here to be compared with: %s\n", strings.Join(r.Missing, ", "))
	}
	_, err := fmt.Fprintf(out, "%v\n", r.Machine)
	return err
}
