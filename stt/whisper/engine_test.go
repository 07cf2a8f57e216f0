//go:build cgo

package whisper

import (
	"context"
	"errors"
	"testing"
	"time"

	"riposte/stt"
)

func TestJFK(t *testing.T) {
	e := open(t, Engine{Language: "en"})
	speech := jfk(t)
	for range 3 {
		start := time.Now()
		got, err := e.Transcribe(t.Context(), speech, stt.Options{})
		t.Log(got, err, time.Since(start))
	}
}
func TestCancel(t *testing.T) {
	e := open(t, Engine{Language: "en"})
	speech := jfk(t)
	for _, d := range []time.Duration{5, 20, 50, 100, 150, 200} {
		cause := errors.New("hung up")
		ctx, cancel := context.WithCancelCause(t.Context())
		var at time.Time
		time.AfterFunc(d*time.Millisecond, func() { at = time.Now(); cancel(cause) })
		_, err := e.Transcribe(ctx, speech, stt.Options{})
		took := time.Since(at)
		got, _ := e.Transcribe(t.Context(), speech[:8000], stt.Options{})
		t.Log(err, took, "next queued", got.Queued)
	}
}
