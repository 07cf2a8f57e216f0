package smartturn

import (
	"context"
	"errors"
	"math"
	"testing"

	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/budget"
	"riposte/native/nativetest"
	"riposte/native/onnx"
	"riposte/native/onnx/onnxtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open loads the real network, or skips where it is not on this machine.
func open(t testing.TB) *Engine {
	t.Helper()
	rt := onnxtest.Runtime(t)
	e := &Engine{Model: nativetest.File(t, "smart-turn-v3.2"), Runtime: rt, Executor: &budget.Executor{Cores: 1}}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// Kennedy pauses for effect in the middle of his sentences, and comes to an end.
func TestOver(t *testing.T) {
	e := open(t)
	pcm, rate, err := audio.ReadFile(nativetest.Recording(t))
	if err != nil || rate != audio.SpeechRate {
		t.Fatal(rate, err)
	}
	for _, test := range []struct {
		until float64 // Seconds.
		over  bool
	}{
		{4.62, false}, // "… ask not"
		{7.85, false}, // "… ask not what your country can do for you"
		{11, true},
	} {
		p, err := e.Over(t.Context(), pcm[:int(test.until*audio.SpeechRate)], budget.Urgency{})
		if err != nil {
			t.Fatal(err)
		}
		if p > 0.5 != test.over {
			t.Errorf("after %v s the turn is over with a probability of %v", test.until, p)
		}
	}
}

func TestOverStops(t *testing.T) {
	e := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Over(ctx, nil, budget.Urgency{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := e.Over(t.Context(), nil, budget.Urgency{}); err != nil {
		t.Errorf("no sound at all: %v", err)
	}
	e.Close()
	if _, err := e.Over(t.Context(), nil, budget.Urgency{}); !errors.Is(err, onnx.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	good := open(t)
	e := &Engine{Model: nativetest.File(t, "silero-vad"), Runtime: good.Runtime}
	if err := e.Open(t.Context()); err == nil {
		e.Close()
		t.Error("another network was taken for a Smart Turn")
	}
}

func TestWindow(t *testing.T) {
	speech := make(audio.PCM, Heard/2)
	for i := range speech {
		speech[i] = int16(1000 + 500*math.Sin(float64(i)))
	}
	w := window(speech)
	if len(w) != Heard {
		t.Fatalf("%d samples, want %d", len(w), Heard)
	}
	var sum, squares float64
	for _, x := range w {
		sum, squares = sum+float64(x), squares+float64(x)*float64(x)
	}
	if mean, variance := sum/Heard, squares/Heard; math.Abs(mean) > 1e-4 || math.Abs(variance-1) > 1e-3 {
		t.Errorf("mean %v, variance %v", mean, variance)
	}
	if w[0] != w[Heard/2-1] || w[0] >= w[Heard/2] {
		t.Errorf("the silence is not at the beginning: %v, %v, %v", w[0], w[Heard/2-1], w[Heard/2])
	}
	long := window(append(make(audio.PCM, Heard), speech...)) // what came earlier does not count
	for i := range w {
		if w[i] != long[i] {
			t.Fatalf("sample %d differs", i)
		}
	}
}
