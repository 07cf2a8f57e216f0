//go:build cgo

package onnx_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"riposte/native/nativetest"
	"riposte/native/onnx"
	"riposte/native/onnx/onnxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start loads the runtime, or skips where it is not on this machine.
func start(t testing.TB) *onnx.Runtime {
	t.Helper()
	rt, err := onnx.Start(nativetest.ONNXRuntime(t))
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

func open(t testing.TB, m onnxtest.Model, o onnx.Options) *onnx.Session {
	t.Helper()
	s, err := start(t).OpenBytes(m.Bytes(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func tensor(t testing.TB, x ...float32) *onnx.Tensor[float32] {
	t.Helper()
	v, err := onnx.NewTensor(x, int64(len(x)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

// simple is chain without its branches.
func simple() onnxtest.Model {
	m := chain()
	m.Nodes, m.Inputs, m.Outputs = m.Nodes[:2], m.Inputs[:1], m.Outputs[:1]
	return m
}

func TestRunFillsAndMakesOutputs(t *testing.T) {
	s := open(t, simple(), onnx.Options{})
	in, given := tensor(t, 1, 2, 3), tensor(t, 0, 0, 0)
	made := []onnx.Value{nil}
	if err := s.Run(t.Context(), []onnx.Value{in}, made); err != nil {
		t.Fatal(err)
	}
	defer made[0].Close()
	if err := s.Run(context.Background(), []onnx.Value{in}, []onnx.Value{given}); err != nil {
		t.Fatal(err)
	}
	want := []float32{4, 6, 8}
	if diff := cmp.Diff(want, made[0].(*onnx.Tensor[float32]).Data()); diff != "" {
		t.Errorf("made: %s", diff)
	}
	if diff := cmp.Diff(want, given.Data()); diff != "" {
		t.Errorf("given: %s", diff)
	}
	if diff := cmp.Diff([]int64{3}, made[0].Shape()); diff != "" {
		t.Errorf("shape: %s", diff)
	}
}

func TestPartsGiveWhatTheWholeGives(t *testing.T) {
	g := parse(t, simple().Bytes())
	x := onnx.Value(tensor(t, 5, 6))
	for _, part := range []struct{ from, to []string }{{nil, []string{"sum"}}, {[]string{"sum"}, []string{"y"}}} {
		model, _, err := g.Extract(part.from, part.to)
		if err != nil {
			t.Fatal(err)
		}
		s, err := start(t).OpenBytes(model, onnx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		out := []onnx.Value{nil}
		if err := s.Run(t.Context(), []onnx.Value{x}, out); err != nil {
			t.Fatal(err)
		}
		defer out[0].Close()
		x = out[0]
	}
	if diff := cmp.Diff([]float32{12, 14}, x.(*onnx.Tensor[float32]).Data()); diff != "" {
		t.Error(diff)
	}
}

func TestMisuseIsAnErrorNotACrash(t *testing.T) {
	s := open(t, simple(), onnx.Options{})
	in, out := tensor(t, 1), tensor(t, 0)
	closed := tensor(t, 1)
	closed.Close()
	ended, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("the caller hung up")
	cancel(reason)

	for _, tt := range []struct {
		name    string
		ctx     context.Context
		in, out []onnx.Value
		want    error
	}{
		{"too few inputs", t.Context(), nil, []onnx.Value{out}, nil},
		{"too many outputs", t.Context(), []onnx.Value{in}, []onnx.Value{out, nil}, nil},
		{"no input", t.Context(), []onnx.Value{nil}, []onnx.Value{out}, onnx.ErrClosed},
		{"a closed input", t.Context(), []onnx.Value{closed}, []onnx.Value{out}, onnx.ErrClosed},
		{"a closed output", t.Context(), []onnx.Value{in}, []onnx.Value{closed}, onnx.ErrClosed},
		{"an output of another shape", t.Context(), []onnx.Value{in}, []onnx.Value{tensor(t, 0, 0)}, nil},
		{"an ended context", ended, []onnx.Value{in}, []onnx.Value{out}, reason},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := s.Run(tt.ctx, tt.in, tt.out)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}

	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if err := s.Run(t.Context(), []onnx.Value{in}, []onnx.Value{out}); !errors.Is(err, onnx.ErrClosed) {
		t.Errorf("after Close: %v, want %v", err, onnx.ErrClosed)
	}
	if _, err := onnx.NewTensor([]float32{1}, 2); err == nil {
		t.Error("a tensor of two numbers was made of one")
	}
}

func TestOpenNamesWhatIsWrong(t *testing.T) {
	rt := start(t)
	if _, err := rt.OpenBytes([]byte("not a model"), onnx.Options{}); !errors.Is(err, onnx.ErrMalformed) {
		t.Errorf("text: %v, want %v", err, onnx.ErrMalformed)
	}
	if _, err := rt.Open(filepath.Join(t.TempDir(), "none.onnx"), onnx.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v, want %v", err, os.ErrNotExist)
	}
	if _, err := rt.OpenBytes(simple().Bytes(), onnx.Options{Inputs: []string{"w"}}); err == nil {
		t.Error("an input that the graph lacks was accepted")
	}
	if _, err := rt.OpenBytes(simple().Bytes(), onnx.Options{Outputs: []string{"w"}}); err == nil {
		t.Error("an output that the graph lacks was accepted")
	}
	if _, err := onnx.Start("/nowhere/libonnxruntime.so"); !errors.Is(err, onnx.ErrOtherLibrary) {
		t.Errorf("a second library: %v, want %v", err, onnx.ErrOtherLibrary)
	}
	if again, err := onnx.Start(rt.String()); err != nil || again.Version() != rt.Version() {
		t.Errorf("the same library again: %v", err)
	}
}

// endless is a loop of n steps, each quick: what a run is like that should end early.
func endless() onnxtest.Model {
	return onnxtest.Model{
		Nodes: []onnxtest.Node{{Op: "Loop", In: []string{"n", "", "x"}, Out: []string{"y"}, Attributes: []onnxtest.Attribute{
			onnxtest.Body("body", onnxtest.Model{
				Nodes: []onnxtest.Node{
					{Op: "Identity", In: []string{"go"}, Out: []string{"on"}},
					{Op: "Add", In: []string{"a", "one"}, Out: []string{"b"}},
				},
				Inputs:  []onnxtest.Port{{Name: "i", Type: onnxtest.Int64, Scalar: true}, {Name: "go", Type: onnxtest.Bool, Scalar: true}, {Name: "a", Type: onnxtest.Float}},
				Outputs: []onnxtest.Port{{Name: "on", Type: onnxtest.Bool, Scalar: true}, {Name: "b", Type: onnxtest.Float}},
			}),
		}}},
		Weights: []onnxtest.Weight{{Name: "one", Shape: []int64{1}, Floats: []float32{1}}},
		Inputs:  []onnxtest.Port{{Name: "n", Type: onnxtest.Int64}, {Name: "x", Type: onnxtest.Float}},
		Outputs: []onnxtest.Port{{Name: "y", Type: onnxtest.Float}},
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	s := open(t, endless(), onnx.Options{})
	n, err := onnx.NewTensor([]int64{1 << 40}, 1) // Days of work.
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	reason := errors.New("barge-in")
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Duration(i)*10*time.Millisecond, func() { cancel(reason) })
			x, err := onnx.NewTensor([]float32{0}, 1)
			if err != nil {
				t.Error(err)
				return
			}
			defer x.Close()
			if err := s.Run(ctx, []onnx.Value{n, x}, []onnx.Value{nil}); !errors.Is(err, reason) {
				t.Errorf("%v, want %v", err, reason)
			}
		})
	}
	wg.Wait()
}

func TestCloseWaitsForRuns(t *testing.T) {
	s := open(t, endless(), onnx.Options{})
	n, err := onnx.NewTensor([]int64{200_000}, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	begun, done := make(chan struct{}), make(chan error, 1)
	go func() {
		x, err := onnx.NewTensor([]float32{0}, 1)
		if err != nil {
			close(begun)
			done <- err
			return
		}
		defer x.Close()
		out := []onnx.Value{nil}
		close(begun)
		err = s.Run(context.Background(), []onnx.Value{n, x}, out)
		if err == nil {
			err = out[0].Close()
		}
		done <- err
	}()
	<-begun
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil && !errors.Is(err, onnx.ErrClosed) {
		t.Errorf("the run beside Close: %v", err)
	}
}
