package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"riposte/bench"
	"riposte/native/nativetest"
	"riposte/scenario/live"
)

// Scripts are acted with real engines: one goes as it says, one does not, and one needs fakes.
func TestBenchScripts(t *testing.T) {
	for _, m := range []string{"whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad"} {
		nativetest.File(t, m)
	}
	nativetest.LlamaDir(t)
	nativetest.ONNXRuntime(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"holds": "model says \"Your train leaves at nine.\"\ncaller says \"when does the train leave\"\nexpect turn \"when does the train leave\" within 1s\n" +
			"expect sound within 2s\ncaller waits for done\nnow history user \"when does the train leave\", assistant \"Your train leaves at nine.\"\n",
		"breaks": "caller says \"good morning to all of you\"\nexpect turn \"the weather will be fine\" within 1s\ncaller waits for report\ncaller hangs up\n",
		"fakes":  "stt fails\ncaller says \"good morning\"\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".turn"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, err := benched(t, "turns", "--script", dir, "--slack=10s", "--json")
	if !errors.Is(err, errScripts) {
		t.Errorf("a script that fails ends in %v", err)
	}
	var r struct {
		Scripts struct{ Passed, Failed, Skipped int }
		Details []bench.ScriptResult
		Machine struct{ Cores int }
		Version string
		Models  map[string]string
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if s := r.Scripts; s.Passed != 1 || s.Failed != 1 || s.Skipped != 1 || len(r.Details) != 3 {
		t.Fatalf("scripts: %s", out)
	}
	breaks, fakes, holds := r.Details[0], r.Details[1], r.Details[2]
	if breaks.Outcome != live.Failed || len(breaks.Seen) != 1 || !strings.Contains(breaks.Seen[0], "breaks.turn:2: ") || !strings.Contains(strings.ToLower(breaks.Seen[0]), "good morning") {
		t.Errorf("what fails is told as %+v", breaks)
	}
	if fakes.Outcome != live.Skipped || !strings.Contains(fakes.Seen[0], "fakes.turn:1: ") {
		t.Errorf("what needs fakes is told as %+v", fakes)
	}
	if holds.Outcome != live.Passed || len(holds.Sounds) != 1 || !strings.HasPrefix(holds.Sounds[0], "voice piper-en_us-joe-medium, ") || holds.Took < 1000 {
		t.Errorf("what holds is told as %+v", holds)
	}
	if r.Machine.Cores == 0 || r.Version == "" || r.Models["llm"] == "" {
		t.Errorf("it does not say with what it was acted: %s", out)
	}
}

// What cannot be acted or measured is refused before anything is loaded.
func TestBenchTurnsRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"say with --corpus where the clips are": {},
		"no script: ":                           {"--script", filepath.Join(t.TempDir(), "none.turn")},
		"leave --url out":                       {"--script", t.TempDir(), "--url=ws://127.0.0.1:1"},
		"not a corpus":                          {"--corpus", t.TempDir()},
		"are for --wire webrtc":                 {"--corpus", t.TempDir(), "--loss=5"},
		"the loss is 1.5":                       {"--corpus", t.TempDir(), "--wire=webrtc", "--loss=150"},
		"such as 3s@20s":                        {"--corpus", t.TempDir(), "--wire=webrtc", "--outage=3s"},
	} {
		if _, err := benched(t, "turns", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func TestShowScripts(t *testing.T) {
	r := bench.ScriptsResult{Details: []bench.ScriptResult{
		{Script: "a", Outcome: live.Passed}, {Script: "b", Outcome: live.Failed, Seen: []string{"b:1: one", "b:2: two"}}, {Script: "c", Outcome: live.Skipped, Seen: []string{"c:1: why", "c:9: more"}},
	}}
	r.Scripts.Passed, r.Scripts.Failed, r.Scripts.Skipped = 1, 1, 1
	var out strings.Builder
	if err := showScripts(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a passed", "b failed b:1: one; b:2: two", "c skipped needs fakes: c:1: why", "1 scripts passed, 1 failed, 1 skipped"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
