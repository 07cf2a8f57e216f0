package silero

import (
	"context"
	"errors"
	"fmt"

	"riposte/audio"
	"riposte/native/onnx"
)

const (
	// context64 is how many samples of the frame before the network hears again ahead of a frame.
	context64 = 64
	// stateSize is the network's memory: two layers of 128.
	stateSize = 2 * 128
)

// vad scores the frames of one caller. Its tensors are made once and used for every frame.
type vad struct {
	session *onnx.Session
	input   *onnx.Tensor[float32] // [1, context64 + audio.VADFrame]
	state   *onnx.Tensor[float32] // [2, 1, 128], what the call has left behind so far.
	next    *onnx.Tensor[float32] // The state after the frame.
	speech  *onnx.Tensor[float32] // [1, 1]
	rate    onnx.Value
	in, out []onnx.Value
}

var _ audio.VAD = (*vad)(nil)

// New returns a VAD for one caller, to be made at the start of the call: it remembers what it heard. It is not safe for
// use by more than one goroutine at once; different VADs are.
func (e *Engine) New() (audio.VAD, error) {
	if e.session == nil {
		return nil, fmt.Errorf("silero: %w", onnx.ErrClosed)
	}
	v := &vad{session: e.session}
	var errs [5]error
	v.input, errs[0] = onnx.NewTensor(make([]float32, context64+audio.VADFrame), 1, context64+audio.VADFrame)
	v.state, errs[1] = onnx.NewTensor(make([]float32, stateSize), 2, 1, stateSize/2)
	v.next, errs[2] = onnx.NewTensor(make([]float32, stateSize), 2, 1, stateSize/2)
	v.speech, errs[3] = onnx.NewTensor(make([]float32, 1), 1, 1)
	v.rate, errs[4] = onnx.NewScalar[int64](audio.SpeechRate)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("silero: %w", err)
	}
	v.in = []onnx.Value{v.input, v.state, v.rate}
	v.out = []onnx.Value{v.speech, v.next}
	return v, nil
}

// Speech implements audio.VAD. A frame takes about a fifth of a millisecond.
func (v *vad) Speech(frame audio.PCM) (float32, error) {
	if len(frame) != audio.VADFrame {
		return 0, fmt.Errorf("silero: a frame of %d samples, want %d", len(frame), audio.VADFrame)
	}
	in := v.input.Data()
	if in == nil {
		return 0, fmt.Errorf("silero: %w", onnx.ErrClosed)
	}
	frame.AppendFloats(in[:context64])
	if err := v.session.Run(context.Background(), v.in, v.out); err != nil {
		return 0, fmt.Errorf("silero: %w", err)
	}
	copy(v.state.Data(), v.next.Data())
	copy(in, in[audio.VADFrame:])
	return v.speech.Data()[0], nil
}

// Close implements audio.VAD.
func (v *vad) Close() error {
	return errors.Join(v.input.Close(), v.state.Close(), v.next.Close(), v.speech.Close(), v.rate.Close())
}
