package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"riposte/audio/room"
	"riposte/bench"
	"riposte/budget"
	"riposte/stt/whisper"
)

// benchSTTCmd measures the recogniser.
type benchSTTCmd struct {
	Corpus    string   `required:"" placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names."`
	Streams   int      `default:"1" placeholder:"N" help:"Clips heard at the same time."`
	Language  string   `default:"en" help:"Language of the clips to hear; those without speech are heard as well."`
	Kinds     []string `placeholder:"KIND" help:"Hear clips of these kinds alone."`
	Telephone bool     `help:"Hear clips of wide-band sound as they come by telephone as well: 300 to 3,400 Hz, by mu-law and by A-law."`
	Limit     int      `placeholder:"N" help:"Hear no more than N clips, taken evenly from all."`
	JSON      bool     `name:"json" help:"Print one JSON object instead of a table."`

	settings // Of the recogniser.
}

// Run measures and prints.
func (c *benchSTTCmd) Run(ctx context.Context, k *kong.Context) error {
	if c.Streams < 1 || c.Limit < 0 {
		return fmt.Errorf("--streams is %d and --limit %d: they must be at least 1 and 0", c.Streams, c.Limit)
	}
	clips, err := bench.ReadCorpus(c.Corpus)
	if err != nil {
		return err
	}
	clips = c.choose(clips)
	if len(clips) == 0 {
		return fmt.Errorf("%w: it has no clip of that language and kind", bench.ErrCorpus)
	}
	live, err := c.openEar(ctx, c.executor(), 0)
	if err != nil {
		return err
	}
	defer live.Close()
	offline, err := c.openEar(ctx, nil, whisper.FullWindow)
	if err != nil {
		return err
	}
	defer offline.Close()
	b := bench.STT{Live: live, Offline: offline, Clips: clips, Streams: c.Streams, Telephone: c.Telephone, Each: func(n int, clip bench.Clip, h bench.STTHearing) {
		if h.Err != nil {
			fmt.Fprintf(os.Stderr, "%d/%d %s: %v\n", n+1, len(clips), filepath.Base(clip.File), h.Err)
			return
		}
		fmt.Fprintf(os.Stderr, "%d/%d %s: %d ms, offline %d ms, heard %q\n", n+1, len(clips), filepath.Base(clip.File), h.Close.Milliseconds(), h.Full.Milliseconds(), h.Text)
	}}
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		return showSTT(k.Stdout, r)
	}
	r.Version, r.Models = version, map[string]string{"stt": c.STT.Model}
	return json.NewEncoder(k.Stdout).Encode(r)
}

// choose returns the clips that are asked for.
func (c *benchSTTCmd) choose(clips []bench.Clip) []bench.Clip {
	clips = slices.DeleteFunc(clips, func(clip bench.Clip) bool {
		return clip.Language != "" && clip.Language != c.Language || len(c.Kinds) > 0 &&
			!slices.ContainsFunc(c.Kinds, func(kind string) bool { return slices.Contains(clip.Kinds, kind) })
	})
	if c.Limit == 0 || c.Limit >= len(clips) {
		return clips
	}
	some := make([]bench.Clip, c.Limit)
	for i := range some {
		some[i] = clips[i*len(clips)/c.Limit]
	}
	return some
}

// openEar opens the recogniser of the settings alone, with a smallest window; 0 is its own.
func (c *benchSTTCmd) openEar(ctx context.Context, cores *budget.Executor, window int) (*whisper.Engine, error) {
	e, err := c.recogniser(c.STT.Model, cores, c.logger())
	if err != nil {
		return nil, err
	}
	e.Window = window
	return e, e.Open(ctx)
}

func showSTT(out io.Writer, r bench.STTResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ms\tp50\tp95\tp99\t")
	for _, row := range []struct {
		name string
		p    bench.Percentiles
	}{{"closing pass", r.Close}, {"whole window, offline", r.Full}, {"first hypothesis", r.FirstPartial}} {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t\n", row.name, row.p.P50, row.p.P95, row.p.P99)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d clips, %d at once, %d failed; a closing pass takes %.2f of an offline one\n", r.Clips, r.Streams, r.Failed, r.CloseRatio)
	fmt.Fprintf(out, "word error rate %.1f %%, offline %.1f %%", 100*r.WER, 100*r.WEROffline)
	showKinds(out, r.WERByKind)
	if t := r.TelephoneWER; t != nil {
		fmt.Fprintf(out, "\nby telephone %.1f %% (mu-law %.1f, A-law %.1f), %d failed; the same clips as they are %.1f %%", 100*t.Telephone, 100*t.ByLaw[room.MuLaw], 100*t.ByLaw[room.ALaw], t.Failed, 100*t.Wide)
	}
	fmt.Fprintf(out, "\n%d words without speech, %d loops; %.1f hypotheses a second, %.1f %% of the stable words contradicted, %.2f words revised a word; real time factor %.2f\n",
		r.NospeechWords, r.Loops, r.Hypotheses, 100*r.Contradicted, r.Revised, r.RTF)
	_, err := fmt.Fprintf(out, "%v\n", r.Machine)
	return err
}
