package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"riposte/audio/mel"
)

// ct2File writes CTranslate2 files for tests.
type ct2File struct {
	names []string
	vars  map[string]ct2Values
}

type ct2Values struct {
	dims []int
	typ  ct2Type
	data []byte
}

func (f *ct2File) add(name string, typ ct2Type, data []byte, dims ...int) {
	f.names = append(f.names, name)
	f.vars[name] = ct2Values{dims, typ, data}
}

// weights adds half precision numbers that tell where they are: each variable starts elsewhere and counts in eighths.
func (f *ct2File) weights(name string, dims ...int) {
	n := 1
	for _, d := range dims {
		n *= d
	}
	var data []byte
	for i := range n {
		data = binary.LittleEndian.AppendUint16(data, floatToHalf(weight(name, i)))
	}
	f.add(name, ct2F16, data, dims...)
}

func weight(name string, i int) float32 {
	return float32((len(name)*37+i*i+3*i)%509)/8 - 32
}

func (f *ct2File) bytes() []byte {
	text := func(b []byte, s string) []byte {
		return append(binary.LittleEndian.AppendUint16(b, uint16(len(s)+1)), s+"\x00"...)
	}
	b := binary.LittleEndian.AppendUint32(nil, ct2Version)
	b = text(b, "WhisperSpec")
	b = binary.LittleEndian.AppendUint32(b, 3)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.names)))
	for _, name := range f.names {
		v := f.vars[name]
		b = text(b, name)
		b = append(b, byte(len(v.dims)))
		for _, d := range v.dims {
			b = binary.LittleEndian.AppendUint32(b, uint32(d))
		}
		b = append(b, byte(v.typ))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(v.data)))
		b = append(b, v.data...)
	}
	b = binary.LittleEndian.AppendUint32(b, 1)
	b = text(b, "decoder/projection/weight")
	return text(b, "decoder/embeddings/weight")
}

// Sizes of the made-up Whisper: the smallest that has all parts.
const (
	tinyWidth = 64
	tinyVocab = whisperSpecials + 3
	tinyAudio = 4
	tinyText  = 2
)

func tinyWhisper() *ct2File {
	f := &ct2File{vars: make(map[string]ct2Values)}
	norm := func(name string) {
		f.weights(name+"/gamma", tinyWidth)
		f.weights(name+"/beta", tinyWidth)
	}
	linear := func(name string, rows, columns int) {
		f.weights(name+"/weight", rows, columns)
		f.weights(name+"/bias", rows)
	}
	zeroKey := func(name string, from int) {
		clear(f.vars[name+"/bias"].data[2*from : 2*(from+tinyWidth)])
	}
	f.add("decoder/activation", ct2I8, []byte{3})
	f.weights("decoder/embeddings/weight", tinyVocab, tinyWidth)
	for _, side := range []string{"encoder", "decoder"} {
		layer := side + "/layer_0/"
		norm(layer + "self_attention/layer_norm")
		linear(layer+"self_attention/linear_0", 3*tinyWidth, tinyWidth)
		zeroKey(layer+"self_attention/linear_0", tinyWidth)
		linear(layer+"self_attention/linear_1", tinyWidth, tinyWidth)
		norm(layer + "ffn/layer_norm")
		linear(layer+"ffn/linear_0", 4*tinyWidth, tinyWidth)
		linear(layer+"ffn/linear_1", tinyWidth, 4*tinyWidth)
		norm(side + "/layer_norm")
		f.add(side+"/num_heads", ct2I16, []byte{tinyWidth / 64, 0})
	}
	norm("decoder/layer_0/attention/layer_norm")
	linear("decoder/layer_0/attention/linear_0", tinyWidth, tinyWidth)
	linear("decoder/layer_0/attention/linear_1", 2*tinyWidth, tinyWidth)
	zeroKey("decoder/layer_0/attention/linear_1", 0)
	linear("decoder/layer_0/attention/linear_2", tinyWidth, tinyWidth)
	f.weights("encoder/conv1/weight", tinyWidth, mel.Bands, 3)
	f.weights("encoder/conv1/bias", tinyWidth)
	f.weights("encoder/conv2/weight", tinyWidth, tinyWidth, 3)
	f.weights("encoder/conv2/bias", tinyWidth)
	f.weights("encoder/position_encodings/encodings", tinyAudio, tinyWidth)
	f.weights("decoder/position_encodings/encodings", tinyText, tinyWidth)
	return f
}

// ggmlFile is a whisper.cpp model file as read by whisper.cpp.
type ggmlFile struct {
	head    [12]int32
	mel     []float32
	tokens  []string
	tensors map[string]ggmlTensor
	order   []string
}

type ggmlTensor struct {
	dims []int32 // Innermost first.
	typ  int32
	data []byte
}

func readGGML(t *testing.T, b []byte) ggmlFile {
	t.Helper()
	r := bytes.NewReader(b)
	read := func(v any) {
		t.Helper()
		if err := binary.Read(r, binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
	}
	f := ggmlFile{tensors: make(map[string]ggmlTensor)}
	read(&f.head)
	var mel [2]int32
	read(&mel)
	f.mel = make([]float32, mel[0]*mel[1])
	read(f.mel)
	var n int32
	read(&n)
	for range n {
		var length int32
		read(&length)
		word := make([]byte, length)
		read(word)
		f.tokens = append(f.tokens, string(word))
	}
	for r.Len() > 0 {
		var head [3]int32
		read(&head)
		tensor := ggmlTensor{dims: make([]int32, head[0]), typ: head[2]}
		read(tensor.dims)
		name := make([]byte, head[1])
		read(name)
		elements := 1
		for _, d := range tensor.dims {
			elements *= int(d)
		}
		tensor.data = make([]byte, map[int32]int{ggmlF32: elements * 4, ggmlF16: elements * 2, ggmlQ8: elements / q8Block * q8Bytes}[tensor.typ])
		read(tensor.data)
		f.tensors[string(name)] = tensor
		f.order = append(f.order, string(name))
	}
	return f
}

func convertTiny(f *ct2File, tokens []string, q8 bool) ([]byte, error) {
	b := f.bytes()
	m, err := openCT2(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = convertWhisper(context.Background(), &out, m, tokens, q8, func(int, int) {})
	return out.Bytes(), err
}

func TestConvertWhisper(t *testing.T) {
	tokens := []string{"a", "", "\xff "}
	b, err := convertTiny(tinyWhisper(), tokens, false)
	if err != nil {
		t.Fatal(err)
	}
	got := readGGML(t, b)
	wantHead := [12]int32{ggmlMagic, tinyVocab, tinyAudio, tinyWidth, 1, 1, tinyText, tinyWidth, 1, 1, 80, 1}
	if got.head != wantHead {
		t.Errorf("head = %v, want %v", got.head, wantHead)
	}
	if !slices.Equal(got.tokens, tokens) {
		t.Errorf("tokens = %q, want %q", got.tokens, tokens)
	}
	if !slices.Equal(got.mel, mel.Filters()) {
		t.Error("the mel filters are others")
	}
	// whisper.cpp wants 10 + 15 tensors around the layers, less those that are counted twice there: 5 + 2 of the encoder,
	// 2 + 2 of the decoder; 15 for a layer of the encoder, 24 for one of the decoder.
	if want := 7 + 4 + 15 + 24; len(got.order) != want {
		t.Errorf("%d tensors, want %d", len(got.order), want)
	}
	for _, c := range []struct {
		name string
		dims []int32
		typ  int32
		from string
		at   int // First element in the variable.
	}{
		{"encoder.positional_embedding", []int32{tinyWidth, tinyAudio}, ggmlF32, "encoder/position_encodings/encodings", 0},
		{"encoder.conv1.weight", []int32{3, 80, tinyWidth}, ggmlF16, "encoder/conv1/weight", 0},
		{"encoder.conv1.bias", []int32{1, tinyWidth}, ggmlF32, "encoder/conv1/bias", 0},
		{"encoder.blocks.0.attn.query.weight", []int32{tinyWidth, tinyWidth}, ggmlF16, "encoder/layer_0/self_attention/linear_0/weight", 0},
		{"encoder.blocks.0.attn.key.weight", []int32{tinyWidth, tinyWidth}, ggmlF16, "encoder/layer_0/self_attention/linear_0/weight", tinyWidth * tinyWidth},
		{"encoder.blocks.0.attn.value.bias", []int32{tinyWidth}, ggmlF32, "encoder/layer_0/self_attention/linear_0/bias", 2 * tinyWidth},
		{"encoder.blocks.0.mlp.0.weight", []int32{tinyWidth, 4 * tinyWidth}, ggmlF16, "encoder/layer_0/ffn/linear_0/weight", 0},
		{"encoder.blocks.0.mlp.2.weight", []int32{4 * tinyWidth, tinyWidth}, ggmlF16, "encoder/layer_0/ffn/linear_1/weight", 0},
		{"encoder.ln_post.weight", []int32{tinyWidth}, ggmlF32, "encoder/layer_norm/gamma", 0},
		{"decoder.token_embedding.weight", []int32{tinyWidth, tinyVocab}, ggmlF16, "decoder/embeddings/weight", 0},
		{"decoder.blocks.0.cross_attn.key.weight", []int32{tinyWidth, tinyWidth}, ggmlF16, "decoder/layer_0/attention/linear_1/weight", 0},
		{"decoder.blocks.0.cross_attn.value.bias", []int32{tinyWidth}, ggmlF32, "decoder/layer_0/attention/linear_1/bias", tinyWidth},
		{"decoder.blocks.0.cross_attn.out.weight", []int32{tinyWidth, tinyWidth}, ggmlF16, "decoder/layer_0/attention/linear_2/weight", 0},
		{"decoder.ln.bias", []int32{tinyWidth}, ggmlF32, "decoder/layer_norm/beta", 0},
	} {
		tensor, ok := got.tensors[c.name]
		if !ok || !slices.Equal(tensor.dims, c.dims) || tensor.typ != c.typ {
			t.Errorf("%s = %v of type %d, want %v of type %d", c.name, tensor.dims, tensor.typ, c.dims, c.typ)
			continue
		}
		for i, value := range tensor.floats() {
			if want := weight(c.from, c.at+i); value != want {
				t.Errorf("%s[%d] = %v, want %v", c.name, i, value, want)
				break
			}
		}
	}
	if _, ok := got.tensors["encoder.blocks.0.attn.key.bias"]; ok {
		t.Error("the key has a bias, which whisper.cpp does not know")
	}
}

func (g ggmlTensor) floats() []float32 {
	if g.typ == ggmlF16 {
		return halves(g.data)
	}
	values := make([]float32, len(g.data)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(g.data[4*i:]))
	}
	return values
}

func TestConvertWhisperQ8(t *testing.T) {
	b, err := convertTiny(tinyWhisper(), []string{"a", "b", "c"}, true)
	if err != nil {
		t.Fatal(err)
	}
	got := readGGML(t, b)
	if got.head[11] != 2007 {
		t.Errorf("file type = %d, want 2007", got.head[11])
	}
	types := make(map[int32]int)
	for name, tensor := range got.tensors {
		types[tensor.typ]++
		matrix := len(tensor.dims) == 2 && !strings.HasSuffix(name, ".bias") && !strings.Contains(name, "positional")
		if matrix != (tensor.typ == ggmlQ8) {
			t.Errorf("%s has the type %d", name, tensor.typ)
		}
	}
	if want := map[int32]int{ggmlF32: 31, ggmlF16: 2, ggmlQ8: 17}; fmt.Sprint(types) != fmt.Sprint(want) {
		t.Errorf("tensors by type = %v, want %v", types, want)
	}
}

func TestConvertWhisperRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(f *ct2File)
		want  string
	}{
		"a missing variable": {func(f *ct2File) {
			f.names = slices.DeleteFunc(f.names, func(n string) bool { return n == "encoder/conv2/bias" })
		}, `"encoder/conv2/bias" is missing`},
		"an unknown variable": {func(f *ct2File) { f.weights("encoder/extra", 2) }, `no place for "encoder/extra"`},
		"a bias of the key": {func(f *ct2File) {
			f.vars["encoder/layer_0/self_attention/linear_0/bias"].data[2*tinyWidth] = 1
		}, "is not zero"},
		"another shape": {func(f *ct2File) {
			v := f.vars["encoder/conv1/weight"]
			v.dims = []int{tinyWidth, 3, mel.Bands}
			f.vars["encoder/conv1/weight"] = v
		}, `"encoder/conv1/weight" has the shape [64 3 80], expected [64 80 3]`},
		"another type": {func(f *ct2File) {
			v := f.vars["encoder/conv1/bias"]
			v.typ = ct2I16
			f.vars["encoder/conv1/bias"] = v
		}, "not in half precision"},
		"odd heads": {func(f *ct2File) { f.vars["encoder/num_heads"].data[0] = 7 }, "7 heads"},
		"no positions": {func(f *ct2File) {
			f.names = slices.DeleteFunc(f.names, func(n string) bool { return n == "decoder/position_encodings/encodings" })
		}, "positions are missing"},
	} {
		t.Run(name, func(t *testing.T) {
			f := tinyWhisper()
			c.spoil(f)
			if _, err := convertTiny(f, []string{"a", "b", "c"}, false); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := convertTiny(tinyWhisper(), []string{"a", "b"}, false); err == nil || !strings.Contains(err.Error(), "2 tokens") {
		t.Errorf("error for a short vocabulary = %v", err)
	}
}

func TestCT2CutAnywhere(t *testing.T) {
	b := tinyWhisper().bytes()
	for n := 0; n < len(b); n += 1 + n/50 {
		if _, err := openCT2(bytes.NewReader(b[:n]), int64(n)); err == nil {
			t.Fatalf("a file cut off at byte %d of %d is taken", n, len(b))
		}
	}
}

func FuzzCT2(f *testing.F) {
	small := &ct2File{vars: make(map[string]ct2Values)}
	small.add("decoder/embeddings/weight", ct2F16, make([]byte, 8), 2, 2)
	small.add("encoder/num_heads", ct2I16, []byte{1, 0})
	f.Add(small.bytes())
	f.Add(tinyWhisper().bytes()[:4000])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := openCT2(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		for _, v := range m.vars {
			if data, err := m.read(v); err != nil || int64(len(data)) != v.size {
				t.Errorf("%q cannot be read: %v", v.name, err)
			}
		}
		_ = convertWhisper(t.Context(), &bytes.Buffer{}, m, nil, true, func(int, int) {})
	})
}

func TestVocabulary(t *testing.T) {
	doc := func(vocab map[string]int) string {
		b, err := json.Marshal(map[string]any{"model": map[string]any{"vocab": vocab}})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	got, err := readVocabulary(strings.NewReader(doc(map[string]int{"!": 0, "Ġgazed": 1, "": 2, "åľº": 3, endOfText: 4, "<|x|>": 5})))
	if want := []string{"!", " gazed", "", "场"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("tokens = %q, %v, want %q", got, err, want)
	}
	for name, c := range map[string]string{
		"no end":        doc(map[string]int{"!": 0}),
		"a gap":         doc(map[string]int{"!": 0, "x": 3, endOfText: 2}),
		"twice":         doc(map[string]int{"!": 0, "x": 0, endOfText: 2}),
		"a raw letter":  doc(map[string]int{"場": 0, endOfText: 1}),
		"end too large": doc(map[string]int{"!": 0, endOfText: 1 << 30}),
		"no JSON":       "{",
	} {
		if _, err := readVocabulary(strings.NewReader(c)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
