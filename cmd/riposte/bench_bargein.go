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

	"riposte/audio"
	"riposte/bench"
	"riposte/caller"
	"riposte/stt/whisper"
	"riposte/tts"
	"riposte/tts/piper"
)

// benchBargeInCmd measures interruptions.
type benchBargeInCmd struct {
	Corpus   string        `required:"" placeholder:"DIR" help:"Folder with manifest.tsv and the clips that it names."`
	Times    int           `default:"20" help:"Answers of each part."`
	Parts    []string      `placeholder:"PART" help:"Measure these parts alone: interruptions, coughs, echo (the answer comes back, the caller is silent), over_echo (the caller speaks over it)."`
	URL      string        `name:"url" placeholder:"URL" help:"Service to measure; without it, one is started for this measurement alone. Of another one, what was heard can only be read back by a recogniser."`
	Wire     string        `default:"ws" enum:"ws,twilio,audiosocket,chanws" help:"How to call: ws (WebSocket), or by a telephone wire: twilio (Media Streams), audiosocket or chanws (Asterisk's chan_websocket). By those interruptions alone are measured, of a service that is started for it."`
	Plain    bool          `help:"The caller cannot pause its playing: it plays what it has until the service says that it was interrupted."`
	Language string        `default:"en" help:"Language of the clips to say."`
	Seed     uint64        `default:"1" help:"Clips, moments, coughs and rooms."`
	Wait     time.Duration `default:"30s" help:"How long the service may take to answer."`
	Judge    string        `placeholder:"MODEL" help:"Whisper model that reads back what was played: a name from riposte models, or a ggml file. Without it, the service's."`
	Keep     string        `placeholder:"DIR" help:"Write what was sent and played in each call into this folder."`
	JSON     bool          `name:"json" help:"Print one JSON object instead of a table."`

	Far      phoneFlags `embed:"" prefix:"far-"`
	settings            // Of the service that is started.
}

// Validate reports what cannot be measured. kong calls it.
func (c *benchBargeInCmd) Validate() error {
	if c.Times < 1 {
		return fmt.Errorf("--times is %d: it must be at least 1", c.Times)
	}
	for _, p := range c.Parts {
		if !slices.Contains(bench.Parts, bench.Part(p)) {
			return fmt.Errorf("--parts: there is no part %q: there are %v", p, bench.Parts)
		}
	}
	if slices.Contains(phoneWires, c.Wire) && (c.URL != "" || c.Plain || c.Keep != "" || len(c.Parts) > 0) {
		return fmt.Errorf("--wire %s is for a service that is started for it, and for interruptions alone: leave out --url, --plain, --keep and --parts", c.Wire)
	}
	return errors.Join(c.Far.validate(c.Wire, ""), c.settings.Validate())
}

// Run measures and prints.
func (c *benchBargeInCmd) Run(ctx context.Context, k *kong.Context) error {
	clips, err := bench.ReadCorpus(c.Corpus)
	if err != nil {
		return err
	}
	if c.Keep != "" {
		if err := os.MkdirAll(c.Keep, 0o755); err != nil {
			return err
		}
	}
	if slices.Contains(phoneWires, c.Wire) {
		return c.overPhone(ctx, k, bench.Spoken(clips, c.Language))
	}
	find := c.voiceFinder()
	defer find.close()
	hum, err := c.hum(ctx)
	if err != nil {
		return err
	}
	defer hum.Close()
	b := bench.BargeIn{
		Caller: caller.Caller{URL: c.URL, Wait: c.Wait, Holds: !c.Plain}, Clips: bench.Spoken(clips, c.Language), Noises: noises(clips),
		Times: c.Times, Seed: c.Seed, Voiced: find.voiced, Hum: hum, Each: c.progress,
	}
	for _, p := range c.Parts {
		b.Parts = append(b.Parts, bench.Part(p))
	}
	if c.Keep != "" {
		b.Keep = c.keep
	}
	if c.URL == "" {
		s := newService(&c.settings, c.logger())
		s.around.tts = func(v tts.Synthesizer) tts.Synthesizer {
			b.Voice = &bench.Overheard{Synthesizer: v}
			return b.Voice
		}
		url, stop, err := s.alone(ctx)
		if err != nil {
			return err
		}
		defer stop()
		b.Caller.URL = url
	}
	judge, err := c.judge()
	if err != nil {
		return err
	}
	if err := judge.Open(ctx); err != nil {
		return err
	}
	defer judge.Close()
	b.Judge = judge
	r, err := b.Run(ctx)
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(err, c.show(k.Stdout, r)) // who ends it early wants to know what was measured until then
}

// show prints what was measured.
func (c *benchBargeInCmd) show(out io.Writer, r bench.BargeInResult) error {
	if !c.JSON {
		return showBargeIn(out, r)
	}
	r.Version, r.Models = version, map[string]string{
		"stt": c.STT.Model, "llm": c.LLM.Model, "tts": c.TTS.Voice, "vad": c.VAD.Model, "turn": c.VAD.Turn, "judge": c.Judge,
	}
	if c.URL != "" {
		r.Models = map[string]string{"url": c.URL, "judge": c.Judge}
	}
	return json.NewEncoder(out).Encode(r)
}

// hum opens a voice that hums for the caller.
func (c *benchBargeInCmd) hum(ctx context.Context) (*piper.Engine, error) {
	e, err := c.voice(c.TTS.Voice, c.TTS.Speaker, nil, c.logger())
	if err != nil {
		return nil, err
	}
	return e, e.Open(ctx)
}

// judge returns what reads back what was played. It is not open.
func (c *benchBargeInCmd) judge() (*whisper.Engine, error) {
	s := c.settings
	if c.Judge == "" {
		c.Judge = s.STT.Model
	}
	s.STT.Model = c.Judge
	return s.recogniser(s.STT.Model, nil, c.logger())
}

// noises returns the clips in which there is something to hear, and nobody speaks.
func noises(clips []bench.Clip) []bench.Clip {
	return slices.DeleteFunc(slices.Clone(clips), func(c bench.Clip) bool {
		return c.Language != "" || !slices.Contains(c.Kinds, "noise") || slices.Contains(c.Kinds, "silence")
	})
}

// keep writes a call's sound.
func (c *benchBargeInCmd) keep(part bench.Part, call int, sent, played audio.PCM, rate int) error {
	for name, p := range map[string]audio.PCM{"sent": sent, "played": played} {
		if len(p) == 0 {
			continue
		}
		if err := audio.WriteWAV(filepath.Join(c.Keep, fmt.Sprintf("%s_%02d_%s.wav", part, call, name)), p, rate); err != nil {
			return err
		}
	}
	return nil
}

// progress says how a trial went, for whoever waits.
func (c *benchBargeInCmd) progress(t bench.Trial) {
	fmt.Fprintf(os.Stderr, "%s %d/%d %s: %s\n", t.Part, t.N+1, c.Times, t.What, strings.TrimSpace(t.Came))
}

func showBargeIn(out io.Writer, r bench.BargeInResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "ms\tp50\tp95\tp99\t")
	row := func(name string, p bench.Percentiles) {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t\n", name, p.P50, p.P95, p.P99)
	}
	over := func(name string, p *bench.InterruptionsResult) {
		row(name+"held", p.Hold)
		row(name+"held, from the voice's arrival", p.HoldArrived)
		row(name+"held, from the first loud sound", p.HoldLoud)
		row(name+"silent", p.Silence)
		row(name+"taken", p.Commit)
	}
	if r.Interruptions != nil {
		over("", r.Interruptions)
	}
	if r.Coughs != nil {
		row("goes on after a cough", r.Coughs.Resumed)
		row("held for a cough", r.Coughs.Paused)
	}
	if r.OverEcho != nil {
		over("over echo: ", r.OverEcho)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if p := r.Interruptions; p != nil {
		showInterruptions(out, "interruptions", p)
	}
	if p := r.Coughs; p != nil {
		fmt.Fprintf(out, "coughs: %d, %d answers ended first", p.Times, p.EndedFirst)
		for _, kind := range slices.Sorted(maps.Keys(p.Kinds)) {
			fmt.Fprintf(out, "; %d %ss, %d held the answer, %d ended it", p.Kinds[kind], kind, p.Held[kind], p.False[kind])
		}
		fmt.Fprintf(out, "\n  %d ended a question, %d were taken for turns behind the answer; %d samples lost in %d clauses, %d could not be compared; %d answers with a gap; %d failed\n",
			p.Answered, p.Turns, p.LostSamples, p.Compared, p.Uncompared, p.Starved, p.Failed)
	}
	if p := r.Echo; p != nil {
		fmt.Fprintf(out, "echo: %d answers, %d interrupted themselves, %d took their own end for a turn, held %d times (p50 %.0f ms, p95 %.0f); %d with a gap; %d failed\n",
			p.Answers, p.SelfInterruptions, p.SelfTurns, p.SelfHolds, p.Held.P50, p.Held.P95, p.Starved, p.Failed)
	}
	if p := r.OverEcho; p != nil {
		showInterruptions(out, "over echo", p)
	}
	_, err := fmt.Fprintf(out, "frames of the caller left %.1f ms late (p95; p99 %.1f, at most %.0f); calls refused at first %d\n%v\n",
		r.CallerLate.P95, r.CallerLate.P99, r.CallerLag, r.Refused, r.Machine)
	return err
}

// showInterruptions prints what has no percentiles.
func showInterruptions(out io.Writer, name string, p *bench.InterruptionsResult) {
	fmt.Fprintf(out, "%s: %d, %d missed, %d not held first; %d held too early, %d answers ended without a word of the caller, %d by themselves; %d with a gap; %d failed\n",
		name, p.Times, p.Missed, p.Unheld, p.EarlyHolds, p.SelfInterruptions, p.EndedFirst, p.Starved, p.Failed)
	fmt.Fprintf(out, "  heard text: %d wrong, %d right but for a word within 20 ms, %d not known, %d counted as not heard; a recogniser contradicts %d of %d\n",
		p.HeardTextWrong, p.HeardTextNear, p.HeardTextUnchecked, p.Continued, p.HeardTextContradicted, p.HeardTextRead)
	fmt.Fprintf(out, "  word error rate of what was said %.1f %%\n", 100*p.WER)
}
