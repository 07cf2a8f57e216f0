package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"riposte/scenario/live"
)

// scripts writes scripts to a folder.
func scripts(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadScripts(t *testing.T) {
	dir := scripts(t, map[string]string{"b.turn": "", "a.turn": "", "README.md": ""})
	files, err := ReadScripts(dir)
	if err != nil || !reflect.DeepEqual(files, []string{filepath.Join(dir, "a.turn"), filepath.Join(dir, "b.turn")}) {
		t.Errorf("%q, %v", files, err)
	}
	if files, err = ReadScripts(filepath.Join(dir, "b.turn")); err != nil || len(files) != 1 {
		t.Errorf("%q, %v", files, err)
	}
	for _, path := range []string{filepath.Join(dir, "c.turn"), t.TempDir()} {
		if _, err := ReadScripts(path); err == nil || !strings.Contains(err.Error(), "no script") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A script that makes no sense is refused before anything begins, with its place; one that needs fakes needs no service.
func TestScriptsWithoutService(t *testing.T) {
	serve := func(context.Context, live.Limits) (Service, error) {
		return Service{}, errors.New("no service is to begin")
	}
	run := func(text string) (ScriptsResult, error) {
		files, err := ReadScripts(scripts(t, map[string]string{"one.turn": text}))
		if err != nil {
			t.Fatal(err)
		}
		b := Scripts{Files: files, Serve: serve}
		return b.Run(t.Context())
	}
	if _, err := run("caller shouts"); err == nil || !strings.Contains(err.Error(), `one.turn:1: "shouts" is no thing that the caller does`) {
		t.Errorf("error %v", err)
	}
	r, err := run("stt fails\ncaller says \"stop\"")
	if err != nil || r.Scripts.Skipped != 1 || len(r.Details) != 1 || r.Details[0].Script != "one" || !strings.Contains(r.Details[0].Seen[0], "one.turn:1: a real stt does not fail") {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := run("caller waits 1s"); err == nil || !strings.Contains(err.Error(), "one: no service is to begin") {
		t.Errorf("error %v", err)
	}
}

// Scripts share a service as long as it suits them and stands.
func TestServing(t *testing.T) {
	begun, ended := 0, 0
	begin := func(context.Context, live.Limits) (Service, error) {
		begun++
		return Service{Close: func() error { ended++; return nil }}, nil
	}
	guesses := 0
	var s serving
	for i, step := range []struct {
		limits live.Limits
		down   bool
		begun  int
	}{{live.Limits{}, false, 1}, {live.Limits{}, true, 1}, {live.Limits{}, false, 2}, {live.Limits{Guesses: &guesses}, false, 3}, {live.Limits{Guesses: new(int)}, false, 3}} {
		if err := s.serve(t.Context(), begin, step.limits); err != nil {
			t.Fatal(err)
		}
		if s.spent = step.down; begun != step.begun || ended != begun-1 {
			t.Errorf("step %d: %d services begun and %d ended, want %d", i, begun, ended, step.begun)
		}
	}
	if err := errors.Join(s.end(), s.end()); err != nil || ended != begun {
		t.Errorf("%d services begun and %d ended, %v", begun, ended, err)
	}
}
