package piper

import (
	"slices"

	"riposte/native/onnx"
)

// ends returns the frame behind each of the ids, of what the text part made. It returns nil for a voice that does not know.
//
// A VITS decides how many frames each phoneme gets before it makes any, and makes exactly these.
func (n *network) ends(r request, made []onnx.Value) []int {
	if !n.timed || len(made) == 0 {
		return nil
	}
	t, ok := made[len(made)-1].(*onnx.Tensor[float32])
	if !ok || len(t.Data()) != len(r.ids) || len(r.ids) == 0 {
		return nil
	}
	ends := make([]int, len(r.ids))
	at := 0
	for i, frames := range t.Data() {
		if !(frames >= 0 && frames < 1<<20) {
			return nil
		}
		at += int(frames)
		ends[i] = at
	}
	return ends
}

// inSamples returns places in frames as places in samples.
func inSamples(frames []int, hop int) []int {
	samples := slices.Clone(frames)
	for i := range samples {
		samples[i] *= hop
	}
	return samples
}

// tell says where the phonemes end, where anyone wants to know and it is known.
func (r request) tell(behind []int) {
	if r.timed != nil && behind != nil {
		r.timed(behind)
	}
}
