package whisper

import (
	"errors"
	"fmt"
	"io"
	"os"

	"riposte/audio/mel"
)

// fileMagic begins a model in ggml's own format, which is older than GGUF: "ggml" as a little-endian number.
const fileMagic = 0x67676d6c

// header is the start of a model file, in the order of the file.
type header struct {
	Vocab, AudioCtx, AudioState, AudioHead, AudioLayer  int32
	TextCtx, TextState, TextHead, TextLayer, Mels, Type int32
}

// checkFile returns the mel filters of a model, or, as an ErrModel that says how to mend it, why the file at path cannot be
// loaded. whisper.cpp must not
// see a file before: it believes every length that it reads, and goes on behind the end of the file.
func checkFile(path string) (mel.Bank, error) {
	const mend = `fetch it again with "riposte models pull"`
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf(`%w: %s is missing: fetch it with "riposte models pull"`, ErrModel, path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrModel, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is not a file", ErrModel, path)
	}
	mel, err := checkModel(f, info.Size())
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%w: %s is cut short at %d bytes: %s", ErrModel, path, info.Size(), mend)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w: %s", ErrModel, path, err, mend)
	}
	return mel, nil
}

// checkModel walks over a model of size bytes and compares every tensor with what the header promises. A model that ends
// too early is an io.ErrUnexpectedEOF. It reads little: of the numbers themselves, only the mel filters, which it returns.
func checkModel(r io.ReaderAt, size int64) (mel.Bank, error) {
	f := &cursor{r: r, size: size}
	if magic := f.int32(); f.err == nil && magic != fileMagic {
		return nil, fmt.Errorf("no Whisper model in ggml's format: it begins with %#08x", uint32(magic))
	}
	var h header
	f.value(&h)
	if f.err == nil {
		f.err = h.check()
	}
	mels, bins := f.int32(), f.int32()
	if f.err == nil && (mels != h.Mels || bins != mel.Bins) {
		return nil, fmt.Errorf("mel filters of %d by %d, want %d by %d", mels, bins, h.Mels, mel.Bins)
	}
	weights := make([]float32, mels*bins)
	f.value(weights)
	words := f.int32()
	if f.err == nil && (words < 0 || words > h.Vocab) {
		return nil, fmt.Errorf("%d words for a vocabulary of %d", words, h.Vocab)
	}
	for range words {
		f.skip(int64(f.length(1 << 10)))
		if f.err != nil {
			return nil, f.err
		}
	}
	if f.err != nil {
		return nil, f.err
	}
	if err := h.checkTensors(f); err != nil {
		return nil, err
	}
	return mel.NewBank(weights), nil
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
	if h.AudioCtx != FullWindow {
		return fmt.Errorf("hears %d positions at a time, want %d", h.AudioCtx, FullWindow)
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
