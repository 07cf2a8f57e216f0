package track

import (
	"errors"
	"io"
	"time"

	"github.com/pion/rtp"

	"riposte/audio/opus"
)

// Packet is one packet of sound that came.
type Packet struct {
	Seq     uint16
	TS      uint32 // In samples of opus.Clock.
	Payload []byte
	Length  int       // How long it sounds, in samples of opus.Clock; 0 for one without sound, or that is no Opus.
	At      time.Time // When it came.
}

// Read returns what came in a packet of RTP.
func Read(p *rtp.Packet, at time.Time) Packet {
	length, ok := opus.Length(p.Payload)
	if !ok {
		length = 0
	}
	return Packet{Seq: p.SequenceNumber, TS: p.Timestamp, Payload: p.Payload, Length: length, At: at}
}

// Ended reports whether an error of reading a track says that nothing comes any more. Else it is about one packet: it was longer than any of
// sound can be, or of a number that nobody has agreed on.
func Ended(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) }
