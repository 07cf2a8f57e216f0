package track

import (
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
