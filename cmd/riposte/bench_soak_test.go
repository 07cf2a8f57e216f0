package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"riposte/bench"
)

// A short time of random life by all wires, with engines that have faults.
func TestBenchSoak(t *testing.T) {
	needed(t)
	out, err := benched(t, "soak", "--minutes=0.3", "--calls=5", "--every=1s", "--faults=4s", "--tts-speed=4", "--json")
	if err != nil && !errors.Is(err, errSoak) { // the machine may have been too busy
		t.Fatalf("%v: %s", err, out)
	}
	var r bench.SoakResult
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if r.Calls == 0 || r.Turns == 0 || len(r.Series) < 3 || len(r.Struck) == 0 || len(r.REST) == 0 || r.Before.Sockets == 0 || r.After.Goroutines == 0 || len(r.Verdict) < 5 ||
		r.Models["llm"] != "stub" || r.Seed != 1 {
		t.Errorf("%s", out)
	}
}

func TestBenchSoakRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"--minutes is 0":          {"--minutes=0"},
		"--minutes is 1e+300":     {"--minutes=1e300"},
		"--minutes is NaN":        {"--minutes=NaN"},
		"--calls is -1":           {"--minutes=1", "--calls=-1"},
		"must not be negative":    {"--minutes=1", "--faults=-1s"},
		"--wires must be one of":  {"--minutes=1", "--wires=pigeon"},
		"not a corpus of speech":  {"--minutes=1", "--corpus", t.TempDir()},
		"no stub can be done bef": {"--minutes=1", "--stub-llm=-1s"},
	} {
		if _, err := benched(t, "soak", args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}

// Faults are told from all else that a service logs, however its lines are cut.
func TestStrikeLog(t *testing.T) {
	var other strings.Builder
	var strikes bench.Strikes
	l := &strikeLog{to: &strikes, other: &other}
	all := `service: {"time":"2026-01-02T03:04:05Z","level":"WARN","msg":"` + faultStruck + `","fault":"llm.hang"}` + "\n" + `service: {"level":"WARN","msg":"else"}` + "\nno object\n"
	for len(all) > 0 {
		n := min(7, len(all))
		if wrote, err := l.Write([]byte(all[:n])); wrote != n || err != nil {
			t.Fatal(wrote, err)
		}
		all = all[n:]
	}
	if got, want := other.String(), `service: {"level":"WARN","msg":"else"}`+"\nno object\n"; got != want {
		t.Errorf("passed on: %q, want %q", got, want)
	}
	if got := strikes.Counts(); got["llm.hang"] != 1 || len(got) != 1 {
		t.Errorf("struck: %v", got)
	}
}

func TestShowSoak(t *testing.T) {
	r := bench.SoakResult{
		Calls: 7, Took: 90, Wires: map[string]int{"ws": 4, "twilio": 3}, Turns: 20, Outcomes: map[string]int{"met": 12, "failed": 1}, NotInjected: 1, RSSSlope: 2e6,
		Failures: []bench.SoakFailure{{Wire: "ws", Doing: "asks", Why: "no answer came"}},
		Verdict:  []bench.SoakVerdict{{What: "failures without a reason", Was: "1", Wanted: "0", Bad: true}, {What: "memory", Was: "+2 %", Wanted: "flat", Untold: true}},
		Before:   bench.Usage{RSS: 90e6, Goroutines: 14}, LateMs: bench.Percentiles{P95: 2},
	}
	var out strings.Builder
	if err := showSoak(&out, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"7 calls in 1.5 minutes (twilio 3, ws 4)", "20 turns", "failed 1, met 12", "memory, MB 90.0 0.0 0.0 0.0 +2.00", "goroutines 14",
		"1 times: ws, asks: no answer came", "failures without a reason BAD 1 (0)", "memory cannot tell +2 % (flat)", "2.0 ms late",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if !r.Bad() {
		t.Error("a verdict is bad, and the result is not")
	}
}
