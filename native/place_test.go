package native

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func entries(t *testing.T, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

func TestPlace(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "models")
	final := filepath.Join(parent, "m")
	fill := func(text string, err error) func(string) error {
		return func(dir string) error {
			write(t, filepath.Join(dir, "sub", "file"), text)
			return err
		}
	}
	content := func() string {
		b, err := os.ReadFile(filepath.Join(final, "sub", "file"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if err := place(final, fill("one", nil)); err != nil || content() != "one" {
		t.Errorf("placed %q, %v", content(), err)
	}
	if err := place(final, fill("two", nil)); err != nil || content() != "two" {
		t.Errorf("replaced by %q, %v", content(), err)
	}
	failure := errors.New("no more")
	if err := place(final, fill("three", failure)); !errors.Is(err, failure) || content() != "two" {
		t.Errorf("after a failure (%v) there is %q", err, content())
	}
	if got := entries(t, parent); got != "m" {
		t.Errorf("left behind: %s", got)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"m/file", "m.making-123/file", "m.old/file", "other.making-9/deep/file"} {
		write(t, filepath.Join(dir, name), "x")
	}
	if err := sweep(dir); err != nil {
		t.Fatal(err)
	}
	if got := entries(t, dir); got != "m" {
		t.Errorf("left: %s", got)
	}
	if err := sweep(filepath.Join(dir, "absent")); err != nil {
		t.Errorf("a folder that is not there: %v", err)
	}
}

func TestLockWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := lock(t.Context(), path, func(string) { t.Error("the first waits") })
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan string, 1)
	got := make(chan error, 1)
	go func() {
		release, err := lock(t.Context(), path, func(holder string) { waiting <- holder })
		if err == nil {
			release()
		}
		got <- err
	}()
	if holder := <-waiting; !strings.HasPrefix(holder, "process ") {
		t.Errorf("the holder is %q", holder)
	}
	select {
	case err := <-got:
		t.Errorf("two have the lock (%v)", err)
	case <-time.After(10 * time.Millisecond):
	}
	release()
	if err := <-got; err != nil {
		t.Error(err)
	}
}

func TestLockGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	release, err := lock(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	over := errors.New("over")
	if _, err := lock(ctx, path, func(string) { cancel(over) }); !errors.Is(err, over) {
		t.Errorf("error = %v, want the cause", err)
	}
}
