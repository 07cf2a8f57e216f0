package opus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"testing"
	"testing/iotest"

	"riposte/audio"
)

// page writes a page with the packets, each of fewer than 255 bytes.
func page(serial uint32, packets ...[]byte) []byte {
	b := append([]byte("OggS\x00\x00"), make([]byte, 8)...)
	b = binary.LittleEndian.AppendUint32(b, serial)
	b = append(b, make([]byte, 8)...) // number and checksum
	b = append(b, byte(len(packets)))
	for _, p := range packets {
		b = append(b, byte(len(p)))
	}
	return append(b, bytes.Join(packets, nil)...)
}

var oggHead = append([]byte("OpusHead\x01\x01"), 0x38, 0x01, 0, 0, 0, 0, 0, 0, 0) // 312 samples to be skipped

func TestOggStream(t *testing.T) {
	e := Encoder{Rate: 24000}
	if err := e.Open(); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	file := page(7, oggHead)
	file = append(file, page(9, []byte("of another stream"))...)
	file = append(file, page(7, []byte("OpusTags"))...)
	const frames = 25
	for i := range frames {
		pcm := make(audio.PCM, 480)
		for j := range pcm {
			pcm[j] = int16(8000 * math.Sin(2*math.Pi*440*float64(i*480+j)/24000))
		}
		p, err := e.Encode(pcm)
		if err != nil {
			t.Fatal(err)
		}
		file = append(file, page(7, bytes.Clone(p))...)
	}
	var got audio.PCM
	err := Stream(iotest.OneByteReader(bytes.NewReader(file)), 24000, func(p audio.PCM) error { got = append(got, p...); return nil })
	if err != nil || len(got) != frames*480-156 || math.Abs(got[4800:].Level()-(20*math.Log10(8000/math.Sqrt2/32768))) > 1 {
		t.Errorf("%d samples of %.1f dB, %v", len(got), got.Level(), err)
	}
	if err := Stream(bytes.NewReader(file[:len(file)-3]), 24000, func(audio.PCM) error { return nil }); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut: %v", err)
	}
}

func FuzzOgg(f *testing.F) {
	f.Add(append(page(1, oggHead, []byte("OpusTags")), page(1, []byte{0xf8, 1, 2}, nil)...))
	f.Add([]byte("OggS"))
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := OpenOgg(bytes.NewReader(b))
		for n := 0; err == nil; n++ {
			if _, err = o.Next(); n > len(b) {
				t.Fatal("more packets than bytes")
			}
		}
	})
}
