package piper

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"riposte/native/onnx/onnxtest"
)

// tinyHop is how many samples the tiny voice makes of a frame.
const tinyHop = 4

// tiny is a voice of many speakers in the shape of a VITS, small enough to be read: a frame for every id, a prior of two
// rows with noise, a flow that looks two frames to each side, and a decoder that looks three to each side and upsamples.
// No name in it is Piper's, but for what goes in.
func tiny() onnxtest.Model {
	ramp := func(n int) []float32 {
		w := make([]float32, n)
		for i := range w {
			w[i] = float32((i*7)%11-5) / 20
		}
		return w
	}
	return onnxtest.Model{
		Nodes: []onnxtest.Node{
			{Op: "Cast", In: []string{"input"}, Out: []string{"x"}, Attributes: []onnxtest.Attribute{onnxtest.Int("to", onnxtest.Float)}},
			{Op: "Unsqueeze", In: []string{"x", "axis1"}, Out: []string{"row"}},
			{Op: "Conv", In: []string{"row", "w.mean"}, Out: []string{"mean"}},
			{Op: "Equal", In: []string{"row", "row"}, Out: []string{"here"}},
			{Op: "Cast", In: []string{"here"}, Out: []string{"mask"}, Attributes: []onnxtest.Attribute{onnxtest.Int("to", onnxtest.Float)}},
			{Op: "RandomNormalLike", In: []string{"mean"}, Out: []string{"noise"}},
			{Op: "Gather", In: []string{"scales", "index0"}, Out: []string{"loudness"}},
			{Op: "Mul", In: []string{"noise", "loudness"}, Out: []string{"softer"}},
			{Op: "Add", In: []string{"mean", "softer"}, Out: []string{"prior"}},
			{Op: "Conv", In: []string{"prior", "w.flow"}, Out: []string{"flowing"}, Attributes: []onnxtest.Attribute{onnxtest.Ints("pads", 2, 2)}},
			{Op: "Mul", In: []string{"flowing", "mask"}, Out: []string{"latent"}},
			{Op: "Conv", In: []string{"latent", "w.pre"}, Out: []string{"pre"}, Attributes: []onnxtest.Attribute{onnxtest.Ints("pads", 1, 1)}},
			{Op: "Gather", In: []string{"speakers", "sid"}, Out: []string{"who"}},
			{Op: "Unsqueeze", In: []string{"who", "axis2"}, Out: []string{"voice"}},
			{Op: "Add", In: []string{"pre", "voice"}, Out: []string{"voiced"}},
			{Op: "LeakyRelu", In: []string{"voiced"}, Out: []string{"active"}},
			{Op: "ConvTranspose", In: []string{"active", "w.up"}, Out: []string{"up"}, Attributes: []onnxtest.Attribute{
				onnxtest.Ints("strides", tinyHop), onnxtest.Ints("pads", 2, 2),
			}},
			{Op: "Tanh", In: []string{"up"}, Out: []string{"sound"}},
		},
		Weights: []onnxtest.Weight{
			{Name: "axis1", Shape: []int64{1}, Ints: []int64{1}},
			{Name: "axis2", Shape: []int64{1}, Ints: []int64{2}},
			{Name: "index0", Shape: []int64{1}, Ints: []int64{0}},
			{Name: "w.mean", Shape: []int64{2, 1, 1}, Floats: []float32{0.1, -0.07}},
			{Name: "w.flow", Shape: []int64{2, 2, 5}, Floats: ramp(20)},
			{Name: "w.pre", Shape: []int64{3, 2, 3}, Floats: ramp(18)},
			{Name: "w.up", Shape: []int64{3, 1, 2 * tinyHop}, Floats: ramp(24)},
			{Name: "speakers", Shape: []int64{2, 3}, Floats: []float32{0, 0, 0, 0.4, -0.4, 0.2}},
		},
		Inputs: []onnxtest.Port{
			{Name: "input", Type: onnxtest.Int64}, {Name: "input_lengths", Type: onnxtest.Int64}, {Name: "scales", Type: onnxtest.Float}, {Name: "sid", Type: onnxtest.Int64},
		},
		Outputs: []onnxtest.Port{{Name: "sound", Type: onnxtest.Float}},
	}
}

// seeing is tiny with a decoder that looks so many frames to each side.
func seeing(reach int64) onnxtest.Model {
	m := tiny()
	for i := range m.Nodes {
		if m.Nodes[i].Out[0] == "pre" {
			m.Nodes[i].Attributes = []onnxtest.Attribute{onnxtest.Ints("pads", reach, reach)}
		}
	}
	for i := range m.Weights {
		if w := &m.Weights[i]; w.Name == "w.pre" {
			w.Shape = []int64{3, 2, 2*reach + 1}
			w.Floats = make([]float32, 3*2*(2*reach+1))
			for j := range w.Floats {
				w.Floats[j] = 0.05
			}
		}
	}
	return m
}

// timed is tiny with a rounding that decides the frames of each phoneme: one.
func timed() onnxtest.Model {
	m := tiny()
	var nodes []onnxtest.Node
	for _, n := range m.Nodes {
		if n.Out[0] == "noise" {
			nodes = append(nodes, onnxtest.Node{Op: "Ceil", In: []string{"mask"}, Out: []string{"counts"}}, onnxtest.Node{Op: "Mul", In: []string{"mean", "counts"}, Out: []string{"means"}})
		}
		for i, in := range n.In {
			if in == "mean" {
				n.In[i] = "means"
			}
		}
		nodes = append(nodes, n)
	}
	m.Nodes = nodes
	return m
}

// withoutUpsampling is tiny with a decoder that no cut is found for.
func withoutUpsampling() onnxtest.Model {
	m := tiny()
	for i := range m.Nodes {
		if m.Nodes[i].Op == "ConvTranspose" {
			m.Nodes[i] = onnxtest.Node{Op: "Conv", In: []string{"active", "w.out"}, Out: []string{"up"}}
		}
	}
	m.Weights = append(m.Weights, onnxtest.Weight{Name: "w.out", Shape: []int64{1, 3, 1}, Floats: []float32{0.3, 0.2, 0.1}})
	return m
}

// tinyJSON describes the tiny voice.
func tinyJSON() map[string]any {
	ids := map[string][]int64{bos: {1}, pad: {0}, eos: {2}}
	for i, r := range " abcdefghijklmnopqrstuvwxyzæðŋɐɑɔəɚɛɜɡɪɹʃʊʌʒˈˌːθ,.?!;:" {
		ids[string(r)] = []int64{int64(3 + i%40)}
	}
	return map[string]any{
		"audio":          map[string]any{"sample_rate": 8000},
		"espeak":         map[string]any{"voice": "en-us"},
		"inference":      map[string]any{"noise_scale": 0.5, "length_scale": 1.2, "noise_w": 0.3},
		"phoneme_id_map": ids, "num_speakers": 2, "speaker_id_map": map[string]int{"ann": 0, "bob": 1},
	}
}

// writeVoice writes a voice's two files and returns the path of its model.
func writeVoice(t testing.TB, model []byte, description any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "voice.onnx")
	if err := os.WriteFile(path, model, 0o600); err != nil {
		t.Fatal(err)
	}
	if description == nil {
		return path
	}
	b, err := json.Marshal(description)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".json", b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
