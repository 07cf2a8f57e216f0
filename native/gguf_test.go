package native

import (
	"bytes"
	"context"
	"encoding/binary"
	"testing"
)

// ggufEntry is one tensor of a GGUF file for tests.
type ggufEntry struct {
	name string
	dims []uint64
	typ  uint32
	data []byte
}

// ggufFile writes a GGUF file with some metadata of each shape, and the given tensors.
func ggufFile(fileType uint32, tensors ...ggufEntry) []byte {
	u32, u64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	text := func(b []byte, s string) []byte { return append(u64(b, uint64(len(s))), s...) }
	b := u32([]byte("GGUF"), ggufVersion)
	b = u64(u64(b, uint64(len(tensors))), 4)
	b = text(u32(text(b, "general.name"), ggufString), "test")
	b = append(u32(text(b, "add_bos"), 7), 1)
	b = u64(u32(u32(text(b, "tokens"), ggufArray), ggufString), 2)
	b = text(text(b, "a"), "bc")
	b = u32(u32(text(b, "general.file_type"), ggufU32), fileType)
	var at int64
	for _, t := range tensors {
		b = u32(text(b, t.name), uint32(len(t.dims)))
		for _, d := range t.dims {
			b = u64(b, d)
		}
		b = u64(u32(b, t.typ), uint64(at))
		at += align(int64(len(t.data)))
	}
	b = padded(b)
	for _, t := range tensors {
		b = append(b, padded(bytes.Clone(t.data))...)
	}
	return b
}

func TestRequantise(t *testing.T) {
	norm := ggufEntry{"norm", []uint64{3}, ggmlF32, appendFloats(nil, []float32{1, 2, 3})}
	embedding := ggufEntry{"embedding", []uint64{32, 1}, ggmlQ8, appendQ8(nil, make([]float32, 32))}
	q4 := make([]byte, 2*q41Bytes)
	for i := range q4 {
		q4[i] = byte(i % 60) // Scales and minimums that are small positive numbers.
	}
	matrix := ggufEntry{"matrix", []uint64{32, 2}, ggmlQ4_1, q4}
	from := ggufFile(3, norm, matrix, embedding)

	matrix.typ, matrix.data = ggmlQ8, appendQ8(nil, fromQ41(q4))
	want := ggufFile(ggufFileQ8, norm, matrix, embedding)

	m, err := openGGUF(bytes.NewReader(from), int64(len(from)))
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	last := 0
	if err := m.requantise(t.Context(), &got, func(tensor, of int) { last = tensor*10 + of }); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%q\nwant\n%q", got.Bytes(), want)
	}
	if last != 33 {
		t.Errorf("the last report was %d, want 3 of 3", last)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.requantise(ctx, &got, func(int, int) {}); err != context.Canceled {
		t.Errorf("after the end of its context it returns %v", err)
	}
}

func TestGGUFRefuses(t *testing.T) {
	whole := ggufFile(3, ggufEntry{"matrix", []uint64{32}, ggmlQ4_1, make([]byte, q41Bytes)})
	for n := range len(whole) - (ggufAlignment - q41Bytes) { // Only the padding at the end may be missing.
		if _, err := openGGUF(bytes.NewReader(whole[:n]), int64(n)); err == nil {
			t.Errorf("a file cut off at byte %d of %d is taken", n, len(whole))
		}
	}
	for name, e := range map[string]ggufEntry{
		"an unknown type": {"x", []uint64{32}, 14, make([]byte, 64)},
		"half a block":    {"x", []uint64{16, 2}, ggmlQ4_1, make([]byte, q41Bytes)},
		"too large":       {"x", []uint64{1 << 40, 1 << 40}, ggmlF32, nil},
		"too many dims":   {"x", []uint64{1, 1, 1, 1, 32}, ggmlF32, make([]byte, 128)},
	} {
		b := ggufFile(3, e)
		if _, err := openGGUF(bytes.NewReader(b), int64(len(b))); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func FuzzGGUF(f *testing.F) {
	f.Add(ggufFile(3, ggufEntry{"matrix", []uint64{32}, ggmlQ4_1, make([]byte, q41Bytes)}))
	f.Add(ggufFile(1, ggufEntry{"norm", []uint64{2}, ggmlF16, make([]byte, 4)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := openGGUF(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := m.requantise(t.Context(), &out, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
		// What it writes it must take again, and find nothing more to do.
		again, err := openGGUF(bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var twice bytes.Buffer
		if err := again.requantise(t.Context(), &twice, func(int, int) {}); err != nil || !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Errorf("requantised again it is another file: %v", err)
		}
	})
}
