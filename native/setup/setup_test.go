package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"riposte/native"
)

// recorder is a native.Progress that keeps what is said.
type recorder struct{ said []string }

func (r *recorder) Say(line string)                               { r.said = append(r.said, line) }
func (r *recorder) Begin(title string, _ native.Unit) native.Step { r.Say(title); return step{} }

type step struct{}

func (step) Set(int64, int64) {}
func (step) End(error)        {}

// machine makes PATH a folder of only the given scripts, and returns a function that reads what was run of them: each
// script writes its name and arguments into a file.
func machine(t *testing.T, scripts map[string]string) (ran func() string) {
	t.Helper()
	dir := t.TempDir()
	record := filepath.Join(dir, "record")
	for name, script := range scripts {
		text := "#!/bin/sh\necho " + name + ` "$@" >>` + record + "\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return func() string {
		b, err := os.ReadFile(record)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(b)
	}
}

var wanted = []native.DebianPackage{{Name: "cmake"}, {Name: "libone"}, {Name: "libtwo"}}

func TestDebianNothingMissing(t *testing.T) {
	ran := machine(t, map[string]string{
		// cmake is not Debian's here, but it is there.
		"dpkg-query": "echo installed libone; echo installed libtwo; exit 1", "apt-get": "", "cmake": "", "pip3": "",
	})
	if err := installDebian(t.Context(), true, wanted, &recorder{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(ran(), "apt-get") {
		t.Errorf("ran %s", ran())
	}
}

func TestDebianInstalls(t *testing.T) {
	ran := machine(t, map[string]string{
		"dpkg-query": "echo installed libone; echo config-files libtwo; exit 1", "apt-get": "",
	})
	var progress recorder
	if err := installDebian(t.Context(), true, wanted, &progress); err != nil {
		t.Fatal(err)
	}
	apt := ran()[strings.Index(ran(), "apt-get"):]
	want := "apt-get update -q\napt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 cmake libtwo python3-pip python3-venv\n"
	if apt != want {
		t.Errorf("ran %q, want %q", apt, want)
	}
	if len(progress.said) == 0 || progress.said[0] != "installing Debian packages: cmake libtwo python3-pip python3-venv" {
		t.Errorf("said %q", progress.said)
	}
}

func TestDebianWithoutRoot(t *testing.T) {
	query := "echo installed libone; echo installed cmake; exit 1"
	ran := machine(t, map[string]string{"dpkg-query": query, "pip3": "", "apt-get": "", "sudo": "exit 1"})
	err := installDebian(t.Context(), false, wanted, &recorder{})
	if err == nil || !strings.Contains(err.Error(), "sudo apt-get update && sudo apt-get install -y --no-install-recommends libtwo") {
		t.Errorf("error = %v", err)
	}
	if strings.Contains(ran(), "\napt-get") {
		t.Errorf("ran %s", ran())
	}
	ran = machine(t, map[string]string{"dpkg-query": query, "pip3": "", "sudo": ""})
	if err := installDebian(t.Context(), false, wanted, &recorder{}); err != nil {
		t.Fatal(err)
	}
	if want := "sudo -n apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=300 libtwo\n"; !strings.HasSuffix(ran(), want) {
		t.Errorf("ran %q, want it to end with %q", ran(), want)
	}
}

func TestDebianFails(t *testing.T) {
	machine(t, map[string]string{"dpkg-query": "exit 1", "apt-get": "echo no such mirror; exit 100", "pip": ""})
	err := installDebian(t.Context(), true, wanted, &recorder{})
	if err == nil || !strings.Contains(err.Error(), "no such mirror") || !strings.Contains(err.Error(), "apt-get update") {
		t.Errorf("error = %v", err)
	}
}

func TestNotDebian(t *testing.T) {
	machine(t, nil)
	if err := installDebian(t.Context(), true, wanted, &recorder{}); err != nil {
		t.Errorf("without dpkg: %v", err)
	}
}

func TestRelink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "build", "whisper")
	for _, target := range []string{"/one", "/one", "/two"} {
		if err := relink(target, link); err != nil {
			t.Fatal(err)
		}
		if got, err := os.Readlink(link); err != nil || got != target {
			t.Errorf("it leads to %s, %v, want %s", got, err, target)
		}
	}
}
