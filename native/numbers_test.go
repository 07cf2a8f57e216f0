package native

import (
	"math"
	"testing"
)

func TestHalfBothWays(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := halfToFloat(h)
		if f != f {
			if back := floatToHalf(f); back&0x7c00 != 0x7c00 || back&0x3ff == 0 {
				t.Fatalf("%04x is not a number, but came back as %04x", h, back)
			}
			continue
		}
		if back := floatToHalf(f); back != h {
			t.Fatalf("%04x = %v came back as %04x", h, f, back)
		}
	}
}

func TestFloatToHalfRounds(t *testing.T) {
	for _, c := range []struct {
		f    float64
		want uint16
	}{
		{1, 0x3c00}, {-2, 0xc000}, {65504, 0x7bff},
		{65519.99, 0x7bff}, {65520, 0x7c00}, {1e9, 0x7c00}, {-1e9, 0xfc00}, // From the middle on it is infinity.
		{1 + 1.0/2048, 0x3c00}, {1 + 3.0/2048, 0x3c02}, {1 + 1.01/2048, 0x3c01}, // Ties go to even.
		{math.Ldexp(1, -24), 0x0001}, {math.Ldexp(1, -25), 0}, {math.Ldexp(1.001, -25), 0x0001}, {math.Ldexp(1, -26), 0},
		{math.Ldexp(1, -14), 0x0400}, {math.Ldexp(1023.9999, -24), 0x0400}, // The largest subnormal carries over.
		{math.Copysign(0, -1), 0x8000},
	} {
		if got := floatToHalf(float32(c.f)); got != c.want {
			t.Errorf("%v = %04x, want %04x", c.f, got, c.want)
		}
	}
}

func TestQ8Block(t *testing.T) {
	values := make([]float32, 2*q8Block)
	values[0], values[1], values[2], values[3], values[31] = 254, -254, 1, -1, 3 // A scale of 2: halves round away from zero.
	got := appendQ8(nil, values)
	if len(got) != 2*q8Bytes {
		t.Fatalf("%d bytes, want %d", len(got), 2*q8Bytes)
	}
	want := make([]byte, 2*q8Bytes)                                                            // The second block is all zero, its scale too.
	want[0], want[1] = 0x00, 0x40                                                              // 2 in half precision.
	want[2], want[3], want[4], want[5], want[2+31] = 127, 0x81 /* -127 */, 1, 0xff /* -1 */, 2 // 0.5, -0.5 and 1.5.
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("byte %d = %d, want %d", i, got[i], want[i])
		}
	}
}

func TestFromQ41(t *testing.T) {
	block := make([]byte, q41Bytes)
	block[1], block[3] = 0x38, 0xbc // A scale of 0.5, a minimum of -1.
	block[4] = 0x2f                 // The first number 15, the seventeenth 2.
	got := fromQ41(block)
	if len(got) != q8Block || got[0] != 6.5 || got[1] != -1 || got[16] != 0 || got[17] != -1 {
		t.Errorf("got %v", got)
	}
}
