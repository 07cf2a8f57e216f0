//go:build cgo

package whisper

import (
	"context"
	"slices"
	"sync"
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

// common returns an engine of which nothing is set, for tests that leave it as it is. All of them share one, since loading takes its time.
func common(t testing.TB) *Engine {
	t.Helper()
	model := nativetest.File(t, "whisper-tiny.en")
	shared.once.Do(func() {
		e := &Engine{Model: model, Threads: 1}
		if shared.err = e.Open(context.Background()); shared.err == nil {
			shared.engine = e
			atEnd = append(atEnd, e.Close)
		}
	})
	if shared.engine == nil {
		t.Fatalf("the engine that tests share is not open: %v", shared.err)
	}
	return shared.engine
}

var shared struct {
	once   sync.Once
	engine *Engine
	err    error
}

const jfkWords = "and so my fellow americans ask not what your country can do for you ask what you can do for your country"

// jfk returns the 11 s that the bindings bring along.
func jfk(t testing.TB) audio.PCM {
	t.Helper()
	return clip(t, nativetest.Recording(t))
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
