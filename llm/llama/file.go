package llama

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"strings"
)

// modelFile is what the beginning of a GGUF file says about the model.
type modelFile struct {
	Architecture  string
	Name          string
	Template      string // The chat template, in Jinja. Empty if the model was not made for conversations.
	ContextTokens int    // What the model was trained for. 0 if the file does not say.
	Tensors       int
}

// readModelFile reads a GGUF file's header and checks that all of its tensors lie inside the file, so that half a file
// is refused here, with words, and not by the library, with a fault. It does not read the weights.
func readModelFile(path string) (modelFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return modelFile{}, fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return modelFile{}, fmt.Errorf("%w: %w", ErrBadModel, err)
	}
	if !st.Mode().IsRegular() {
		return modelFile{}, fmt.Errorf("%w: %s is not a file", ErrBadModel, path)
	}
	m, err := parseModelFile(f, st.Size())
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends inside its header: it was cut off, download it again")
	}
	if err != nil {
		return modelFile{}, fmt.Errorf("%w: %s: %w", ErrBadModel, path, err)
	}
	return m, nil
}

// The kinds of values that GGUF knows, by their numbers in the file.
const (
	kindUint32 = 4
	kindString = 8
	kindArray  = 9
)

// kindSizes are the sizes of fixed kinds of values in bytes; 0 for those that vary, in the order of their numbers:
// u8, i8, u16, i16, u32, i32, f32, bool, string, array, u64, i64, f64.
var kindSizes = [...]uint64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}

// Bounds that no honest file comes near.
const (
	maxKey       = 1 << 16
	maxKept      = 1 << 20 // A string that we keep: names and the chat template.
	maxEntries   = 1 << 20 // Keys, and tensors.
	maxAlignment = 1 << 20
)

func parseModelFile(r io.Reader, size int64) (modelFile, error) {
	h := &headerReader{r: bufio.NewReaderSize(r, 1<<16), size: uint64(max(size, 0))}
	if magic := h.bytes(4); h.err == nil && string(magic) != "GGUF" {
		return modelFile{}, fmt.Errorf("it begins with %q, not with \"GGUF\"", magic)
	}
	if v := h.uint32(); h.err == nil && v != 2 && v != 3 {
		return modelFile{}, fmt.Errorf("GGUF version %d (%#x) is not 2 or 3", v, v)
	}
	tensors, keys := h.uint64(), h.uint64()
	if h.err == nil && (tensors == 0 || tensors > maxEntries || keys > maxEntries) {
		return modelFile{}, fmt.Errorf("%d tensors and %d keys are not believable", tensors, keys)
	}

	m := modelFile{Tensors: int(tensors)}
	alignment := uint64(32)
	lengths := map[string]uint32{} // Every "….context_length": the architecture may be named after it.
	for i := uint64(0); i < keys && h.err == nil; i++ {
		key := h.string(maxKey)
		kind := h.uint32()
		switch {
		case key == "general.architecture" && kind == kindString:
			m.Architecture = h.string(maxKept)
		case key == "general.name" && kind == kindString:
			m.Name = h.string(maxKept)
		case key == "tokenizer.chat_template" && kind == kindString:
			m.Template = h.string(maxKept)
		case key == "general.alignment" && kind == kindUint32:
			alignment = uint64(h.uint32())
		case kind == kindUint32 && strings.HasSuffix(key, contextKey):
			lengths[key] = h.uint32()
		default:
			h.skip(kind)
		}
	}
	if h.err == nil && (alignment == 0 || alignment > maxAlignment || bits.OnesCount64(alignment) != 1) {
		return modelFile{}, fmt.Errorf("an alignment of %d is not possible", alignment)
	}
	if h.err == nil && m.Architecture == "" {
		return modelFile{}, errors.New("it does not name an architecture")
	}
	m.ContextTokens = int(lengths[m.Architecture+contextKey])

	var end uint64 // Where the last tensor ends, relative to where tensors begin.
	for i := uint64(0); i < tensors && h.err == nil; i++ {
		e, err := h.tensor(alignment)
		if err != nil {
			return modelFile{}, err
		}
		end = max(end, e)
	}
	if h.err != nil {
		return modelFile{}, h.err
	}
	begin := (h.read + alignment - 1) / alignment * alignment
	if need := begin + end; need > h.size || need < end {
		return modelFile{}, fmt.Errorf("it has %d bytes but its tensors need %d: it was cut off, download it again", h.size, need)
	}
	return m, nil
}

const contextKey = ".context_length"

// headerReader reads GGUF's little-endian values. After an error all of its methods return zeros.
type headerReader struct {
	r    *bufio.Reader
	size uint64 // Of the file.
	read uint64
	err  error
}

func (h *headerReader) bytes(n uint64) []byte {
	if h.err == nil && n > h.size-min(h.read, h.size) {
		h.err = io.ErrUnexpectedEOF
	}
	if h.err != nil {
		return nil
	}
	b := make([]byte, n)
	_, h.err = io.ReadFull(h.r, b)
	h.read += n
	return b
}

func (h *headerReader) discard(n uint64) {
	if h.err == nil && n > h.size-min(h.read, h.size) {
		h.err = io.ErrUnexpectedEOF
	}
	for n > 0 && h.err == nil {
		part := int(min(n, 1<<30)) // Discard takes an int.
		_, h.err = h.r.Discard(part)
		h.read += uint64(part)
		n -= uint64(part)
	}
}

func (h *headerReader) uint32() uint32 {
	if b := h.bytes(4); h.err == nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (h *headerReader) uint64() uint64 {
	if b := h.bytes(8); h.err == nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (h *headerReader) string(most uint64) string {
	n := h.uint64()
	if h.err == nil && n > most {
		h.err = fmt.Errorf("a string of %d bytes is not believable", n)
	}
	return string(h.bytes(n))
}

// skip passes over a value of a kind.
func (h *headerReader) skip(kind uint32) {
	switch {
	case h.err != nil:
	case kind == kindString:
		h.discard(h.uint64())
	case kind == kindArray:
		of, n := h.uint32(), h.uint64()
		switch {
		case h.err != nil:
		case of == kindString:
			for ; n > 0 && h.err == nil; n-- {
				h.discard(h.uint64())
			}
		case of >= uint32(len(kindSizes)) || kindSizes[of] == 0:
			h.err = fmt.Errorf("an array of values of kind %d is not known", of)
		case n > h.size: // Also keeps the product below from wrapping around.
			h.err = io.ErrUnexpectedEOF
		default:
			h.discard(n * kindSizes[of])
		}
	case kind < uint32(len(kindSizes)):
		h.discard(kindSizes[kind])
	default:
		h.err = fmt.Errorf("a value of kind %d is not known", kind)
	}
}

// tensor reads what the file says about one tensor and returns where it ends, relative to where tensors begin.
func (h *headerReader) tensor(alignment uint64) (uint64, error) {
	name := h.string(maxKey)
	dims := h.uint32()
	if h.err == nil && (dims == 0 || dims > 4) {
		return 0, fmt.Errorf("tensor %q has %d dimensions", name, dims)
	}
	count, overflow := uint64(1), false
	for range min(dims, 4) {
		hi, lo := bits.Mul64(count, h.uint64())
		count, overflow = lo, overflow || hi != 0
	}
	kind, offset := h.uint32(), h.uint64()
	if h.err != nil {
		return 0, h.err
	}
	if overflow || count == 0 || count > math.MaxInt64 {
		return 0, fmt.Errorf("tensor %q has an impossible size", name)
	}
	if offset%alignment != 0 {
		return 0, fmt.Errorf("tensor %q begins at %d, which is not aligned to %d", name, offset, alignment)
	}
	if offset > h.size {
		return 0, fmt.Errorf("tensor %q begins at %d but the file has %d bytes: it was cut off, download it again", name, offset, h.size)
	}
	b, known := blockSizes[kind]
	if !known {
		return offset, nil // A newer quantisation: the library will judge it.
	}
	if count%b.values != 0 {
		return 0, fmt.Errorf("tensor %q has %d values, which are not whole blocks of %d", name, count, b.values)
	}
	hi, bytes := bits.Mul64(count/b.values, b.bytes)
	if hi != 0 || bytes > h.size {
		return 0, fmt.Errorf("tensor %q needs %d bytes but the file has %d: it was cut off, download it again", name, bytes, h.size)
	}
	return offset + bytes, nil
}

// blockSizes says how ggml stores each kind of number: so many values in so many bytes.
var blockSizes = map[uint32]struct{ values, bytes uint64 }{
	0:  {1, 4},     // F32
	1:  {1, 2},     // F16
	2:  {32, 18},   // Q4_0
	3:  {32, 20},   // Q4_1
	6:  {32, 22},   // Q5_0
	7:  {32, 24},   // Q5_1
	8:  {32, 34},   // Q8_0
	9:  {32, 36},   // Q8_1
	10: {256, 84},  // Q2_K
	11: {256, 110}, // Q3_K
	12: {256, 144}, // Q4_K
	13: {256, 176}, // Q5_K
	14: {256, 210}, // Q6_K
	15: {256, 292}, // Q8_K
	16: {256, 66},  // IQ2_XXS
	17: {256, 74},  // IQ2_XS
	18: {256, 98},  // IQ3_XXS
	19: {256, 50},  // IQ1_S
	20: {32, 18},   // IQ4_NL
	21: {256, 110}, // IQ3_S
	22: {256, 82},  // IQ2_S
	23: {256, 136}, // IQ4_XS
	24: {1, 1},     // I8
	25: {1, 2},     // I16
	26: {1, 4},     // I32
	27: {1, 8},     // I64
	28: {1, 8},     // F64
	29: {256, 56},  // IQ1_M
	30: {1, 2},     // BF16
	34: {256, 54},  // TQ1_0
	35: {256, 66},  // TQ2_0
	39: {32, 17},   // MXFP4
}
