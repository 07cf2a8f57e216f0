// Package smartturn tells from the sound of a caller's last words whether the caller has finished, with the Smart Turn
// network (version 3).
package smartturn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"riposte/audio"
	"riposte/audio/mel"
	"riposte/budget"
	"riposte/native/onnx"
)

// Heard is how much sound the network looks at: the last 8 s.
const Heard = 8 * audio.SpeechRate

// ErrNotSmartTurn reports a model that runs, but not as a Smart Turn network does.
var ErrNotSmartTurn = errors.New("smart turn: the model is not a Smart Turn network of version 3")

// Engine is the network, loaded once and shared by all callers. Set Model and Runtime, then call Open.
type Engine struct {
	Model    string           // The path of smart-turn-v3.2-cpu.onnx or its like.
	Runtime  *onnx.Runtime    // What runs it.
	Executor *budget.Executor // What shares the cores; nil runs at once.

	session *onnx.Session
	makers  sync.Pool // Of *mel.Maker.
}

// Open loads the network and tries it on silence, so that the first caller does not wait.
func (e *Engine) Open(ctx context.Context) error {
	s, err := e.Runtime.Open(e.Model, onnx.Options{Threads: 1, Inputs: []string{"input_features"}})
	if err != nil {
		return fmt.Errorf("smart turn: %w", err)
	}
	e.session = s
	bank := mel.NewBank(mel.Filters())
	e.makers.New = func() any { return mel.NewMaker(bank) }
	if _, err := e.Over(ctx, make(audio.PCM, Heard), budget.Urgency{}); err != nil {
		e.Close()
		return fmt.Errorf("%w: %w", ErrNotSmartTurn, err)
	}
	return nil
}

// Over returns the probability, 0 to 1, that the turn that ends with speech is over. Speech is mono at audio.SpeechRate and
// ends a short while, 100 to 300 ms, after its last voiced sample; of longer speech the last 8 s count. It takes one core for
// some 40 ms; work that is late or preempted is reported as the executor does.
func (e *Engine) Over(ctx context.Context, speech audio.PCM, u budget.Urgency) (float32, error) {
	if e.session == nil {
		return 0, fmt.Errorf("smart turn: %w", onnx.ErrClosed)
	}
	var over float32
	err := e.Executor.Run(ctx, budget.Job{Urgency: u, Kind: "turn"}, func(ctx context.Context, _ int) error {
		p, err := e.run(ctx, speech)
		over = p
		return err
	})
	return over, err
}

func (e *Engine) run(ctx context.Context, speech audio.PCM) (float32, error) {
	m := e.makers.Get().(*mel.Maker)
	defer e.makers.Put(m)
	in, err := onnx.NewTensor(m.Spectrogram(window(speech)), 1, mel.Bands, Heard/mel.Hop)
	if err != nil {
		return 0, fmt.Errorf("smart turn: %w", err)
	}
	defer in.Close()
	out := make([]onnx.Value, 1)
	if err := e.session.Run(ctx, []onnx.Value{in}, out); err != nil {
		return 0, fmt.Errorf("smart turn: %w", err)
	}
	defer out[0].Close()
	t, ok := out[0].(*onnx.Tensor[float32])
	if !ok || len(t.Data()) != 1 {
		return 0, fmt.Errorf("smart turn: the network's result is not one number")
	}
	if p := t.Data()[0]; p >= 0 && p <= 1 {
		return p, nil
	}
	return 0, fmt.Errorf("smart turn: %v is not a probability", t.Data()[0])
}

// window returns the last 8 s of speech, with silence before it where it is shorter, brought to a mean of 0 and a variance
// of 1 as the network was trained with it.
func window(speech audio.PCM) []float32 {
	if over := len(speech) - Heard; over > 0 {
		speech = speech[over:]
	}
	w := speech.AppendFloats(make([]float32, Heard-len(speech), Heard))
	var sum, squares float64
	for _, x := range w {
		sum += float64(x)
	}
	mean := sum / Heard
	for _, x := range w {
		squares += (float64(x) - mean) * (float64(x) - mean)
	}
	scale := 1 / math.Sqrt(squares/Heard+1e-7)
	for i, x := range w {
		w[i] = float32((float64(x) - mean) * scale)
	}
	return w
}

// Close frees the network.
func (e *Engine) Close() error {
	if e.session == nil {
		return nil
	}
	return e.session.Close()
}
