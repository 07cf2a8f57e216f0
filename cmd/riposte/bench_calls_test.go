package main

import (
	"encoding/json"
	"strings"
	"testing"

	"riposte/bench"
	"riposte/native/nativetest"
)

// A service in a process of its own takes one of three callers at a time: the second waits until there is room.
func TestBenchCalls(t *testing.T) {
	for _, m := range []string{"whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad", "smart-turn-v3.2"} {
		nativetest.File(t, m)
	}
	nativetest.LlamaDir(t)
	nativetest.ONNXRuntime(t)
	t.Setenv(beMain, "1")
	out, err := benched(t, "calls", "--corpus", corpusOfOne(t), "--calls=2", "--turns=1", "--ramp=100ms", "--patience=1m", "--calls-max=1", "--llm-max-tokens=8", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var r bench.CallsResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r.Callers != 2 || r.Admitted != 2 || r.AtOnce != 1 || r.Turns != 2 || r.Failed != 0 {
		t.Errorf("of two callers who wait for one place: %s", out)
	}
	if r.Refused == 0 || r.Refusals["too_many_calls"] != r.Refused || r.RefusalMs.P50 <= 0 || r.SlowestMs < r.RefusalMs.P50 {
		t.Errorf("refusals: %s", out)
	}
	if r.Frames < 20 || r.Held < 2 || r.CPU <= 0 || r.RSS < 50e6 || r.Gap.P50 <= 0 || r.Machine.Cores == 0 || r.Models["llm"] == "" {
		t.Errorf("calls: %s", out)
	}
}

func TestBenchCallsRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"each must be at least 1": {"--corpus=x", "--calls=0"},
		"must not be negative":    {"--corpus=x", "--patience=-1s"},
		"not a corpus":            {"--corpus", t.TempDir()},
	} {
		if _, err := benched(t, "calls", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
