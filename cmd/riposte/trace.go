package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"riposte/budget/trace/store"
)

// traceCmd is what can be asked about calls and turns that were kept.
type traceCmd struct {
	Ls     traceLsCmd     `cmd:"" name:"ls" help:"List turns, or calls, the newest first."`
	Show   traceShowCmd   `cmd:"" help:"Show one turn against its budget, or the turns of a call."`
	Stats  traceStatsCmd  `cmd:"" help:"Percentiles of the gap and of each stage, in all or by model, route, version or time."`
	Diff   traceDiffCmd   `cmd:"" help:"Set two sets of turns side by side, such as two versions or two days."`
	Export traceExportCmd `cmd:"" help:"Write turns as OpenTelemetry spans, as a table, or for Perfetto."`
}

// traceFile says where the traces are. It is the service's own setting, so its config file and environment hold here too.
type traceFile struct {
	ConfigFile kong.ConfigFlag `name:"config" placeholder:"FILE" help:"Read settings from this file as well."`
	File       string          `name:"trace-file" placeholder:"FILE" help:"File in which the service keeps traces. Empty means $XDG_STATE_HOME/riposte/traces.db or ~/.local/state/riposte/traces.db." group:"trace"`
}

// open opens the traces to be read.
func (f *traceFile) open(ctx context.Context) (*store.Store, error) {
	path, err := tracesAt(f.File)
	if err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errors.New("no traces are kept: the setting trace.file is none")
	}
	s, err := store.OpenReader(ctx, path)
	if errors.Is(err, store.ErrNone) {
		err = fmt.Errorf("%w (riposte serve makes the file; --trace-file names another)", err)
	}
	return s, err
}

// tracesAt returns the file that the setting trace.file means; empty where it says to keep nothing.
func tracesAt(file string) (string, error) {
	switch file {
	case "none":
		return "", nil
	case "":
		folder, err := stateFolder()
		if err != nil {
			return "", fmt.Errorf("%w (set trace.file)", err)
		}
		return filepath.Join(folder, "traces.db"), nil
	}
	return filepath.Abs(file)
}

// stateFolder returns where the service keeps what it has made: $XDG_STATE_HOME/riposte or ~/.local/state/riposte.
func stateFolder() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the folder for traces and certificates: %w", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "riposte"), nil
}

// keepTraces keeps calls and turns in the file that the settings name. A file that cannot be written keeps nobody from calling;
// the log says so. stop writes what is left.
func (s *service) keepTraces() (stop func()) {
	set := &s.settings.Trace
	path, err := tracesAt(set.File)
	if err != nil {
		s.log.Warn("no traces are kept", "err", err)
	}
	if path == "" {
		return func() {}
	}
	r := &store.Recorder{
		Path: path, Limits: store.Limits{Age: set.Keep, Sound: set.RecordKeep, Bytes: set.Bytes}, Log: s.log, Queue: s.queues.traces,
	}
	r.Start()
	s.traces = append(s.traces, r)
	return func() {
		if err := r.Close(); err != nil {
			s.log.Warn("closing", "err", err)
		}
	}
}

// traceFilter chooses turns: by the flags, and by terms that mean the same.
type traceFilter struct {
	Since   string        `placeholder:"TIME" help:"Turns from then on: how long ago (90m, 7d), a day (2026-11-30) or a moment (2026-11-30T15:04:05Z)."`
	Until   string        `placeholder:"TIME" help:"Turns before then."`
	Call    string        `placeholder:"ID" help:"Turns of this call."`
	Route   []string      `placeholder:"NAME" help:"Turns of calls that came in on one of these routes."`
	Release []string      `placeholder:"VERSION" help:"Turns of one of these versions of the service."`
	Model   []string      `placeholder:"NAME" help:"Turns in which one of these models did the work of a stage."`
	Verdict []string      `placeholder:"VERDICT" help:"Turns that were met, masked, over or failed; none for those without a verdict."`
	Blame   []string      `placeholder:"STAGE" help:"Turns for which one of these stages is to blame: mic, stt, llm or tts."`
	Origin  []string      `placeholder:"ORIGIN" help:"Turns that answer this: aloud, greeting, prompt, written or requested (by the client, with nothing new)."`
	Status  []string      `placeholder:"STATUS" help:"Turns whose answer ended so: completed, cancelled or failed."`
	Gap     time.Duration `placeholder:"DURATION" help:"Turns with a gap of at least this."`
	Text    string        `placeholder:"WORDS" help:"Turns in which all of these words were said or answered; their beginnings suffice."`
}

// terms are a filter as arguments.
type terms struct {
	Terms []string `arg:"" optional:"" name:"filter" help:"What to choose turns by, as terms: since=2h verdict=over route=a,b version=v1 ... A word alone has to be said or answered."`
}

// filter returns what the flags and the terms say.
func (f *traceFilter) filter(more []string, now time.Time) (store.Filter, error) {
	text := strings.Join(more, " ")
	for _, flag := range []struct {
		key    string
		values []string
	}{
		{"since", one(f.Since)}, {"until", one(f.Until)}, {"call", one(f.Call)}, {"route", f.Route}, {"version", f.Release}, {"model", f.Model},
		{"verdict", f.Verdict}, {"blame", f.Blame}, {"origin", f.Origin}, {"status", f.Status}, {"text", one(f.Text)},
	} {
		if len(flag.values) == 0 {
			continue
		}
		var quoted []string
		for _, v := range flag.values {
			quoted = append(quoted, strconv.Quote(v))
		}
		text += " " + flag.key + "=" + strings.Join(quoted, ",")
	}
	if f.Gap != 0 {
		text += " gap=" + f.Gap.String()
	}
	return store.ParseFilter(text, now)
}

// one returns a list of v alone, or of nothing.
func one(v string) []string {
	if v == "" {
		return nil
	}
	return []string{v}
}
