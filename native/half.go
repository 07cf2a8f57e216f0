package native

import "math"

// halfToFloat widens an IEEE 754 half precision number. Every one of them is a float32 too.
func halfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exp {
	case 0: // Zero, or subnormal: frac units of 2^-24.
		f := float32(frac) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 0x1f: // Infinity, or not a number.
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}

// floatToHalf narrows f to half precision, to nearest with ties to even, as the F16C instructions do.
func floatToHalf(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b >> 16 & 0x8000)
	exp, frac := int(b>>23&0xff)-127, b&0x7fffff
	switch {
	case exp == 128 && frac != 0:
		return sign | 0x7e00
	case exp > 15: // Infinity, and all that rounds to it by size alone.
		return sign | 0x7c00
	case exp >= -14:
		return sign | uint16(roundShift(uint32(exp+15)<<23|frac, 13)) // A carry moves on into the exponent, and to infinity.
	case exp >= -25:
		return sign | uint16(roundShift(frac|1<<23, uint(-1-exp)))
	}
	return sign
}

// roundShift is v >> n, rounded to nearest with ties to even.
func roundShift(v uint32, n uint) uint32 {
	half := uint32(1) << (n - 1)
	rest := v & (1<<n - 1)
	v >>= n
	if rest > half || rest == half && v&1 == 1 {
		v++
	}
	return v
}
