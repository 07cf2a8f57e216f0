package opus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"riposte/audio"
)

// Files of Opus are Ogg: pages of up to 255 segments of up to 255 bytes each. A segment of less ends a packet, and the packets of the first
// two pages are headers (RFC 3533 and RFC 7845).

// mostFilePacket is more than any packet has: 48 frames of 1275 bytes, and what says how long each is.
const mostFilePacket = 64 << 10

// ReadFile decodes a file of Opus in Ogg at a rate that Decoder has. The sound may last as long as audio.MaxFileDuration. The error is,
// wrapped, one of package audio's, or ErrMissing.
func ReadFile(r io.Reader, rate int) (audio.PCM, error) {
	packets := &oggReader{r: bufio.NewReader(r)}
	head, err := packets.next()
	if err != nil {
		return nil, fmt.Errorf("%w: Ogg: %w", audio.ErrFormat, err)
	}
	if len(head) < 19 || string(head[:8]) != "OpusHead" {
		return nil, fmt.Errorf("%w: Ogg without Opus, such as Vorbis; convert it with: ffmpeg -i IN OUT.wav", audio.ErrFormat)
	}
	if channels, family := head[9], head[18]; channels < 1 || channels > 2 || family > 1 {
		return nil, fmt.Errorf("%w: Opus of %d channels; it may have one or two", audio.ErrFormat, channels)
	}
	skip := int(binary.LittleEndian.Uint16(head[10:])) * rate / Clock
	if _, err := packets.next(); err != nil { // who made it, and what it is called
		return nil, fmt.Errorf("%w: Opus without its second header", audio.ErrCut)
	}
	d := Decoder{Rate: rate}
	if err := d.Open(); err != nil {
		return nil, err
	}
	defer d.Close()
	var sound audio.PCM
	for {
		packet, err := packets.next()
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && len(sound) > 0 {
			return sound[min(skip, len(sound)):], nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: Ogg: %w", audio.ErrFormat, err)
		}
		if len(packet) == 0 {
			continue
		}
		p, err := d.Decode(packet)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", audio.ErrFormat, err)
		}
		if sound = append(sound, p...); sound.Duration(rate) > audio.MaxFileDuration {
			return nil, fmt.Errorf("%w: more than %v", audio.ErrTooLong, audio.MaxFileDuration)
		}
	}
}

// oggReader takes packets out of pages. Pages of other streams than the first are left out.
type oggReader struct {
	r        *bufio.Reader
	serial   uint32
	begun    bool
	segments []byte // Lengths of what is left of the page.
	packet   []byte
}

var errNoPage = errors.New("no page where one should be")

// next returns the next packet, valid until the call after it; io.EOF behind the last.
func (o *oggReader) next() ([]byte, error) {
	o.packet = o.packet[:0]
	for {
		for len(o.segments) > 0 {
			n := int(o.segments[0])
			o.segments = o.segments[1:]
			at := len(o.packet)
			if at+n > mostFilePacket {
				return nil, fmt.Errorf("a packet of more than %d bytes", mostFilePacket)
			}
			o.packet = append(o.packet, make([]byte, n)...)
			if _, err := io.ReadFull(o.r, o.packet[at:]); err != nil {
				return nil, io.ErrUnexpectedEOF
			}
			if n < 255 {
				return o.packet, nil
			}
		}
		if err := o.page(); err != nil {
			return nil, err
		}
	}
}

// page reads the head of the next page of the stream.
func (o *oggReader) page() error {
	for {
		var head [27]byte
		if _, err := io.ReadFull(o.r, head[:]); err != nil {
			return err // EOF where there is nothing more at all
		}
		if string(head[:4]) != "OggS" || head[4] != 0 {
			return errNoPage
		}
		lengths := make([]byte, head[26])
		if _, err := io.ReadFull(o.r, lengths); err != nil {
			return io.ErrUnexpectedEOF
		}
		serial := binary.LittleEndian.Uint32(head[14:])
		if !o.begun {
			o.serial, o.begun = serial, true
		}
		if serial == o.serial {
			o.segments = lengths
			return nil
		}
		other := 0
		for _, n := range lengths {
			other += int(n)
		}
		if _, err := o.r.Discard(other); err != nil {
			return io.ErrUnexpectedEOF
		}
	}
}
