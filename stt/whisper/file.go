package whisper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// fileMagic begins a model in ggml's own format, which is older than GGUF: "ggml" as a little-endian number.
const fileMagic = 0x67676d6c

// header is the start of a model file, in the order of the file.
type header struct {
	Vocab, AudioCtx, AudioState, AudioHead, AudioLayer  int32
	TextCtx, TextState, TextHead, TextLayer, Mels, Type int32
}

// layout is how ggml stores a type of number: so many of them in so many bytes.
type layout struct{ numbers, bytes int64 }

// layouts are ggml's types by number, those that occur in Whisper models.
var layouts = map[int32]layout{
	0: {1, 4}, 1: {1, 2}, // f32, f16
	2: {32, 18}, 3: {32, 20}, 6: {32, 22}, 7: {32, 24}, 8: {32, 34}, // q4_0, q4_1, q5_0, q5_1, q8_0
	10: {256, 84}, 11: {256, 110}, 12: {256, 144}, 13: {256, 176}, 14: {256, 210}, // q2_k to q6_k
}

// checkFile reports, as an ErrModel that says how to mend it, why the file at path cannot be loaded. whisper.cpp must not
// see a file before: it believes every length that it reads, and goes on behind the end of the file.
func checkFile(path string) error {
	const mend = `fetch it again with "riposte models pull"`
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf(`%w: %s is missing: fetch it with "riposte models pull"`, ErrModel, path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrModel, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrModel, err)
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a file", ErrModel, path)
	}
	err = checkModel(f, info.Size())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %s is cut short at %d bytes: %s", ErrModel, path, info.Size(), mend)
	}
	if err != nil {
		return fmt.Errorf("%w: %s: %w: %s", ErrModel, path, err, mend)
	}
	return nil
}

// checkModel walks over a model of size bytes and compares every tensor with what the header promises. A model that ends
// too early is an io.ErrUnexpectedEOF. It reads little: the numbers themselves are skipped.
func checkModel(r io.ReaderAt, size int64) error {
	f := &cursor{r: r, size: size}
	if magic := f.int32(); f.err == nil && magic != fileMagic {
		return fmt.Errorf("no Whisper model in ggml's format: it begins with %#08x", uint32(magic))
	}
	var h header
	f.value(&h)
	if f.err == nil {
		f.err = h.check()
	}
	mels, bins := f.int32(), f.int32()
	if f.err == nil && (mels != h.Mels || bins < 1 || bins > 4096) {
		return fmt.Errorf("mel filters of %d by %d, want %d by 201", mels, bins, h.Mels)
	}
	f.skip(int64(mels) * int64(bins) * 4)
	words := f.int32()
	if f.err == nil && (words < 0 || words > h.Vocab) {
		return fmt.Errorf("%d words for a vocabulary of %d", words, h.Vocab)
	}
	for range words {
		f.skip(int64(f.length(1 << 10)))
		if f.err != nil {
			return f.err
		}
	}
	if f.err != nil {
		return f.err
	}
	return h.checkTensors(f)
}

// check reports a header that no Whisper model has, so that nobody computes or allocates by it.
func (h header) check() error {
	for _, v := range []struct {
		name string
		is   int32
		max  int32
	}{
		{"vocabulary", h.Vocab, 1 << 18}, {"audio context", h.AudioCtx, 1 << 13}, {"audio state", h.AudioState, 1 << 13},
		{"audio heads", h.AudioHead, 1 << 8}, {"audio layers", h.AudioLayer, 1 << 7}, {"text context", h.TextCtx, 1 << 13},
		{"text state", h.TextState, 1 << 13}, {"text heads", h.TextHead, 1 << 8}, {"text layers", h.TextLayer, 1 << 7},
		{"mel bands", h.Mels, 1 << 10},
	} {
		if v.is < 1 || v.is > v.max {
			return fmt.Errorf("no Whisper model: %s of %d", v.name, v.is)
		}
	}
	if h.AudioState != h.TextState || h.AudioState%h.AudioHead != 0 || h.TextState%h.TextHead != 0 {
		return fmt.Errorf("no Whisper model: states of %d and %d, heads %d and %d", h.AudioState, h.TextState, h.AudioHead, h.TextHead)
	}
	if h.AudioCtx != fullWindow {
		return fmt.Errorf("hears %d positions at a time, want %d", h.AudioCtx, fullWindow)
	}
	if _, ok := h.matrix(); !ok {
		return fmt.Errorf("unknown number type %d", h.Type)
	}
	return nil
}

// matrix returns ggml's type of the large tensors: file types are numbered otherwise than tensor types.
func (h header) matrix() (int32, bool) {
	kind, ok := map[int32]int32{0: 0, 1: 1, 2: 2, 3: 3, 7: 8, 8: 6, 9: 7, 10: 10, 11: 11, 12: 12, 13: 13, 14: 14}[h.Type%1000]
	return kind, ok
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

// cursor reads little-endian numbers one after the other. After its first error it returns zeros.
type cursor struct {
	r    io.ReaderAt
	at   int64
	size int64
	buf  []byte // What was read ahead, ending at end.
	end  int64
	err  error
}

// bytes returns the next n bytes, valid until the next call.
func (c *cursor) bytes(n int64) []byte {
	const ahead = 64 << 10
	if c.err == nil && n > c.size-c.at {
		c.err = io.ErrUnexpectedEOF
	}
	if c.err != nil {
		return make([]byte, n)
	}
	start := c.end - int64(len(c.buf))
	if c.at < start || c.at+n > c.end {
		c.buf = make([]byte, min(max(n, ahead), c.size-c.at))
		if _, err := c.r.ReadAt(c.buf, c.at); err != nil && err != io.EOF {
			c.err = err
			return make([]byte, n)
		}
		start, c.end = c.at, c.at+int64(len(c.buf))
	}
	b := c.buf[c.at-start:][:n]
	c.at += n
	return b
}

func (c *cursor) skip(n int64) {
	if c.err == nil && n > c.size-c.at {
		c.err = io.ErrUnexpectedEOF
	}
	if c.err == nil {
		c.at += n
	}
}

func (c *cursor) int32() int32 {
	return int32(binary.LittleEndian.Uint32(c.bytes(4)))
}

// length reads a number that counts bytes, of which there are no more than limit.
func (c *cursor) length(limit int32) int32 {
	n := c.int32()
	if c.err == nil && (n < 0 || n > limit) {
		c.err = fmt.Errorf("a length of %d where %d is the most", n, limit)
	}
	if c.err != nil {
		return 0
	}
	return n
}

func (c *cursor) text(n int32) string {
	return string(c.bytes(int64(n)))
}

func (c *cursor) value(v any) {
	binary.Decode(c.bytes(int64(binary.Size(v))), binary.LittleEndian, v)
}
