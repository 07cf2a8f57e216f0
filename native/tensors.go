package native

import (
	"fmt"
	"slices"
	"strings"

	"riposte/audio/mel"
)

// whisperTensor says how one tensor of whisper.cpp comes from a variable.
type whisperTensor struct {
	name string
	from string
	dims []int64 // Of the tensor, outermost first.
	part int     // Which of the equal parts that are stacked in the variable.
	of   int     // How many parts; 1 is the whole.
	kind tensorKind
}

// tensorKind says as what a tensor is stored.
type tensorKind int

const (
	kindFloats tensorKind = iota // Float32: biases, norms, positions.
	kindHalves                   // Half precision always: convolutions.
	kindMatrix                   // Half precision, or Q8_0.
	kindZero                     // Not stored: it must be all zero, as the key's bias of every Whisper is.
)

// whisperTensors lists the tensors of a model of shape s in the order in which they are written.
func whisperTensors(s whisperShape) []whisperTensor {
	width := int64(s.width)
	list := []whisperTensor{
		{"encoder.positional_embedding", "encoder/position_encodings/encodings", []int64{int64(s.audioFrames), width}, 0, 1, kindFloats},
		{"encoder.conv1.weight", "encoder/conv1/weight", []int64{width, mel.Bands, 3}, 0, 1, kindHalves},
		{"encoder.conv1.bias", "encoder/conv1/bias", []int64{width, 1}, 0, 1, kindFloats},
		{"encoder.conv2.weight", "encoder/conv2/weight", []int64{width, width, 3}, 0, 1, kindHalves},
		{"encoder.conv2.bias", "encoder/conv2/bias", []int64{width, 1}, 0, 1, kindFloats},
	}
	for i := range s.encoder {
		to, from := fmt.Sprintf("encoder.blocks.%d.", i), fmt.Sprintf("encoder/layer_%d/", i)
		list = append(list, attention(to+"attn", from+"self_attention", width)...)
		list = append(list, feedForward(to, from, width)...)
	}
	list = append(list, norm("encoder.ln_post", "encoder/layer_norm", width)...)
	list = append(list,
		whisperTensor{"decoder.positional_embedding", "decoder/position_encodings/encodings", []int64{int64(s.textTokens), width}, 0, 1, kindFloats},
		whisperTensor{"decoder.token_embedding.weight", "decoder/embeddings/weight", []int64{int64(s.vocabulary), width}, 0, 1, kindMatrix},
	)
	for i := range s.decoder {
		to, from := fmt.Sprintf("decoder.blocks.%d.", i), fmt.Sprintf("decoder/layer_%d/", i)
		list = append(list, attention(to+"attn", from+"self_attention", width)...)
		list = append(list, crossAttention(to+"cross_attn", from+"attention", width)...)
		list = append(list, feedForward(to, from, width)...)
	}
	return append(list, norm("decoder.ln", "decoder/layer_norm", width)...)
}

// attention lists a self attention: query, key and value are stacked in linear_0, linear_1 is the output.
func attention(to, from string, width int64) []whisperTensor {
	list := norm(to+"_ln", from+"/layer_norm", width)
	list = append(list, linear(to+".query", from+"/linear_0", width, width, 0, 3)...)
	list = append(list, key(to+".key", from+"/linear_0", width, 1, 3)...)
	list = append(list, linear(to+".value", from+"/linear_0", width, width, 2, 3)...)
	return append(list, linear(to+".out", from+"/linear_1", width, width, 0, 1)...)
}

// crossAttention lists an attention of the decoder to the encoder: linear_0 is the query, linear_1 has key and value
// stacked, linear_2 is the output.
func crossAttention(to, from string, width int64) []whisperTensor {
	list := norm(to+"_ln", from+"/layer_norm", width)
	list = append(list, linear(to+".query", from+"/linear_0", width, width, 0, 1)...)
	list = append(list, key(to+".key", from+"/linear_1", width, 0, 2)...)
	list = append(list, linear(to+".value", from+"/linear_1", width, width, 1, 2)...)
	return append(list, linear(to+".out", from+"/linear_2", width, width, 0, 1)...)
}

func feedForward(to, from string, width int64) []whisperTensor {
	list := norm(to+"mlp_ln", from+"ffn/layer_norm", width)
	list = append(list, linear(to+"mlp.0", from+"ffn/linear_0", 4*width, width, 0, 1)...)
	return append(list, linear(to+"mlp.2", from+"ffn/linear_1", width, 4*width, 0, 1)...)
}

func norm(to, from string, width int64) []whisperTensor {
	return []whisperTensor{
		{to + ".weight", from + "/gamma", []int64{width}, 0, 1, kindFloats},
		{to + ".bias", from + "/beta", []int64{width}, 0, 1, kindFloats},
	}
}

func linear(to, from string, rows, columns int64, part, of int) []whisperTensor {
	return []whisperTensor{
		{to + ".weight", from + "/weight", []int64{rows, columns}, part, of, kindMatrix},
		{to + ".bias", from + "/bias", []int64{rows}, part, of, kindFloats},
	}
}

// key is a linear layer whose bias is not stored.
func key(to, from string, width int64, part, of int) []whisperTensor {
	list := linear(to, from, width, width, part, of)
	list[1].kind = kindZero
	return list
}

// convert writes t from its variable in m.
func (t whisperTensor) convert(out *ggmlWriter, m *ct2Model, q8 bool) error {
	v, ok := m.vars[t.from]
	if !ok {
		return fmt.Errorf("%w: %q is missing", ErrCT2, t.from)
	}
	if v.typ != ct2F16 {
		return fmt.Errorf("%w: %q is not in half precision", ErrCT2, t.from)
	}
	want := slices.Clone(t.dims)
	if strings.HasPrefix(t.name, "encoder.conv") && t.kind == kindFloats {
		want = want[:1] // whisper.cpp wants [n, 1] where CTranslate2 has [n].
	}
	want[0] *= int64(t.of)
	if !slices.Equal(v.dims, want) {
		return fmt.Errorf("%w: %q has the shape %v, expected %v", ErrCT2, t.from, v.dims, want)
	}
	v.size /= int64(t.of)
	v.at += int64(t.part) * v.size
	data, err := m.read(v)
	if err != nil {
		return err
	}
	switch {
	case t.kind == kindZero:
		if slices.ContainsFunc(halves(data), func(f float32) bool { return f != 0 }) {
			return fmt.Errorf("%w: the key's bias in %q is not zero", ErrCT2, t.from)
		}
	case t.kind == kindFloats:
		out.tensor(t.name, t.dims, ggmlF32, appendFloats(nil, halves(data)))
	case t.kind == kindMatrix && q8:
		out.tensor(t.name, t.dims, ggmlQ8, appendQ8(make([]byte, 0, len(data)/2/q8Block*q8Bytes), halves(data)))
	default:
		out.tensor(t.name, t.dims, ggmlF16, data)
	}
	return out.err
}
