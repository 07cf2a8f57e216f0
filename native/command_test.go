package native

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program puts a shell script called name in front of PATH.
func program(t *testing.T, name, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestRunLogged(t *testing.T) {
	log := filepath.Join(t.TempDir(), "logs", "step.log")
	var lines []string
	err := runLogged(exec.CommandContext(t.Context(), "sh", "-c", "echo one; echo two >&2; printf three"), log, func(l string) { lines = append(lines, l) })
	if err != nil || strings.Join(lines, " ") != "one two" { // Only whole lines count.
		t.Errorf("lines %q, %v", lines, err)
	}
	b, err := os.ReadFile(log)
	if err != nil || !strings.HasSuffix(string(b), "\none\ntwo\nthree") {
		t.Errorf("the log holds %q, %v", b, err)
	}
}

func TestRunLoggedSaysWhy(t *testing.T) {
	log := filepath.Join(t.TempDir(), "step.log")
	err := runLogged(exec.CommandContext(t.Context(), "sh", "-c", "echo fine; echo 'x.c:1: error: no semicolon'; exit 3"), log, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"exit status 3", "x.c:1: error: no semicolon", log} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	cmake := "echo 'CMake Error at CMakeLists.txt:7 (message):'; echo '  No such compiler'; echo; echo 'CMake Error: twice'; exit 1"
	err = runLogged(exec.CommandContext(t.Context(), "sh", "-c", cmake), log, nil)
	if want := "sh: exit status 1: CMake Error at CMakeLists.txt:7 (message): No such compiler; see " + log; err == nil || err.Error() != want {
		t.Errorf("error = %v, want %s", err, want)
	}
	if err := runLogged(exec.CommandContext(t.Context(), "no-such-program"), log, nil); !errors.Is(err, ErrTool) {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestOutputOnAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	o := &output{log: full}
	if n, err := o.Write([]byte("one\ntwo error: x\nthr")); n != 20 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	failed := &commandError{program: "cc", err: errors.New("exit status 1"), said: o.said, log: "log", full: o.full}
	if !errors.Is(failed, syscall.ENOSPC) || failed.Error() != "cc: exit status 1: two error: x; see log" {
		t.Errorf("error = %v", failed)
	}
}

func TestRunLoggedEndsAllChildren(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	log := filepath.Join(t.TempDir(), "step.log")
	// The shell's child holds the pipe, so runLogged returns in time only if both are killed.
	began := time.Now()
	err := runLogged(exec.CommandContext(ctx, "sh", "-c", "echo go; sleep 60; true"), log, func(string) { cancel() })
	if err == nil || time.Since(began) > 30*time.Second {
		t.Errorf("returned %v after %v", err, time.Since(began))
	}
}
