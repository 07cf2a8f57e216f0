package caller

import (
	"fmt"

	"riposte/audio"
)

// Format is how sound is coded on the wire, both ways.
type Format string

// The formats of the protocol.
const (
	PCM   Format = "pcm"  // 16 bits at 24 kHz.
	MuLaw Format = "pcmu" // 8 bits at 8 kHz, as on telephone lines in America and Japan.
	ALaw  Format = "pcma" // 8 bits at 8 kHz, as on telephone lines elsewhere.
)

// Rate returns the format's rate in hertz.
func (f Format) Rate() int {
	if f == PCM {
		return 24000
	}
	return audio.G711Rate
}

// wire returns the format as the protocol writes it.
func (f Format) wire() map[string]any {
	if f == PCM {
		return map[string]any{"type": "audio/pcm", "rate": f.Rate()}
	}
	return map[string]any{"type": "audio/" + string(f)}
}

// encode appends p to b.
func (f Format) encode(b []byte, p audio.PCM) []byte {
	switch f {
	case MuLaw:
		return p.AppendMuLaw(b)
	case ALaw:
		return p.AppendALaw(b)
	}
	return p.AppendBytes(b)
}

// decode returns the sound in b.
func (f Format) decode(b []byte) (audio.PCM, error) {
	switch {
	case f == MuLaw:
		return audio.FromMuLaw(b), nil
	case f == ALaw:
		return audio.FromALaw(b), nil
	case len(b)%2 != 0:
		return nil, fmt.Errorf("%w: %d bytes of 16-bit sound", ErrGarbage, len(b))
	}
	return audio.FromBytes(b), nil
}
