package whisper

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-audio/wav"

	"riposte/audio"
)

func open(t testing.TB, e Engine) *Engine {
	t.Helper()
	if e.Model == "" {
		e.Model = modelFile(t, "whisper-tiny.en")
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return &e
}

func modelFile(t testing.TB, name string) string {
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".cache/riposte/models", name, name+".bin")
}

// jfk returns the sample that the bindings bring along.
func jfk(t testing.TB) audio.PCM {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ggerganov/whisper.cpp/bindings/go").Output()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(strings.TrimSpace(string(dir)), "samples", "jfk.wav"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := wav.NewDecoder(f).FullPCMBuffer()
	if err != nil {
		t.Fatal(err)
	}
	p := make(audio.PCM, len(b.Data))
	for i, s := range b.Data {
		p[i] = int16(s)
	}
	return p
}
