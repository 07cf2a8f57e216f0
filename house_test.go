// Package riposte holds no code, only the tests of how the code is laid out.
package riposte

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// house says what each package may import of this module. Imports go one way: commands name engines and wires; engines know
// their stage and nothing of each other; the pipeline knows stages and no engine, so that it tests without C; wires know
// what a call is and nothing of the pipeline. A package that is not listed has to find its place here first.
var house = map[string][]string{
	"audio":              {},
	"budget":             {},
	"budget/trace":       {"budget"},
	"llm":                {"budget"},
	"stt":                {"audio", "budget"},
	"tts":                {"audio", "budget"},
	"scenario":           {},
	"scenario/live":      {"audio", "audio/room", "scenario", "stt/wer"},
	"stt/wer":            {},
	"llm/grammar":        {},
	"llm/schema":         {"llm"},
	"llm/toolcall":       {"llm", "llm/schema"},
	"tool":               {"llm", "llm/schema", "llm/toolcall"},
	"tool/mcp":           {"llm", "llm/schema", "tool"},
	"tool/web":           {"llm", "tool"},
	"transport":          {"audio", "budget", "llm"},
	"endpoint":           {},
	"pipeline":           {"audio", "audio/answering", "audio/echo", "budget", "budget/trace", "endpoint", "llm", "llm/toolcall", "stt", "tts", "transport"},
	"transport/realtime": {"audio", "budget", "llm", "llm/toolcall", "transport"},
	"transport/webrtc":   {"audio", "audio/opus", "audio/opus/track", "transport", "transport/realtime"},
	"transport/phone":    {"audio", "audio/dtmf", "budget", "transport"},
	"transport/twilio":   {"transport", "transport/phone"},
	"transport/telnyx":   {"transport", "transport/phone"},
	"transport/vonage":   {"transport", "transport/phone"},
	"transport/asterisk": {"transport", "transport/phone"},
	"caller":             {"audio", "audio/opus", "audio/opus/track"},
	"caller/lossy":       {},
	"caller/phone":       {"audio", "caller"},
	"bench":              {"audio", "audio/room", "bench/stub", "budget", "budget/trace", "budget/trace/sample", "budget/trace/store", "caller", "caller/lossy", "caller/phone", "endpoint", "llm", "scenario", "scenario/live", "stt", "stt/wer", "tts"},
	"bench/stub":         {"audio", "budget", "llm", "stt", "tts"},
	"rest":               {"audio", "audio/lame", "audio/opus", "budget", "budget/trace", "llm", "llm/toolcall", "remote", "stt", "tts"},
	"web":                {},
	"web/asset":          {},
	"web/browsertest":    {"native/nativetest"},
	"web/talk":           {"web/asset"},
	"web/traces":         {"audio", "budget", "budget/trace", "budget/trace/object", "budget/trace/store", "web/asset"},

	"budget/trace/store":   {"budget", "budget/trace"},
	"budget/trace/sample":  {"budget", "budget/trace"},
	"budget/trace/otel":    {"budget", "budget/trace"},
	"budget/trace/export":  {"budget", "budget/trace", "budget/trace/otel"},
	"budget/trace/metrics": {"budget", "budget/trace"},
	"budget/trace/object":  {"budget", "budget/trace", "budget/trace/store"},
	"budget/trace/hook":    {"budget/trace", "budget/trace/object"},

	"audio/audiotest":  {"audio"},
	"audio/answering":  {"audio"},
	"audio/dtmf":       {"audio"},
	"audio/duplex":     {"audio"},
	"audio/echo":       {"audio"},
	"audio/lame":       {"audio"},
	"audio/mel":        {},
	"audio/opus":       {"audio"},
	"audio/opus/track": {"audio", "audio/opus"},
	"audio/room":       {"audio"},
	"audio/silero":     {"audio", "native/onnx"},
	"audio/smartturn":  {"audio", "audio/mel", "budget", "native/onnx"},
	"stt/whisper":      {"audio", "audio/mel", "budget", "stt"},
	"remote":           {"budget", "budget/trace"},
	"llm/remote":       {"budget", "llm", "remote"},
	"stt/remote":       {"audio", "budget", "remote", "stt"},
	"tts/remote":       {"audio", "audio/opus", "budget", "remote", "tts"},
	"llm/llama":        {"budget", "llm", "llm/grammar", "llm/schema", "llm/toolcall"},
	"tts/piper":        {"audio", "budget", "native/onnx", "tts"},

	"native":            {"audio/mel"},
	"native/onnx":       {},
	"native/console":    {"native"},
	"native/setup":      {"native", "native/console"},
	"native/nativetest": {"native"},

	"native/onnx/onnxtest": {"native/nativetest", "native/onnx"},

	"cmd/riposte": {
		"audio", "audio/answering", "audio/duplex", "audio/lame", "audio/opus", "audio/room", "audio/silero", "audio/smartturn", "bench", "bench/stub", "budget", "budget/trace", "budget/trace/export", "budget/trace/hook", "budget/trace/metrics", "budget/trace/object", "budget/trace/otel",
		"budget/trace/store", "caller", "caller/lossy", "caller/phone", "llm", "llm/llama", "llm/remote", "native", "native/console", "native/onnx", "pipeline", "remote", "rest", "scenario/live", "stt", "stt/remote", "stt/whisper", "transport", "transport/realtime", "transport/asterisk", "transport/phone", "transport/telnyx", "transport/twilio", "transport/vonage", "tool", "tool/mcp", "tool/web", "transport/webrtc", "tts", "tts/piper", "tts/remote", "web", "web/talk", "web/traces",
	},
}

// native libraries may be called here only.
var cgo = []string{"stt/whisper", "native/onnx"}

type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
	CgoFiles   []string
}

func TestHouse(t *testing.T) {
	const module = "riposte/"
	seen := map[string]bool{}
	for _, p := range list(t, "./...") {
		name, ok := strings.CutPrefix(p.ImportPath, module)
		if !ok {
			continue // this package
		}
		seen[name] = true
		may, ok := house[name]
		if !ok {
			t.Errorf("%s has no place in the house: say in house_test.go what it may import", name)
			continue
		}
		for _, imported := range p.Imports {
			if own, ok := strings.CutPrefix(imported, module); ok && !slices.Contains(may, own) {
				t.Errorf("%s imports %s, which it may not: it may import %v", name, own, may)
			}
		}
		if len(p.CgoFiles) > 0 && !slices.Contains(cgo, name) {
			t.Errorf("%s calls C: only %v may", name, cgo)
		}
		if p.Doc == "" {
			t.Errorf("%s has no package comment", name)
		}
	}
	for name := range house {
		if !seen[name] {
			t.Errorf("%s stands in house_test.go and is not there", name)
		}
	}
}

// The pipeline and the wires test without C, and so does all that they need.
func TestPure(t *testing.T) {
	for _, p := range list(t, "-deps", "./pipeline", "./transport/...", "./web", "./caller") {
		if slices.Contains(cgo, strings.TrimPrefix(p.ImportPath, "riposte/")) {
			t.Errorf("the pipeline or a wire needs %s, which calls C", p.ImportPath)
		}
	}
}

// list asks the go command about packages.
func list(t *testing.T, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Doc,Imports,CgoFiles"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for d := json.NewDecoder(out); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return all
}
