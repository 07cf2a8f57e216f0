package native

import (
	"encoding/binary"
	"math"
)

// A Q8_0 block of ggml is 32 numbers: their common scale in half precision and 32 signed bytes.
const (
	q8Block = 32
	q8Bytes = 2 + q8Block
)

// appendQ8 appends values as Q8_0 blocks, bit for bit as ggml's reference quantiser makes them. The number of values
// must be a multiple of q8Block.
func appendQ8(to []byte, values []float32) []byte {
	for ; len(values) >= q8Block; values = values[q8Block:] {
		block := values[:q8Block]
		var most float32
		for _, v := range block {
			most = max(most, float32(math.Abs(float64(v))))
		}
		scale := most / 127
		var inverse float32
		if scale != 0 {
			inverse = 1 / scale
		}
		to = binary.LittleEndian.AppendUint16(to, floatToHalf(scale))
		for _, v := range block {
			to = append(to, byte(int8(math.Round(float64(v*inverse)))))
		}
	}
	return to
}

// q41Bytes is the size of a Q4_1 block of ggml: 32 numbers as their scale and their minimum in half precision, and 16
// bytes of which the low halves are the first 16 numbers, the high halves the others.
const q41Bytes = 4 + q8Block/2

// fromQ41 widens Q4_1 blocks.
func fromQ41(b []byte) []float32 {
	values := make([]float32, 0, len(b)/q41Bytes*q8Block)
	for ; len(b) >= q41Bytes; b = b[q41Bytes:] {
		scale, least := halfToFloat(binary.LittleEndian.Uint16(b)), halfToFloat(binary.LittleEndian.Uint16(b[2:]))
		for _, pair := range b[4:q41Bytes] {
			values = append(values, float32(float32(pair&0xf)*scale)+least)
		}
		for _, pair := range b[4:q41Bytes] {
			values = append(values, float32(float32(pair>>4)*scale)+least)
		}
	}
	return values
}
