package audio

import (
	"math"
	"math/bits"
	"testing"
)

// decodeALaw and decodeMuLaw follow tables 1a and 2a of G.711: a sign, three bits of segment, four bits of step. The
// result is scaled to 16 bits.
func decodeALaw(c byte) int {
	c ^= 0x55
	step, segment := int(c&15), int(c>>4&7)
	v := step<<4 + 8
	if segment > 0 {
		v = (v + 256) << (segment - 1)
	}
	if c&0x80 == 0 {
		return -v
	}
	return v
}

func decodeMuLaw(c byte) int {
	c = ^c
	step, segment := int(c&15), int(c>>4&7)
	v := (step<<3+132)<<segment - 132
	if c&0x80 != 0 {
		return -v
	}
	return v
}

// encodeALaw and encodeMuLaw follow the same tables the other way, on 12 bits and on 13 bits of magnitude, in which a
// negative value is taken as its ones' complement.
func encodeALaw(s int) byte {
	sign := 0x80
	if s < 0 {
		s, sign = -s-1, 0
	}
	v := s >> 4
	if segment := bits.Len(uint(v)) - 4; segment > 0 {
		v = segment<<4 | v>>(segment-1)&15
	}
	return byte(sign|v) ^ 0x55
}

func encodeMuLaw(s int) byte {
	sign := 0
	if s < 0 {
		s, sign = -s-1, 0x80
	}
	v := min(s>>2+33, 0x1fff)
	segment := bits.Len(uint(v)) - 6
	return ^byte(sign | segment<<4 | v>>(segment+1)&15)
}

func TestG711EveryCode(t *testing.T) {
	for c := range 256 {
		b := []byte{byte(c)}
		if got, want := FromALaw(b), decodeALaw(byte(c)); int(got[0]) != want {
			t.Errorf("A-law %#x = %d, want %d", c, got[0], want)
		}
		if got, want := FromMuLaw(b), decodeMuLaw(byte(c)); int(got[0]) != want {
			t.Errorf("mu-law %#x = %d, want %d", c, got[0], want)
		}
		if got := FromALaw(b).AppendALaw(nil); got[0] != byte(c) {
			t.Errorf("A-law %#x came back as %#x", c, got[0])
		}
		// Mu-law has two zeros, and silence is the positive one.
		want := byte(c)
		if want == 0x7f {
			want = 0xff
		}
		if got := FromMuLaw(b).AppendMuLaw(nil); got[0] != want {
			t.Errorf("mu-law %#x came back as %#x, want %#x", c, got[0], want)
		}
	}
}

func TestG711EverySample(t *testing.T) {
	for s := math.MinInt16; s <= math.MaxInt16; s++ {
		p := PCM{int16(s)}
		if got, want := p.AppendALaw(nil)[0], encodeALaw(s); got != want {
			t.Fatalf("A-law of %d = %#x, want %#x", s, got, want)
		}
		if got, want := p.AppendMuLaw(nil)[0], encodeMuLaw(s); got != want {
			t.Fatalf("mu-law of %d = %#x, want %#x", s, got, want)
		}
	}
}

func TestG711DoesNotAllocate(t *testing.T) {
	p, b := make(PCM, 160), make([]byte, 0, 160)
	if n := testing.AllocsPerRun(100, func() { p.AppendMuLaw(b); p.AppendALaw(b) }); n != 0 {
		t.Errorf("encoding a frame allocates %v times", n)
	}
}
