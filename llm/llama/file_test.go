package llama

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ggufWriter writes the parts of a GGUF file.
type ggufWriter struct{ bytes.Buffer }

func (w *ggufWriter) values(v ...any) *ggufWriter {
	for _, v := range v {
		if s, ok := v.(string); ok {
			w.values(uint64(len(s)))
			w.WriteString(s)
			continue
		}
		_ = binary.Write(w, binary.LittleEndian, v) // A buffer takes everything.
	}
	return w
}

// smallModel is a good file with one key of each interesting kind and two tensors.
func smallModel() []byte {
	w := &ggufWriter{}
	w.WriteString("GGUF")
	w.values(uint32(3), uint64(2), uint64(7))
	w.values("general.architecture", uint32(8), "llama")
	w.values("general.name", uint32(8), "Small")
	w.values("llama.context_length", uint32(4), uint32(512))
	w.values("other.context_length", uint32(4), uint32(9))
	w.values("tokenizer.chat_template", uint32(8), "{{ x }}")
	w.values("tokenizer.ggml.tokens", uint32(9), uint32(8), uint64(2), "a", "bc")
	w.values("tokenizer.ggml.scores", uint32(9), uint32(6), uint64(2), float32(1), float32(2))
	w.values("a", uint32(2), uint64(32), uint64(2), uint32(8), uint64(0)) // Q8_0: 2 blocks of 34 bytes.
	w.values("b", uint32(1), uint64(3), uint32(0), uint64(96))            // F32: 12 bytes.
	for w.Len()%32 != 0 {
		w.WriteByte(0)
	}
	w.Write(make([]byte, 96+12))
	return w.Bytes()
}

func TestParseModelFile(t *testing.T) {
	good := smallModel()
	got, err := parseModelFile(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	want := modelFile{Architecture: "llama", Name: "Small", Template: "{{ x }}", ContextTokens: 512, Tensors: 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for n := range good {
		if _, err := parseModelFile(bytes.NewReader(good[:n]), int64(n)); err == nil {
			t.Fatalf("the first %d of %d bytes are taken for a whole file", n, len(good))
		}
	}
}

func TestParseModelFileRefuses(t *testing.T) {
	head := func(tensors, keys uint64) *ggufWriter {
		w := &ggufWriter{}
		w.WriteString("GGUF")
		return w.values(uint32(3), tensors, keys)
	}
	arch := func(w *ggufWriter) *ggufWriter { return w.values("general.architecture", uint32(8), "llama") }
	for name, test := range map[string]struct {
		file []byte
		says string
	}{
		"another format":     {[]byte("PK\x03\x04 and so on, long enough"), "not with \"GGUF\""},
		"big endian":         {append([]byte("GGUF\x00\x00\x00\x03"), make([]byte, 64)...), "version"},
		"no tensors":         {arch(head(0, 1)).Bytes(), "not believable"},
		"too many keys":      {head(1, 1<<40).Bytes(), "not believable"},
		"a huge string":      {head(1, 1).values(uint64(1 << 62)).Bytes(), "not believable"},
		"a huge array":       {head(1, 1).values("k", uint32(9), uint32(10), uint64(1<<62)).Bytes(), "EOF"},
		"a nested array":     {head(1, 1).values("k", uint32(9), uint32(9), uint64(1)).Bytes(), "array"},
		"an unknown value":   {head(1, 1).values("k", uint32(77)).Bytes(), "kind 77"},
		"no architecture":    {head(1, 0).values("t", uint32(1), uint64(1), uint32(0), uint64(0), uint32(0)).Bytes(), "architecture"},
		"alignment of 3":     {arch(head(1, 2)).values("general.alignment", uint32(4), uint32(3)).Bytes(), "alignment"},
		"five dimensions":    {arch(head(1, 1)).values("t", uint32(5)).Bytes(), "dimensions"},
		"a size that wraps":  {arch(head(1, 1)).values("t", uint32(2), uint64(1<<33), uint64(1<<33), uint32(0), uint64(0)).Bytes(), "impossible"},
		"no values":          {arch(head(1, 1)).values("t", uint32(1), uint64(0), uint32(0), uint64(0)).Bytes(), "impossible"},
		"half a block":       {arch(head(1, 1)).values("t", uint32(1), uint64(33), uint32(8), uint64(0)).Bytes(), "blocks"},
		"between boundaries": {arch(head(1, 1)).values("t", uint32(1), uint64(1), uint32(0), uint64(8)).Bytes(), "aligned"},
		"far outside":        {arch(head(1, 1)).values("t", uint32(1), uint64(1), uint32(0), uint64(1<<40)).Bytes(), "cut off"},
		"weights missing":    {arch(head(1, 1)).values("t", uint32(1), uint64(1024), uint32(0), uint64(0)).Bytes(), "cut off"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseModelFile(bytes.NewReader(test.file), int64(len(test.file)))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("err = %v, want one with %q", err, test.says)
			}
		})
	}
}

func TestReadModelFile(t *testing.T) {
	dir := t.TempDir()
	half := filepath.Join(dir, "half.gguf")
	if err := os.WriteFile(half, smallModel()[:100], 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "none.gguf"), dir, half} {
		if _, err := readModelFile(path); !errors.Is(err, ErrBadModel) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: err = %v", path, err)
		}
	}
	if _, err := readModelFile(half); !strings.Contains(err.Error(), "cut off") {
		t.Errorf("half a file: %v", err)
	}
}

func FuzzParseModelFile(f *testing.F) {
	good := smallModel()
	f.Add(good, int64(len(good)))
	f.Add(good[:len(good)/2], int64(len(good)))
	f.Add([]byte("GGUF\x03\x00\x00\x00"), int64(1<<40))
	f.Fuzz(func(t *testing.T, file []byte, size int64) {
		m, err := parseModelFile(bytes.NewReader(file), size)
		if err == nil && (m.Tensors == 0 || m.Architecture == "") {
			t.Errorf("%+v is taken for a model", m)
		}
	})
}
