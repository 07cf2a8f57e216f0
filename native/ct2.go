package native

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// ErrCT2 reports that a file is not a CTranslate2 model that this package can read.
var ErrCT2 = errors.New("not a usable CTranslate2 model")

// The bounds of a header. The largest Whisper has 900 variables, of three dimensions at most, and names of 60 letters;
// what lies beyond these bounds is damage, and must not make the reader allocate.
const (
	ct2MaxName = 1 << 10
	ct2MaxRank = 4
	ct2MaxVars = 1 << 14
	ct2Version = 6
)

// ct2Type is the type of a variable's elements.
type ct2Type uint8

// The element types of the format, by their numbers in the file.
const (
	ct2F32 ct2Type = iota
	ct2I8
	ct2I16
	ct2I32
	ct2F16
)

// size is the number of bytes of one element, or 0 for a type that does not exist.
func (t ct2Type) size() int64 {
	switch t {
	case ct2I8:
		return 1
	case ct2I16, ct2F16:
		return 2
	case ct2F32, ct2I32:
		return 4
	}
	return 0
}

// ct2Var is one variable of a model: where its row-major elements lie in the file.
type ct2Var struct {
	name string
	dims []int64 // Outermost first; empty for a scalar.
	typ  ct2Type
	at   int64 // Offset of the first byte.
	size int64 // Bytes.
}

// ct2Model is the table of contents of a CTranslate2 file. It holds no weights: read fetches those of one variable.
type ct2Model struct {
	spec string // What the model is, such as "WhisperSpec".
	vars map[string]ct2Var
	file io.ReaderAt
}

// openCT2 reads the table of contents of the CTranslate2 model in file, which is size bytes long. The file must stay
// open for as long as the model is used.
func openCT2(file io.ReaderAt, size int64) (*ct2Model, error) {
	h := &ct2Header{r: bufio.NewReader(io.NewSectionReader(file, 0, size)), file: file, size: size}
	m := &ct2Model{file: file, vars: make(map[string]ct2Var)}
	if v := h.u32(); h.err == nil && v != ct2Version {
		return nil, fmt.Errorf("%w: version %d, expected %d", ErrCT2, v, ct2Version)
	}
	m.spec = h.text()
	h.u32() // The revision of the spec: its variables tell more.
	count := h.u32()
	if h.err == nil && count > ct2MaxVars {
		return nil, fmt.Errorf("%w: %d variables", ErrCT2, count)
	}
	for i := uint32(0); i < count && h.err == nil; i++ {
		v := h.variable()
		if _, twice := m.vars[v.name]; twice && h.err == nil {
			return nil, fmt.Errorf("%w: two variables are named %q", ErrCT2, v.name)
		}
		m.vars[v.name] = v
	}
	aliases := h.u32()
	if h.err == nil && aliases > ct2MaxVars {
		return nil, fmt.Errorf("%w: %d aliases", ErrCT2, aliases)
	}
	for i := uint32(0); i < aliases && h.err == nil; i++ {
		alias, name := h.text(), h.text()
		v, ok := m.vars[name]
		if h.err == nil && !ok {
			return nil, fmt.Errorf("%w: alias %q of %q, which is not there", ErrCT2, alias, name)
		}
		m.vars[alias] = v
	}
	if h.err != nil {
		return nil, h.err
	}
	if h.at != size {
		return nil, fmt.Errorf("%w: %d bytes after the end", ErrCT2, size-h.at)
	}
	return m, nil
}

// read returns the bytes of v.
func (m *ct2Model) read(v ct2Var) ([]byte, error) {
	b := make([]byte, v.size)
	if _, err := m.file.ReadAt(b, v.at); err != nil {
		return nil, fmt.Errorf("reading %s: %w", v.name, err)
	}
	return b, nil
}

// number returns the scalar integer called name.
func (m *ct2Model) number(name string) (int, error) {
	v, ok := m.vars[name]
	if !ok || len(v.dims) != 0 {
		return 0, fmt.Errorf("%w: no number %q", ErrCT2, name)
	}
	b, err := m.read(v)
	if err != nil {
		return 0, err
	}
	switch v.typ {
	case ct2I8:
		return int(int8(b[0])), nil
	case ct2I16:
		return int(int16(binary.LittleEndian.Uint16(b))), nil
	case ct2I32:
		return int(int32(binary.LittleEndian.Uint32(b))), nil
	}
	return 0, fmt.Errorf("%w: %q is not an integer", ErrCT2, name)
}

// ct2Header reads the parts of a file one after the other and keeps the first error.
type ct2Header struct {
	r    *bufio.Reader
	file io.ReaderAt
	at   int64 // Bytes read or skipped so far.
	size int64
	err  error
}

func (h *ct2Header) bytes(n int) []byte {
	b := make([]byte, n)
	if h.err != nil {
		return b
	}
	if _, err := io.ReadFull(h.r, b); err != nil {
		h.err = fmt.Errorf("%w: cut off at byte %d of %d", ErrCT2, h.at, h.size)
		return make([]byte, n)
	}
	h.at += int64(n)
	return b
}

func (h *ct2Header) u32() uint32 { return binary.LittleEndian.Uint32(h.bytes(4)) }

// text reads a string: its length with the final zero, its bytes, the zero.
func (h *ct2Header) text() string {
	n := int(binary.LittleEndian.Uint16(h.bytes(2)))
	if h.err == nil && n > ct2MaxName {
		h.err = fmt.Errorf("%w: a name of %d bytes at byte %d", ErrCT2, n, h.at)
	}
	if h.err != nil {
		return ""
	}
	return strings.TrimSuffix(string(h.bytes(n)), "\x00")
}

func (h *ct2Header) variable() ct2Var {
	v := ct2Var{name: h.text()}
	rank := int(h.bytes(1)[0])
	if h.err == nil && rank > ct2MaxRank {
		h.err = fmt.Errorf("%w: %q has %d dimensions", ErrCT2, v.name, rank)
	}
	if h.err != nil {
		return v
	}
	elements := int64(1)
	for range rank {
		d := int64(h.u32())
		v.dims = append(v.dims, d)
		if d > 0 && elements > math.MaxInt64/8/d { // No element is longer than 8 bytes.
			h.err = fmt.Errorf("%w: %q is too large", ErrCT2, v.name)
			return v
		}
		elements *= d
	}
	v.typ = ct2Type(h.bytes(1)[0])
	v.size = int64(h.u32())
	v.at = h.at
	switch {
	case h.err != nil:
	case v.typ.size() == 0:
		h.err = fmt.Errorf("%w: %q has the unknown type %d", ErrCT2, v.name, v.typ)
	case v.size != elements*v.typ.size():
		h.err = fmt.Errorf("%w: %q has %d bytes, its shape %v needs %d", ErrCT2, v.name, v.size, v.dims, elements*v.typ.size())
	case v.size > h.size-h.at:
		h.err = fmt.Errorf("%w: cut off inside %q", ErrCT2, v.name)
	default:
		h.skip(v.size)
	}
	return v
}

// skip leaves out n bytes without reading them.
func (h *ct2Header) skip(n int64) {
	h.at += n
	if int64(h.r.Buffered()) >= n {
		_, h.err = h.r.Discard(int(n))
		return
	}
	h.r.Reset(io.NewSectionReader(h.file, h.at, h.size-h.at))
}
