package native

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"

	"riposte/audio/mel"
)

// The numbers by which ggml knows the types of tensors.
const (
	ggmlF32  = 0
	ggmlF16  = 1
	ggmlQ4_1 = 3
	ggmlQ8   = 8
)

// The head of whisper.cpp's model files.
const (
	ggmlMagic = 0x67676d6c
	// ggmlFileF16 and ggmlFileQ8 say what most tensors of a file are. The latter carries the version of the block
	// formats, 2, as thousands.
	ggmlFileF16 = 1
	ggmlFileQ8  = 2*1000 + 7
)

// whisperShape is what the sizes of a Whisper's tensors follow from.
type whisperShape struct {
	vocabulary  int // Tokens, special ones included.
	audioFrames int // Positions of the encoder: 1500, 30 s.
	textTokens  int // Positions of the decoder: 448.
	width       int
	heads       int
	encoder     int // Layers.
	decoder     int
}

// ggmlWriter writes one whisper.cpp model file. It keeps the first error.
type ggmlWriter struct {
	w   *bufio.Writer
	err error
}

func newGGMLWriter(w io.Writer) *ggmlWriter { return &ggmlWriter{w: bufio.NewWriterSize(w, 1<<20)} }

// Flush writes what is still held back and returns the first error.
func (g *ggmlWriter) Flush() error {
	if g.err != nil {
		return g.err
	}
	return g.w.Flush()
}

// head writes all that comes before the tensors.
func (g *ggmlWriter) head(s whisperShape, fileType int, tokens []string) {
	g.numbers(ggmlMagic, s.vocabulary, s.audioFrames, s.width, s.heads, s.encoder,
		s.textTokens, s.width, s.heads, s.decoder, mel.Bands, fileType)
	g.numbers(mel.Bands, mel.Bins)
	g.write(appendFloats(nil, mel.Filters()))
	g.numbers(len(tokens))
	for _, t := range tokens {
		g.numbers(len(t))
		g.write([]byte(t))
	}
}

// tensor writes one tensor with its row-major data; dims are outermost first.
func (g *ggmlWriter) tensor(name string, dims []int64, ggmlType int, data []byte) {
	g.numbers(len(dims), len(name), ggmlType)
	for i := len(dims) - 1; i >= 0; i-- {
		g.numbers(int(dims[i]))
	}
	g.write([]byte(name))
	g.write(data)
}

func (g *ggmlWriter) numbers(values ...int) {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	g.write(b)
}

func (g *ggmlWriter) write(b []byte) {
	if g.err != nil {
		return
	}
	if _, err := g.w.Write(b); err != nil {
		g.err = fmt.Errorf("writing the model: %w", err)
	}
}
