package native

import (
	"encoding/binary"
	"math"
)

// appendFloats appends values as little-endian float32.
func appendFloats(to []byte, values []float32) []byte {
	for _, v := range values {
		to = binary.LittleEndian.AppendUint32(to, math.Float32bits(v))
	}
	return to
}

// halves widens little-endian half precision numbers.
func halves(b []byte) []float32 {
	values := make([]float32, len(b)/2)
	for i := range values {
		values[i] = halfToFloat(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return values
}
