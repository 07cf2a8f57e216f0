package piper

import (
	"fmt"

	"riposte/native/onnx"
)

// frames are features over time: rows of the same length, one column a frame.
type frames struct {
	data []float32 // Row by row.
	rows int
	n    int // Frames.
}

// framesOf takes the features out of a tensor [1, rows, n], whose memory it shares.
func framesOf(v onnx.Value) (frames, error) {
	t, ok := v.(*onnx.Tensor[float32])
	if !ok {
		return frames{}, fmt.Errorf("piper: %T where features of float32 were due", v)
	}
	s := t.Shape()
	if len(s) != 3 || s[0] != 1 || s[1] < 1 || s[2] < 1 {
		return frames{}, fmt.Errorf("piper: features of shape %v, want [1, rows, frames]", s)
	}
	return frames{t.Data(), int(s[1]), int(s[2])}, nil
}

// window copies the frames from and before to.
func (f frames) window(from, to int) frames {
	w := frames{make([]float32, 0, f.rows*(to-from)), f.rows, to - from}
	for r := range f.rows {
		w.data = append(w.data, f.data[r*f.n+from:r*f.n+to]...)
	}
	return w
}

// put copies src's frames from and before to into f, at the frame at.
func (f frames) put(at int, src frames, from, to int) {
	for r := range f.rows {
		copy(f.data[r*f.n+at:(r+1)*f.n], src.data[r*src.n+from:r*src.n+to])
	}
}

// tensor returns the frames as the network takes them. The caller closes it.
func (f frames) tensor() (onnx.Value, error) {
	return onnx.NewTensor(f.data, 1, int64(f.rows), int64(f.n))
}
