package grammar

import "unicode/utf8"

// byteRange is a set of neighbouring bytes.
type byteRange struct{ lo, hi byte }

// The characters that there are, by the length of their UTF-8. Surrogates are none.
var lengths = []runeRange{{0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, utf8.MaxRune}}

// utf8Ranges returns the sequences of bytes that encode the characters from lo to hi, as few as there can be with a set of bytes
// at each place.
func utf8Ranges(lo, hi rune) [][]byteRange {
	var out [][]byteRange
	for _, l := range lengths {
		if a, b := max(lo, l.lo), min(hi, l.hi); a <= b {
			out = append(out, sameLength(a, b)...)
		}
	}
	return out
}

// sameLength is utf8Ranges for characters of one length.
func sameLength(lo, hi rune) [][]byteRange {
	// What differs after the first byte that differs has to be whole: cut off what is not.
	for shift := 6; shift <= 18; shift += 6 {
		low := rune(1)<<shift - 1
		if lo&^low == hi&^low {
			break // They differ in these last bytes only, and shorter cuts have been made.
		}
		if lo&low != 0 {
			return append(sameLength(lo, lo|low), sameLength(lo|low+1, hi)...)
		}
		if hi&low != low {
			return append(sameLength(lo, hi&^low-1), sameLength(hi&^low, hi)...)
		}
	}
	var a, b [utf8.UTFMax]byte
	n := utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	bytes := make([]byteRange, n)
	for i := range bytes {
		bytes[i] = byteRange{a[i], b[i]}
	}
	return [][]byteRange{bytes}
}
