//go:build !cgo

package whisper

import (
	"errors"
	"testing"

	"riposte/stt"
)

func TestUnavailable(t *testing.T) {
	e := &Engine{Model: "any.bin"}
	if err := e.Open(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("open: error %v", err)
	}
	if _, err := stt.Transcribe(t.Context(), e, nil, stt.Options{}); !errors.Is(err, ErrClosed) {
		t.Errorf("transcribe: error %v", err)
	}
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
