package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"riposte/audio"
	"riposte/scenario"
	"riposte/scenario/live"
)

// Scripts acts scripts of conversations with a service.
type Scripts struct {
	Files []string
	Mouth live.Mouth
	Ear   func(context.Context, audio.PCM) (string, error) // What hears the words of a sound at live.Rate; see live.Stage.
	Slack live.Slack
	// Serve begins a service with the limits.
	Serve func(context.Context, live.Limits) (Service, error)
	Each  func(ScriptResult) // Called after each script, where it is not nil.
}

// Service is one that runs.
type Service struct {
	URL, Ready string
	Stop       func()       // Takes it down, as a signal would, and returns at once.
	Close      func() error // Takes it down and waits until it is gone.
}

// ScriptsResult is what came of scripts.
type ScriptsResult struct {
	Scripts struct {
		Passed  int `json:"passed"`
		Failed  int `json:"failed"`
		Skipped int `json:"skipped"`
	} `json:"scripts"`
	Details []ScriptResult `json:"details"`

	About
}

// ScriptResult is what came of one script.
type ScriptResult struct {
	Script   string       `json:"script"`
	Outcome  live.Outcome `json:"outcome"`
	Seen     []string     `json:"seen,omitempty"`     // What was not as it says, or why it needs fake engines; each with its place.
	Happened string       `json:"happened,omitempty"` // All that happened, and when.
	Sounds   []string     `json:"sounds,omitempty"`   // Where the caller's sounds come from, in order.
	Took     float64      `json:"took_ms"`
}

// ReadScripts reads a script, or all of a folder. The error names all lines that make no sense.
func ReadScripts(path string) (files []string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("no script: %w (name a .turn file or a folder with some)", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	files, err = filepath.Glob(filepath.Join(path, "*.turn"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no script: %s has no file whose name ends in .turn", path)
	}
	return files, err
}

// Run acts the scripts one after the other. The error is one that no script is to blame for.
func (b *Scripts) Run(ctx context.Context) (ScriptsResult, error) {
	r := ScriptsResult{About: about(0)}
	scripts := make([]scenario.Script, len(b.Files))
	for i, file := range b.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			return r, err
		}
		if scripts[i], err = scenario.Parse(file, string(text)); err != nil {
			return r, err
		}
	}
	var now serving
	defer now.end()
	for i, script := range scripts {
		one := ScriptResult{Script: strings.TrimSuffix(filepath.Base(b.Files[i]), ".turn")}
		came, err := b.act(ctx, script, &now)
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		if err != nil {
			return r, fmt.Errorf("%s: %w", one.Script, err)
		}
		one.Outcome, one.Seen, one.Happened, one.Sounds, one.Took = came.Outcome, came.Problems, came.Happened, came.Sounds, ms(came.Took)
		switch came.Outcome {
		case live.Passed:
			r.Scripts.Passed++
		case live.Failed:
			r.Scripts.Failed++
		default:
			r.Scripts.Skipped++
		}
		r.Details = append(r.Details, one)
		if b.Each != nil {
			b.Each(one)
		}
	}
	r.Machine = r.Machine.after()
	return r, nil
}

// act acts a script with a service as it needs one.
func (b *Scripts) act(ctx context.Context, script scenario.Script, now *serving) (live.Result, error) {
	stage := live.Stage{Mouth: b.Mouth, Ear: b.Ear, Slack: b.Slack}
	if len(live.Needs(script)) == 0 {
		limits, down := live.Wants(script)
		if err := now.serve(ctx, b.Serve, limits); err != nil {
			return live.Result{}, err
		}
		now.spent = down
		stage.URL, stage.Ready, stage.Stop = now.URL, now.Ready, now.Stop
	}
	return stage.Act(ctx, script)
}

// serving is the service that is running, if there is one: most scripts can be acted with the same.
type serving struct {
	Service
	limits live.Limits
	spent  bool // A script has taken it down.
}

// serve sees to it that a service with the limits is running.
func (s *serving) serve(ctx context.Context, begin func(context.Context, live.Limits) (Service, error), l live.Limits) error {
	if s.Close != nil && !s.spent && reflect.DeepEqual(s.limits, l) {
		return nil
	}
	if err := s.end(); err != nil {
		return fmt.Errorf("the service did not end well: %w", err)
	}
	began, err := begin(ctx, l)
	*s = serving{Service: began, limits: l}
	return err
}

// end takes the service down, if there is one.
func (s *serving) end() error {
	if s.Close == nil {
		return nil
	}
	stop := s.Close
	s.Close = nil
	return stop()
}

// scriptWait bounds what a voice may take for one thing that the caller says.
const scriptWait = time.Minute
