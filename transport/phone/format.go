package phone

import (
	"encoding/binary"
	"fmt"
	"time"

	"riposte/audio"
)

// Encoding is how samples are written on a wire.
type Encoding string

// The encodings of telephone lines.
const (
	MuLaw  Encoding = "mulaw"  // G.711, one byte a sample.
	ALaw   Encoding = "alaw"   // The same.
	Linear Encoding = "linear" // 16 bits, the lower byte first.
)

// Format is how sound is written on a wire: one channel of it.
type Format struct {
	Encoding Encoding
	Rate     int // In hertz.
}

// String names the format, as in "mulaw at 8000 Hz".
func (f Format) String() string { return fmt.Sprintf("%s at %d Hz", f.Encoding, f.Rate) }

// Bytes returns how many bytes a frame of FrameLength has.
func (f Format) Bytes() int { return f.Rate / 50 * f.width() }

// width returns how many bytes a sample has.
func (f Format) width() int {
	if f.Encoding == Linear {
		return 2
	}
	return 1
}

// Append appends p, which has the format's rate, to b, and returns the result.
func (f Format) Append(b []byte, p audio.PCM) []byte {
	switch f.Encoding {
	case MuLaw:
		return p.AppendMuLaw(b)
	case ALaw:
		return p.AppendALaw(b)
	}
	for _, s := range p {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}

// Decode returns the sound in b. Half a sample at its end is left out: a Misuse, which whoever reads the wire finds.
func (f Format) Decode(b []byte) audio.PCM {
	switch f.Encoding {
	case MuLaw:
		return audio.FromMuLaw(b)
	case ALaw:
		return audio.FromALaw(b)
	}
	p := make(audio.PCM, len(b)/2)
	for i := range p {
		p[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return p
}

// length returns how long a number of bytes sounds.
func (f Format) length(bytes int) time.Duration { return audio.Duration(bytes/f.width(), f.Rate) }

// silence returns so many bytes of silence.
func (f Format) silence(bytes int) []byte { return f.Append(nil, make(audio.PCM, bytes/f.width())) }
