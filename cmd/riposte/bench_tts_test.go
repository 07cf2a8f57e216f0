package main

import (
	"encoding/json"
	"strings"
	"testing"

	"riposte/bench"
	"riposte/native/nativetest"
)

func TestBenchTTS(t *testing.T) {
	nativetest.ONNXRuntime(t)
	nativetest.File(t, "piper-en_us-joe-medium")
	out, err := benched(t, "tts", "--runs=1", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		First     map[string]float64 `json:"first_audio_ms"`
		ByWhole   float64            `json:"first_over_whole_w12"`
		RTF       float64            `json:"rtf"`
		MaxDiff   float64            `json:"max_diff"`
		EdgeClick float64            `json:"edge_click"`
		Machine   struct{ Cores int }
		Version   string
		Seed      int
		Models    map[string]string
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	for _, name := range []string{"w3", "w6", "w12", "w24"} {
		if r.First[name] <= 0 {
			t.Errorf("no time for %s in %s", name, out)
		}
	}
	// The voice in windows is heard far sooner than the whole one, whatever else the machine does.
	if r.ByWhole <= 0 || r.ByWhole > 0.65 || r.RTF <= 0 || r.MaxDiff <= 0 || r.MaxDiff > 1e-3 || r.EdgeClick <= 0 || r.EdgeClick > 1.5 {
		t.Errorf("measured %s", out)
	}
	if r.Machine.Cores == 0 || r.Version == "" || r.Seed != 1 || r.Models["tts"] != "piper-en_us-joe-medium" {
		t.Errorf("it does not say on what it measured: %s", out)
	}
	if _, err := benched(t, "tts", "--runs=0"); err == nil {
		t.Error("no runs at all were accepted")
	}
}

func TestShowTTS(t *testing.T) {
	var out strings.Builder
	err := showTTS(&out, bench.TTSResult{
		FirstAudio: map[string]float64{"w3": 31, "w12": 52}, Whole: map[string]float64{"w12": 300}, FirstByWhole: 0.173, RTF: 0.1, MaxDiff: 3e-5, EdgeClick: 0.2, Runs: 9, Failed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12 52 300", "one piece: 0.17", "real time 0.100", "3.0e-05", "9 runs, 1 failed"} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}
