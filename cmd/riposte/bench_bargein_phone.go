package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"riposte/bench"
	"riposte/tts"
)

// overPhone measures interruptions by a telephone wire, and prints.
func (c *benchBargeInCmd) overPhone(ctx context.Context, k *kong.Context, clips []bench.Clip) error {
	find := c.voiceFinder()
	defer find.close()
	b := bench.PhoneBargeIn{Clips: clips, Times: c.Times, Seed: c.Seed, Wait: c.Wait, Voiced: find.voiced, Each: c.progress}
	s := newService(&c.settings, c.logger())
	s.around.tts = func(v tts.Synthesizer) tts.Synthesizer {
		b.Voice = &bench.Overheard{Synthesizer: v}
		return b.Voice
	}
	_, telephone, stop, err := s.witnessed(ctx, &c.Far, c.Wire, c.Seed, c.Wait)
	if err != nil {
		return err
	}
	defer stop()
	b.Telephone = *telephone
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
	if !c.JSON {
		return errors.Join(err, showPhoneBargeIn(k.Stdout, r))
	}
	r.Version, r.Models = version, map[string]string{
		"stt": c.STT.Model, "llm": c.LLM.Model, "tts": c.TTS.Voice, "vad": c.VAD.Model, "turn": c.VAD.Turn, "judge": c.Judge,
	}
	return errors.Join(err, json.NewEncoder(k.Stdout).Encode(r)) // who ends it early wants to know what was measured until then
}

func showPhoneBargeIn(out io.Writer, r bench.PhoneBargeInResult) error {
	fmt.Fprintf(out, "%d interruptions by %s; ms from the first voiced sample: silent after p50 %.0f, p95 %.0f, p99 %.0f; taken after %.0f, %.0f, %.0f\n",
		r.Interruptions.Times, r.Wire, r.Silence.P50, r.Silence.P95, r.Silence.P99, r.Interruptions.Commit.P50, r.Interruptions.Commit.P95, r.Interruptions.Commit.P99)
	fmt.Fprintf(out, "heard after that: p50 %.0f ms, p95 %.0f, at most %.0f; thrown away at the far side p50 %.0f ms, p95 %.0f; %d answers went on; at most %.0f ms in hand there\n",
		r.AfterCommit.P50, r.AfterCommit.P95, r.AfterMost, r.Emptied.P50, r.Emptied.P95, r.Left, r.Queued)
	showInterruptions(out, "interruptions", r.Interruptions)
	for _, f := range r.Faults {
		fmt.Fprintf(out, "against the wire's protocol: %s\n", f)
	}
	_, err := fmt.Fprintf(out, "frames of the caller left %.1f ms late (p95; p99 %.1f, at most %.0f)\n%v\n", r.CallerLate.P95, r.CallerLate.P99, r.CallerLag, r.Machine)
	return err
}
