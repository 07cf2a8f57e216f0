// Package silero tells speech from everything else with the Silero VAD network (version 5 or 6), behind audio.VAD.
package silero

import (
	"context"
	"errors"
	"fmt"

	"riposte/audio"
	"riposte/native/onnx"
)

// ErrNotSilero reports a model that runs, but not as a Silero VAD does.
var ErrNotSilero = errors.New("silero: the model is not a Silero VAD of version 5 or 6 for 16 kHz")

// Engine is the network, loaded once and shared by all callers. Set Model and Runtime, then call Open.
type Engine struct {
	Model   string        // The path of silero_vad_16k_op15.onnx or its like.
	Runtime *onnx.Runtime // What runs it.

	session *onnx.Session
}

// Open loads the network and tries it on a frame of silence, so that the first caller does not wait.
func (e *Engine) Open(ctx context.Context) error {
	s, err := e.Runtime.Open(e.Model, onnx.Options{
		Threads: 1, // A frame is a fifth of a millisecond of work: a second thread would cost more than it takes over.
		Inputs:  []string{"input", "state", "sr"},
		Outputs: []string{"output", "stateN"},
	})
	if err != nil {
		return fmt.Errorf("silero: %w", err)
	}
	e.session = s
	if err := e.try(ctx); err != nil {
		e.Close()
		return err
	}
	return nil
}

// try runs one frame of silence, in which no network of this kind hears speech.
func (e *Engine) try(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	v, err := e.New()
	if err != nil {
		return err
	}
	defer v.Close()
	p, err := v.Speech(make(audio.PCM, audio.VADFrame))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotSilero, err)
	}
	if !(p >= 0 && p < 0.5) {
		return fmt.Errorf("%w: it scores silence as %v", ErrNotSilero, p)
	}
	return nil
}

// Close frees the network. The VADs made by New fail from then on; each is still closed by its owner.
func (e *Engine) Close() error {
	if e.session == nil {
		return nil
	}
	return e.session.Close()
}
