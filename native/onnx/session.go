//go:build cgo

package onnx

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"

	ort "github.com/yalue/onnxruntime_go"
)

// Session is a graph ready to run. Many goroutines may run it at once.
type Session struct {
	inputs, outputs []string

	mu  sync.RWMutex // Held for reading while a graph runs, so that Close waits for it.
	ort *ort.DynamicAdvancedSession
}

// Open reads the graph in the file at path.
func (r *Runtime) Open(path string, o Options) (*Session, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	s, err := r.OpenBytes(b, o)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, path)
	}
	return s, nil
}

// OpenBytes reads the graph in model, which is no longer needed when it returns.
func (r *Runtime) OpenBytes(model []byte, o Options) (*Session, error) {
	so, err := newOptions(o)
	if err != nil {
		return nil, fmt.Errorf("onnx: set options: %w", err)
	}
	defer so.Destroy()

	in, out, err := names(model, o)
	if err != nil {
		return nil, err
	}
	s, err := ort.NewDynamicAdvancedSessionWithONNXData(model, in, out, so)
	if err != nil {
		return nil, fmt.Errorf("onnx: open graph: %w", err)
	}
	return &Session{inputs: in, outputs: out, ort: s}, nil
}

// Inputs returns the names of what Run takes, in its order. It must not be changed.
func (s *Session) Inputs() []string { return s.inputs }

// Outputs returns the names of what Run fills, in its order. It must not be changed.
func (s *Session) Outputs() []string { return s.outputs }

// Run computes the outputs from the inputs, both in the order of the session's options. Where out holds nil, Run puts
// a new *Tensor[float32] or *Tensor[int64], which the caller closes; where it holds a tensor, its shape has to fit. When
// ctx ends, Run stops after the operator at work and returns the cause of ctx.
func (s *Session) Run(ctx context.Context, in, out []Value) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.ort == nil {
		return ErrClosed
	}
	if len(in) != len(s.inputs) || len(out) != len(s.outputs) {
		return fmt.Errorf("onnx: run with %d inputs and %d outputs, want %d and %d", len(in), len(out), len(s.inputs), len(s.outputs))
	}
	ins, outs := make([]ort.Value, len(in)), make([]ort.Value, len(out))
	for i, v := range in {
		if ins[i] = unwrap(v); ins[i] == nil {
			return fmt.Errorf("onnx: input %d: %w", i, ErrClosed)
		}
	}
	for i, v := range out {
		if v == nil {
			continue
		}
		if outs[i] = unwrap(v); outs[i] == nil {
			return fmt.Errorf("onnx: output %d: %w", i, ErrClosed)
		}
	}
	err := s.run(ctx, ins, outs)
	runtime.KeepAlive(in) // The runtime reads and writes memory that only these tensors hold.
	runtime.KeepAlive(out)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("onnx: run: %w", err)
	}
	return adopt(outs, out)
}

// run calls the runtime and ends the call early when ctx ends.
func (s *Session) run(ctx context.Context, in, out []ort.Value) error {
	if ctx.Done() == nil {
		return s.ort.Run(in, out)
	}
	ro, err := ort.NewRunOptions()
	if err != nil {
		return err
	}
	defer ro.Destroy()
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		ro.Terminate()
	})
	err = s.ort.RunWithOptions(in, out, ro)
	if !stop() {
		<-ended // ro is freed only after the last use.
	}
	return err
}

// Close frees the graph after the calls at work have returned. Closing twice does nothing.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ort == nil {
		return nil
	}
	err := s.ort.Destroy()
	s.ort = nil
	return err
}
