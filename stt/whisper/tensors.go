package whisper

import (
	"fmt"
	"io"
)

// layout is how ggml stores a type of number: so many of them in so many bytes.
type layout struct{ numbers, bytes int64 }

// layouts are ggml's types by number, those that occur in Whisper models.
var layouts = map[int32]layout{
	0: {1, 4}, 1: {1, 2}, // f32, f16
	2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, // q4_0, q4_1, q5_0, q5_1, q8_0
	10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, // q2_k to q6_k
}

// checkTensors walks over the tensors, which fill the rest of the file.
func (h header) checkTensors(f *cursor) error {
	want := h.tensors()
	for f.at < f.size {
		dims, length, kind := f.int32(), f.length(1<<8), f.int32()
		if f.err == nil && (dims < 1 || dims > 3) {
			return fmt.Errorf("a tensor of %d dimensions", dims)
		}
		got := tensor{kind: kind, shape: [3]int32{1, 1, 1}}
		for i := range dims {
			got.shape[i] = f.int32()
		}
		name := f.text(length)
		if f.err != nil {
			return f.err
		}
		if w, ok := want[name]; !ok || w != got {
			return fmt.Errorf("tensor %q is %v, want %v", name, got, w)
		}
		delete(want, name)
		l := layouts[kind]
		numbers := int64(got.shape[0]) * int64(got.shape[1]) * int64(got.shape[2])
		if int64(got.shape[0])%l.numbers != 0 {
			return fmt.Errorf("tensor %q: rows of %d do not divide by %d", name, got.shape[0], l.numbers)
		}
		f.skip(numbers / l.numbers * l.bytes)
	}
	if f.err == nil && len(want) > 0 {
		return io.ErrUnexpectedEOF
	}
	return f.err
}

// tensor is what a file says of one before its numbers; the dimension that varies fastest comes first.
type tensor struct {
	kind  int32
	shape [3]int32
}

func (t tensor) String() string {
	return fmt.Sprintf("type %d of %v", t.kind, t.shape)
}

// tensors returns all that a model with this header must hold.
func (h header) tensors() map[string]tensor {
	const f32, f16 = 0, 1
	matrix, _ := h.matrix()
	conv := int32(f16)
	if matrix == f32 {
		conv = f32
	}
	n := h.AudioState
	all := map[string]tensor{
		"encoder.positional_embedding":   {f32, [3]int32{n, h.AudioCtx, 1}},
		"encoder.conv1.weight":           {conv, [3]int32{3, h.Mels, n}},
		"encoder.conv1.bias":             {f32, [3]int32{1, n, 1}},
		"encoder.conv2.weight":           {conv, [3]int32{3, n, n}},
		"encoder.conv2.bias":             {f32, [3]int32{1, n, 1}},
		"decoder.positional_embedding":   {f32, [3]int32{n, h.TextCtx, 1}},
		"decoder.token_embedding.weight": {matrix, [3]int32{n, h.Vocab, 1}},
	}
	layer := func(name string, in, out int32, bias bool) {
		all[name+".weight"] = tensor{matrix, [3]int32{in, out, 1}}
		if bias {
			all[name+".bias"] = tensor{f32, [3]int32{out, 1, 1}}
		}
	}
	norm := func(name string) {
		all[name+".weight"] = tensor{f32, [3]int32{n, 1, 1}}
		all[name+".bias"] = tensor{f32, [3]int32{n, 1, 1}}
	}
	attention := func(name string) {
		norm(name + "_ln")
		layer(name+".query", n, n, true)
		layer(name+".key", n, n, false)
		layer(name+".value", n, n, true)
		layer(name+".out", n, n, true)
	}
	block := func(name string) {
		attention(name + ".attn")
		norm(name + ".mlp_ln")
		layer(name+".mlp.0", n, 4*n, true)
		layer(name+".mlp.2", 4*n, n, true)
	}
	norm("encoder.ln_post")
	norm("decoder.ln")
	for i := range h.AudioLayer {
		block(fmt.Sprintf("encoder.blocks.%d", i))
	}
	for i := range h.TextLayer {
		block(fmt.Sprintf("decoder.blocks.%d", i))
		attention(fmt.Sprintf("decoder.blocks.%d.cross_attn", i))
	}
	return all
}
