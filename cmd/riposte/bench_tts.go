package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/tts/piper"
)

// benchTTSCmd measures the voice.
type benchTTSCmd struct {
	Runs int    `default:"9" placeholder:"N" help:"How often each sentence is spoken; medians are taken."`
	Seed uint64 `default:"1" help:"Order of the sentences."`
	JSON bool   `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the voice.
}

// Run measures and prints.
func (c *benchTTSCmd) Run(ctx context.Context, k *kong.Context) error {
	if c.Runs < 1 {
		return fmt.Errorf("--runs is %d: it must be at least 1", c.Runs)
	}
	log := c.logger()
	parts, err := c.openVoice(ctx, log, false)
	if err != nil {
		return err
	}
	defer parts.Close()
	whole, err := c.openVoice(ctx, log, true)
	if err != nil {
		return err
	}
	defer whole.Close()

	b := bench.TTS{
		Voice: parts, Whole: whole, Runs: c.Runs, Seed: c.Seed,
		Seams: func(ctx context.Context, text string) (maxDiff, edgeClick float64, err error) {
			s, err := parts.Seams(ctx, whole, text)
			return s.MaxDiff, s.Click, err
		},
	}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showTTS(k.Stdout, r)
	}
	r.Version, r.Models = version, map[string]string{"tts": c.TTS.Voice}
	return json.NewEncoder(k.Stdout).Encode(r)
}

// openVoice opens the voice of the settings alone, without its cache; whole makes it speak each text in one piece.
func (c *benchTTSCmd) openVoice(ctx context.Context, log *slog.Logger, whole bool) (*piper.Engine, error) {
	e, err := c.voice(c.TTS.Voice, c.TTS.Speaker, nil, log)
	if err != nil {
		return nil, err
	}
	e.CacheBytes, e.Whole = -1, whole
	return e, e.Open(ctx)
}

func showTTS(out io.Writer, r bench.TTSResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "words\tfirst audible, ms\tin one piece, ms\t")
	for _, words := range []string{"3", "6", "12", "24"} {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t\n", words, r.FirstAudio["w"+words], r.Whole["w"+words])
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nfirst audible of 12 words by the time for all of them in one piece: %.2f\n"+
		"share of real time %.3f\nlargest difference from the voice in one piece %.1e\nsharpest bend at an edge by the sharpest elsewhere %.2f\n"+
		"medians of %d runs, %d failed\n%v\n",
		r.FirstByWhole, r.RTF, r.MaxDiff, r.EdgeClick, r.Runs, r.Failed, r.Machine)
	return err
}
