package native

import (
	"context"
	"fmt"
	"io"
)

// whisperSpecials is how many tokens of a Whisper follow the ordinary ones: the ends, the tasks, 99 languages and 1501
// times. whisper.cpp names them itself.
const whisperSpecials = 1608

// convertWhisper writes the CTranslate2 Whisper model m as a model file of whisper.cpp, with the ordinary tokens of its
// vocabulary. With q8 the large matrices become Q8_0 blocks, those that whisper.cpp's own quantiser picks; everything
// else is copied without loss. It calls done after each tensor.
func convertWhisper(ctx context.Context, w io.Writer, m *ct2Model, tokens []string, q8 bool, done func(tensor, of int)) error {
	shape, err := shapeOf(m)
	if err != nil {
		return err
	}
	if len(tokens)+whisperSpecials != shape.vocabulary {
		return fmt.Errorf("%w: %d tokens for a model of %d", ErrVocabulary, len(tokens), shape.vocabulary)
	}
	fileType := ggmlFileF16
	if q8 {
		fileType = ggmlFileQ8
	}
	out := newGGMLWriter(w)
	out.head(shape, fileType, tokens)
	plan := whisperTensors(shape)
	used := make(map[string]bool)
	for i, t := range plan {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := t.convert(out, m, q8); err != nil {
			return err
		}
		used[t.from] = true
		done(i+1, len(plan))
	}
	for name, v := range m.vars {
		if len(v.dims) > 0 && !used[name] && !used[v.name] {
			return fmt.Errorf("%w: no place for %q", ErrCT2, name)
		}
	}
	return out.Flush()
}

// shapeOf finds the sizes of a Whisper model in its variables.
func shapeOf(m *ct2Model) (whisperShape, error) {
	var s whisperShape
	if m.spec != "WhisperSpec" {
		return s, fmt.Errorf("%w: it is a %q, not a Whisper", ErrCT2, m.spec)
	}
	embeddings, audio, text := m.vars["decoder/embeddings/weight"], m.vars["encoder/position_encodings/encodings"], m.vars["decoder/position_encodings/encodings"]
	for _, v := range []ct2Var{embeddings, audio, text} {
		if len(v.dims) != 2 || v.dims[0] == 0 || v.dims[1] == 0 {
			return s, fmt.Errorf("%w: the embeddings or positions are missing", ErrCT2)
		}
	}
	heads, err := m.number("encoder/num_heads")
	if err != nil {
		return s, err
	}
	s = whisperShape{
		vocabulary: int(embeddings.dims[0]), audioFrames: int(audio.dims[0]), textTokens: int(text.dims[0]),
		width: int(embeddings.dims[1]), heads: heads, encoder: m.layers("encoder"), decoder: m.layers("decoder"),
	}
	if s.width%64 != 0 || s.heads*64 != s.width { // Every Whisper has heads of 64.
		return s, fmt.Errorf("%w: %d heads for a width of %d", ErrCT2, s.heads, s.width)
	}
	return s, nil
}

// layers counts the layers of "encoder" or "decoder".
func (m *ct2Model) layers(side string) int {
	n := 0
	for {
		if _, ok := m.vars[fmt.Sprintf("%s/layer_%d/ffn/linear_0/weight", side, n)]; !ok {
			return n
		}
		n++
	}
}
