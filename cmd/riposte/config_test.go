package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// parse parses the arguments as the command line does, with a config file of the given text.
func parse(t *testing.T, file string, args ...string) (*settings, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "riposte.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	var cmd serving
	parser, err := newParser(t.Context(), &cmd)
	if err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(append([]string{"serve", "--config", path}, args...))
	return &cmd.Serve.settings, err
}

func TestConfigOrder(t *testing.T) {
	file := "calls:\n  max: 3\n  lifetime: 20m\ntalk:\n  silence: 300ms\norigins: [https://a.example, https://b.example]\n"
	t.Setenv("RIPOSTE_CALLS_LIFETIME", "30m")
	t.Setenv("RIPOSTE_TALK_SILENCE", "400ms")
	s, err := parse(t, file, "--talk-silence=600ms")
	if err != nil {
		t.Fatal(err)
	}
	if s.Calls.Max != 3 {
		t.Errorf("calls.max is %d, the file says 3", s.Calls.Max)
	}
	if s.Calls.Lifetime != 30*time.Minute {
		t.Errorf("calls.lifetime is %v, the environment says 30m, over the file", s.Calls.Lifetime)
	}
	if s.Talk.Silence != 600*time.Millisecond {
		t.Errorf("talk.silence is %v, the command line says 600ms, over all", s.Talk.Silence)
	}
	if len(s.Origins) != 2 || s.Origins[1] != "https://b.example" {
		t.Errorf("origins are %q", s.Origins)
	}
	if s.Budget.STT != 300*time.Millisecond {
		t.Errorf("budget.stt is %v, nobody says anything but the default", s.Budget.STT)
	}
}

func TestConfigRefused(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"unknown key", "stt:\n  modle: x\n", `riposte.yaml:2: there is no setting "stt.modle"; the nearest is "stt.model"`},
		{"unknown section", "sst:\n  model: x\n", `the nearest is "stt.model"`},
		{"unknown section without keys of its own", "listen: 127.0.0.1:1\ntoolz:\n  http:\n    weather:\n      url: http://x\n      timeout: 1s\n", `riposte.yaml:5: there is no section "toolz"; the nearest is "tools"`},
		{"all unknown keys", "a: 1\nb: 2\n", `riposte.yaml:2`},
		{"no section", "stt: whisper\n", `"stt" is a section`},
		{"no section, key alone", "silence: 300ms\n", `the nearest is "talk.silence"`},
		{"nothing like it", "zebraXYZ: 300ms\n", `there is no setting "zebraXYZ" (riposte config lists all)`},
		{"a list at the top", "- a\n", "must be a section"},
		{"no YAML", "a: [\n", "config file"},
		{"set twice", "calls:\n  max: 1\ncalls-max: 2\n", "calls-max is set twice"},
		{"no duration", "talk:\n  silence: soon\n", "riposte.yaml:2: talk.silence: \"soon\" is no duration: write"},
		{"no number", "calls:\n  max: many\n", "riposte.yaml:2: calls.max: expected a valid"},
		{"out of bounds", "calls:\n  max: 0\n", "calls-max is 0: it must be at least 1"},
		{"two out of bounds", "budget:\n  stt: 0s\n  llm: -1ms\n", "the llm share"},
		{"no share", "budget:\n  stt: 0s\n", "the stt share of the budget is 0s"},
		{"GPUs without one", "llm:\n  devices: [CUDA0]\n", "llm-devices is set, but llm-gpu is none"},
		{"layers without a GPU", "llm:\n  gpu-layers: 10\n", "llm-gpu-layers is 10, but llm-gpu is none"},
		{"fewer layers than none", "llm:\n  gpu: cuda\n  gpu-layers: -2\n", "llm-gpu-layers is -2: it must be -1 or more"},
		{"GPUs without layers", "llm:\n  gpu: cuda\n  gpu-layers: 0\n  split: [1, 1]\n", "llm-split is set, but llm-gpu-layers is 0"},
		{"a GPU twice", "llm:\n  gpu: cuda\n  devices: [CUDA0, CUDA0]\n", "llm-devices names CUDA0 twice"},
		{"less than nothing", "llm:\n  gpu: cuda\n  split: [2, -1]\n", "llm-split is [2 -1]"},
		{"nothing for anybody", "llm:\n  gpu: cuda\n  split: [0, 0]\n", "llm-split is [0 0]"},
		{"no part", "llm:\n  gpu: cuda\n  split: [NaN, 1]\n", "llm-split is [NaN 1]"},
		{"a part too many", "llm:\n  gpu: cuda\n  devices: [CUDA0]\n  split: [3, 1]\n", "llm-split has 2 parts for the 1 GPUs"},
		{"a list of one text", "talk:\n  openers: [Hm., Well.]\n", `"talk.openers" takes one text and no list`},
		{"no such format", "log:\n  format: xml\n", `riposte.yaml:2: log.format: it must be one of auto, text, json and not "xml"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.file)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want something with %q", err, tt.want)
			}
		})
	}
}

func TestEmptyConfig(t *testing.T) {
	if _, err := parse(t, "# nothing is set\n"); err != nil {
		t.Error(err)
	}
}

// What `riposte config` prints is a config file that changes nothing.
func TestConfigPrinted(t *testing.T) {
	var cmd commands
	parser, err := newParser(t.Context(), &cmd)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	parser.Stdout = &out
	k, err := parser.Parse([]string{"config", "--origins=http://a.example,http://b.example", "--llm-gpu=cuda", "--llm-devices=CUDA0,CUDA1", "--llm-split=3,1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Run(); err != nil {
		t.Fatal(err)
	}
	s, err := parse(t, out.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, out.String())
	}
	if len(s.Origins) != 2 || len(s.LLM.Devices) != 2 || len(s.LLM.Split) != 2 || s.LLM.Split[0] != 3 {
		t.Errorf("lists are lost: %q, %q, %v", s.Origins, s.LLM.Devices, s.LLM.Split)
	}
	if s.Talk.Instructions != cmd.Config.Talk.Instructions || s.Calls != cmd.Config.Calls || s.LLM.Model != cmd.Config.LLM.Model {
		t.Errorf("the printed file means something else:\n%s", out.String())
	}
}

// What is wrong on the command line says where to look it up; what is wrong in a file begins with its place there.
func TestCommandLineRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "riposte.yaml")
	if err := os.WriteFile(path, []byte("price:\n  minute: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"bogus"}, "unexpected argument bogus; see riposte --help"},
		{[]string{"bench", "turnz"}, "; see riposte bench --help"},
		{[]string{"tools", "list", "--bogus"}, "; see riposte tools list --help"},
		{[]string{"tools", "list", "--config", path}, path + `:2: price.minute: expected a float but got "x" (string)`},
	} {
		if err := run(t.Context(), tt.args); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want %s", tt.args, err, tt.want)
		}
	}
}
