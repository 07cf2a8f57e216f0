package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"riposte/audio"
	"riposte/bench"
	"riposte/budget"
	"riposte/scenario/live"
	"riposte/stt"
	"riposte/stt/whisper"
	"riposte/tts/piper"
)

// usualCorpus is where a checkout has its recordings.
const usualCorpus = "../shared/audio"

// errScripts says that scripts did not go as they say.
var errScripts = errors.New("not all scripts went as they say")

// act acts scripts with real engines, and prints how they went.
func (c *benchTurnsCmd) act(ctx context.Context, k *kong.Context) error {
	if c.URL != "" {
		return errors.New("scripts need a service of their own, which they can set up and take down: leave --url out")
	}
	b := bench.Scripts{Serve: c.serve, Each: c.acted, Slack: live.Slack{Words: c.Slack, Ears: c.Slack / 3, Jitter: c.Slack / 3}}
	var err error
	if b.Files, err = bench.ReadScripts(c.Script); err != nil {
		return err
	}
	cast, err := c.cast(ctx)
	if err != nil {
		return err
	}
	defer cast.close()
	b.Mouth, b.Ear = cast.mouth, cast.hear
	r, err := b.Run(ctx)
	if err != nil {
		return err
	}
	r.Version, r.Models = version, map[string]string{"stt": c.STT.Model, "llm": c.LLM.Model, "tts": c.TTS.Voice, "vad": c.VAD.Model}
	if c.JSON {
		err = json.NewEncoder(k.Stdout).Encode(r)
	} else {
		err = showScripts(k.Stdout, r)
	}
	if err == nil && r.Scripts.Failed > 0 {
		err = fmt.Errorf("%w: %d of %d failed", errScripts, r.Scripts.Failed, len(r.Details))
	}
	return err
}

// serve begins a service for scripts, with the limits.
func (c *benchTurnsCmd) serve(ctx context.Context, l live.Limits) (bench.Service, error) {
	s := c.settings
	s.LLM.Temperature, s.LLM.RepeatPenalty = 0, 1 // so that the model says what it was taught, each time,
	s.Budget.Mode = "observe"                     // and nothing before it
	if l.Utterance != nil {
		s.Calls.Longest = *l.Utterance
	}
	if l.Guesses != nil {
		s.Talk.Guesses = *l.Guesses
	}
	if l.Steps != nil {
		s.Talk.Steps = *l.Steps
	}
	if err := s.Validate(); err != nil {
		return bench.Service{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	url, stop, err := standalone(ctx, &s, s.logger())
	if err != nil {
		cancel()
		return bench.Service{}, err
	}
	return bench.Service{
		URL: url + "/v1/realtime", Ready: strings.Replace(url, "ws://", "http://", 1) + "/readyz", Stop: cancel,
		Close: func() error { cancel(); return stop() },
	}, nil
}

// cast is what acts scripts beside the service: the caller's voice, and an ear for what the caller heard. They are engines of their
// own, and do nothing while a call lasts.
type cast struct {
	mouth *bench.Mouth
	voice *piper.Engine
	ear   *whisper.Engine
}

// cast opens them.
func (c *benchTurnsCmd) cast(ctx context.Context) (*cast, error) {
	corpus := c.Corpus
	if _, err := os.Stat(usualCorpus); corpus == "" && err == nil {
		corpus = usualCorpus
	}
	var clips []bench.Clip
	var err error
	if corpus != "" {
		if clips, err = bench.ReadCorpus(corpus); err != nil {
			return nil, err
		}
	}
	var out cast
	if out.voice, err = c.voice(c.TTS.Voice, c.TTS.Speaker, nil, c.logger()); err != nil {
		return nil, err
	}
	if out.ear, err = c.recogniser(c.STT.Model, nil, c.logger()); err != nil {
		return nil, err
	}
	out.ear.Window = whisper.FullWindow
	out.voice.NoiseScale, out.voice.NoiseWidth = -1, -1 // a caller sounds the same each time
	if err := errors.Join(out.voice.Open(ctx), out.ear.Open(ctx)); err != nil {
		out.close()
		return nil, err
	}
	out.mouth = &bench.Mouth{Clips: clips, Voice: out.voice, Name: c.TTS.Voice, Ear: out.hear}
	return &out, nil
}

func (c *cast) close() {
	c.voice.Close()
	c.ear.Close()
}

// hear returns the words in a sound.
func (c *cast) hear(ctx context.Context, pcm audio.PCM) (string, error) {
	pcm, err := audio.Resample(pcm, live.Rate, audio.SpeechRate)
	if err != nil {
		return "", err
	}
	s := c.ear.Listen(stt.Options{})
	defer s.Close()
	s.Write(pcm)
	t, err := s.Finish(ctx, budget.Urgency{Deadline: time.Now()})
	return t.Text, err
}

// acted says how a script went, for whoever waits.
func (c *benchTurnsCmd) acted(r bench.ScriptResult) {
	fmt.Fprintf(os.Stderr, "%-7s %s (%.1f s)\n", r.Outcome, r.Script, r.Took/1000)
	if r.Outcome == live.Failed {
		for _, seen := range r.Seen {
			fmt.Fprintf(os.Stderr, "        %s\n", seen)
		}
		fmt.Fprintf(os.Stderr, "what happened:\n%s", r.Happened)
	}
}

// showScripts prints how scripts went.
func showScripts(out io.Writer, r bench.ScriptsResult) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "script\t\twhat was seen")
	for _, d := range r.Details {
		seen := d.Seen
		if d.Outcome == live.Skipped && len(seen) > 0 {
			seen = []string{"needs fakes: " + seen[0]}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", d.Script, d.Outcome, strings.Join(seen, "; "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%d scripts passed, %d failed, %d skipped\n%v\n", r.Scripts.Passed, r.Scripts.Failed, r.Scripts.Skipped, r.Machine)
	return err
}
