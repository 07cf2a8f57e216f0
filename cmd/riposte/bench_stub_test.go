package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"riposte/bench"
	"riposte/native/nativetest"
)

// needed skips a test where there is not what a service with stubs still needs, and has this program be the service.
func needed(t *testing.T) {
	t.Helper()
	nativetest.File(t, "silero-vad")
	nativetest.ONNXRuntime(t)
	t.Setenv(beMain, "1")
}

// A service whose engines are stubs is measured over both wires: calls, what it adds to what the stubs take, and what it uses.
func TestBenchCallsOfStubs(t *testing.T) {
	needed(t)
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for _, wire := range []string{"websocket", "webrtc"} {
		t.Run(wire, func(t *testing.T) {
			out, err := benched(t, "calls", "--engines=stub", "--wire", wire, "--calls=2", "--turns=1", "--ramp=100ms", "--talk-silence=500ms", "--tts-speed=4", "--json")
			if err != nil {
				t.Fatal(err)
			}
			var r bench.CallsResult
			if err := json.Unmarshal([]byte(out), &r); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if r.Turns != 2 || r.Failed != 0 || r.AtOnce != 2 || r.Refused != 0 || r.Models["llm"] != "stub" || r.Frames < 150 {
				t.Errorf("two calls: %s", out)
			}
			// 500 ms of silence, 155 to the first clause, 50 to its sound: what is on top of that depends on the machine, but it is not less.
			if r.Gap.P50 < 705 || r.Added.P50 <= 0 || r.Added.P50 > r.Gap.P50-705 || r.Guesses.Tries != 0 {
				t.Errorf("gap %+v, of which are added %+v: %s", r.Gap, r.Added, out)
			}
			if r.CPU <= 0 || r.Idle.RSS < 10e6 || r.Most.Goroutines <= r.Idle.Goroutines || r.Most.Threads < 2 || r.Most.Files < 5 || r.CallerOf < 1 {
				t.Errorf("what was used: %s", out)
			}
		})
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("the bench keeps this process off cores: %v before, %v after, %v", before.Count(), after.Count(), err)
	}
}

// A service keeps nothing of calls over WebRTC that have ended.
func TestBenchCycles(t *testing.T) {
	needed(t)
	out, err := benched(t, "cycles", "--cycles=60", "--warm=20", "--hold=60ms", "--json")
	if err != nil && !errors.Is(err, errLeak) {
		t.Fatalf("%v: %s", err, out)
	}
	var r bench.CyclesResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	// What the race detector keeps is no leak; Go's heap has none of it.
	r.Leaks = slices.DeleteFunc(r.Leaks, func(leak string) bool { return strings.HasPrefix(leak, "bytes of memory") })
	if r.Cycles != 60 || r.Failed != 0 || len(r.Leaks) != 0 || r.After.Heap == 0 || r.SetupMs.P50 <= 0 || r.Before.Sockets == 0 || r.After.Goroutines == 0 {
		t.Errorf("cycles: %s", out)
	}
}

func TestBenchStubsRefuse(t *testing.T) {
	for want, args := range map[string][]string{
		"must not be negative": {"calls", "--engines=stub", "--stub-llm=-1s"},
		"does not keep up":     {"calls", "--engines=stub", "--stub-pace=2"},
		"leave --url out":      {"calls", "--engines=stub", "--url=ws://127.0.0.1:1"},
		"say with --corpus":    {"calls"},
		"at least one is for":  {"calls", "--engines=stub", "--stub-cores=9999"},
		"--stub-cores is -2":   {"cycles", "--stub-cores=-2"},
		"must be at least 1":   {"cycles", "--cycles=0"},
	} {
		if _, err := benched(t, args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
