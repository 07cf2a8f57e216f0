package whisper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"riposte/audio/mel"
)

// tiny is the header of a model that is small enough for tests, in the file type given.
func tiny(kind int32) header {
	return header{Vocab: 9, AudioCtx: FullWindow, AudioState: 32, AudioHead: 2, AudioLayer: 1, TextCtx: 4, TextState: 32, TextHead: 2, TextLayer: 1, Mels: 2, Type: kind}
}

// modelBytes returns a whole model file with that header, of zeros.
func modelBytes(h header) []byte {
	var b bytes.Buffer
	put := func(v ...any) {
		for _, v := range v {
			binary.Write(&b, binary.LittleEndian, v)
		}
	}
	put(int32(fileMagic), h, h.Mels, int32(mel.Bins), make([]float32, h.Mels*mel.Bins), int32(2))
	for _, w := range []string{"a", ""} {
		put(int32(len(w)), []byte(w))
	}
	all := h.tensors()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t := all[name]
		dims := int32(3)
		for dims > 1 && t.shape[dims-1] == 1 {
			dims--
		}
		if strings.Contains(name, "conv") && strings.HasSuffix(name, "bias") {
			dims = 2
		}
		put(dims, int32(len(name)), t.kind, t.shape[:dims], []byte(name))
		l := layouts[t.kind]
		put(make([]byte, int64(t.shape[0])*int64(t.shape[1])*int64(t.shape[2])/l.numbers*l.bytes))
	}
	return b.Bytes()
}

func check(b []byte) error {
	_, err := checkModel(bytes.NewReader(b), int64(len(b)))
	return err
}

func TestCheckModel(t *testing.T) {
	for _, kind := range []int32{0, 1, 2, 7, 9, 2007} {
		b := modelBytes(tiny(kind))
		if err := check(b); err != nil {
			t.Errorf("a whole model of type %d: %v", kind, err)
		}
		if err := check(append(slices.Clip(b), 1, 2, 3)); err == nil {
			t.Errorf("a model of type %d with three bytes too many passes", kind)
		}
	}
	for _, tt := range []struct {
		name   string
		change func(h *header)
	}{
		{"no vocabulary", func(h *header) { h.Vocab = 0 }},
		{"a vocabulary too large", func(h *header) { h.Vocab = 1 << 30 }},
		{"negative layers", func(h *header) { h.AudioLayer = -1 }},
		{"states that differ", func(h *header) { h.TextState = 64 }},
		{"heads that do not divide", func(h *header) { h.AudioHead = 5 }},
		{"no heads", func(h *header) { h.TextHead = 0 }},
		{"another window", func(h *header) { h.AudioCtx = 750 }},
		{"an unknown type", func(h *header) { h.Type = 5 }},
		{"a layer more than there is", func(h *header) { h.TextLayer = 2 }},
		{"a layer less than there is", func(h *header) { h.AudioLayer, h.TextLayer = 1, 1; h.TextCtx = 5 }},
	} {
		h := tiny(1)
		b := modelBytes(h)
		tt.change(&h)
		var head bytes.Buffer
		binary.Write(&head, binary.LittleEndian, h)
		copy(b[4:], head.Bytes())
		if err := check(b); err == nil {
			t.Errorf("%s passes", tt.name)
		}
	}
}

// TestCheckModelCut cuts a model at every place: none passes, and all say that they are cut.
func TestCheckModelCut(t *testing.T) {
	b := modelBytes(tiny(1))
	step := 1
	for n := 0; n < len(b); n += step {
		if err := check(b[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("cut at %d of %d: error %v", n, len(b), err)
		}
		if n > 300 {
			step = 37 // The places are of a kind by then.
		}
	}
}

func FuzzCheckModel(f *testing.F) {
	whole := modelBytes(tiny(1))
	for _, n := range []int{0, 3, 4, 40, 80, 120, len(whole) / 2, len(whole) - 1, len(whole)} {
		f.Add(whole[:n])
	}
	f.Add(modelBytes(tiny(7)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if check(b) == nil && len(b) > 0 && check(b[:len(b)-1]) == nil {
			t.Error("one byte less passes as well")
		}
	})
}
