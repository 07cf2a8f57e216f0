package main

import (
	"encoding/json"
	"strings"
	"testing"

	"riposte/bench"
	"riposte/native/nativetest"
)

// Real engines with a fault each: the caller hears why, and the service knows which it was.
func TestBenchFaults(t *testing.T) {
	for _, m := range []string{"whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad"} {
		nativetest.File(t, m)
	}
	nativetest.LlamaDir(t)
	nativetest.ONNXRuntime(t)
	out, err := benched(t, "faults", "--corpus", corpusOfOne(t), "--faults=llm.error,tts.delay", "--times=1", "--llm-max-tokens=8", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var r bench.FaultsResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r.Turns != 4 || r.Failed != 0 || len(r.Faults) != 2 || r.Clean.Turns != 2 || r.Version == "" || r.Models["llm"] == "" {
		t.Fatalf("measured %s", out)
	}
	for _, f := range r.Faults {
		if f.Right != 1 { // what came when depends on the machine
			t.Errorf("%s: %+v", f.Fault, f)
		}
	}
	if r.Clean.Verdicts["failed"] != 0 {
		t.Errorf("without a fault: %+v", r.Clean)
	}
}

// What cannot be measured is refused before anything is loaded.
func TestBenchFaultsRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"missing flags":          {},
		"no fault \"llm.slow\"":  {"--corpus=.", "--faults=llm.slow"},
		"--times is 0":           {"--corpus=.", "--times=0"},
		"--delay is 0s":          {"--corpus=.", "--delay=0s"},
		"leave --faults out":     {"--corpus=.", "--faults=llm.hang", "--disk=blocked"},
		"--disk must be one of":  {"--corpus=.", "--disk=full"},
		"not a corpus of speech": {"--corpus", t.TempDir()},
	} {
		if _, err := benched(t, "faults", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

func TestShowFaults(t *testing.T) {
	r := bench.FaultsResult{
		Faults: []bench.FaultResult{{
			Fault: "llm.hang", Turns: 4, HeardAtCaller: 0.75, HeardByPlatform: 1, Gap: bench.Percentiles{P50: 851, P95: 893}, Right: 0.5, Failed: 1,
			First: map[bench.First]int{bench.Opened: 3, bench.Nothing: 1}, Verdicts: map[string]int{"failed": 3}, Blamed: map[string]int{"llm": 3},
		}},
		Clean:  bench.FaultResult{Fault: "clean", Turns: 4, First: map[bench.First]int{bench.Answered: 4}, Verdicts: map[string]int{"met": 4}},
		Trials: []bench.FaultTrial{{Turn: 3, Fault: "llm.hang", Clip: "a/b.flac", Why: "it broke off"}},
	}
	var out strings.Builder
	if err := showFaults(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"llm.hang 4 75 % 100 % 851 893 50 % 1 nothing 1, opener 3", "clean 4", "llm.hang: failed 3; blamed: llm 3", "clean: met 4; blamed: none",
		"turn 3 failed, llm.hang , b.flac: it broke off",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

func TestShowDisk(t *testing.T) {
	r := bench.DiskResult{
		Blocked: bench.DiskTurns{Turns: 5, Gap: bench.Percentiles{P50: 400, P95: 500}, PlatformGap: bench.Percentiles{P50: 410, P95: 510}, HeardAtCaller: 1},
		Free:    bench.DiskTurns{Turns: 5, Gap: bench.Percentiles{P50: 401, P95: 501}, HeardAtCaller: 0.8, Written: 5, Failed: 1},
	}
	var out strings.Builder
	if err := showDisk(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"blocked 5 400 500 410 510 100 % 0 0", "free 5 401 501 0 0 80 % 5 1"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
