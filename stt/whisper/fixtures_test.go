//go:build cgo

package whisper

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"riposte/audio"
	"riposte/native/nativetest"
	"riposte/stt/wer"
)

// open opens an engine for the test, on the small English model and with one thread if e does not say otherwise: threads
// that wait for each other crawl on a machine that runs other tests.
func open(t testing.TB, e *Engine) *Engine {
	t.Helper()
	if e.Model == "" {
		e.Model = nativetest.File(t, "whisper-tiny.en")
	}
	e.Threads = orDefault(e.Threads, 1)
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

const jfkWords = "and so my fellow americans ask not what your country can do for you ask what you can do for your country"

// jfk returns the 11 s that the bindings bring along.
func jfk(t testing.TB) audio.PCM {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/ggerganov/whisper.cpp/bindings/go").Output()
	if err != nil {
		t.Fatal(err)
	}
	return clip(t, filepath.Join(strings.TrimSpace(string(dir)), "samples", "jfk.wav"))
}

// clip returns the sound of a file at audio.SpeechRate.
func clip(t testing.TB, path string) audio.PCM {
	t.Helper()
	p, rate, err := audio.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if rate != audio.SpeechRate {
		t.Fatalf("%s is at %d Hz, want %d", path, rate, audio.SpeechRate)
	}
	return p
}

// sameWords reports whether the texts hold the same words once they are normalised.
func sameWords(a, b string) bool {
	return slices.Equal(wer.Normalize(a), wer.Normalize(b))
}
