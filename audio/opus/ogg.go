package opus

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"riposte/audio"
)

// ErrOgg reports a stream that is no Opus in Ogg.
var ErrOgg = errors.New("not a stream of Opus in Ogg")

// Ogg reads the packets of the first stream in an Ogg file, as RFC 3533 and RFC 7845 lay it out. Checksums are not checked: what comes
// over TCP has some.
type Ogg struct {
	r      io.Reader
	serial uint32
	lacing []byte // Of the page, as far as it was not read.
	part   []byte // Of a packet that goes on.
	skip   int    // Samples of Clock at the beginning that are not meant to be heard.
	pages  int
}

// OpenOgg reads the heads of a stream.
func OpenOgg(r io.Reader) (*Ogg, error) {
	o := &Ogg{r: r}
	head, err := o.Next()
	if err != nil {
		return nil, err
	}
	if len(head) < 19 || !bytes.HasPrefix(head, []byte("OpusHead")) || head[8]>>4 != 0 {
		return nil, fmt.Errorf("%w: there is no head", ErrOgg)
	}
	if head[9] == 0 || head[9] > 2 {
		return nil, fmt.Errorf("%w: %d channels", ErrOgg, head[9])
	}
	o.skip = int(binary.LittleEndian.Uint16(head[10:]))
	tags, err := o.Next()
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(tags, []byte("OpusTags")) {
		return nil, fmt.Errorf("%w: there are no tags", ErrOgg)
	}
	return o, nil
}

// mostOgg is how long a packet may be, in bytes: tags may have a picture in them.
const mostOgg = 1 << 20

// Next returns the next packet. The error is io.EOF behind the last one.
func (o *Ogg) Next() ([]byte, error) {
	for {
		for len(o.lacing) > 0 {
			n := int(o.lacing[0])
			o.lacing = o.lacing[1:]
			at := len(o.part)
			if at+n > mostOgg {
				return nil, fmt.Errorf("%w: a packet of more than %d bytes", ErrOgg, mostOgg)
			}
			o.part = append(o.part, make([]byte, n)...)
			if _, err := io.ReadFull(o.r, o.part[at:]); err != nil {
				return nil, cut(err)
			}
			if n < 255 {
				packet := o.part
				o.part = nil
				return packet, nil
			}
		}
		if err := o.page(); err != nil {
			return nil, err
		}
	}
}

// page reads the head of the next page of the stream.
func (o *Ogg) page() error {
	var head [27]byte
	for {
		if _, err := io.ReadFull(o.r, head[:]); err != nil {
			if errors.Is(err, io.EOF) && o.part == nil && o.pages > 0 {
				return io.EOF
			}
			return cut(err)
		}
		if string(head[:4]) != "OggS" || head[4] != 0 {
			return fmt.Errorf("%w: a page begins with %q", ErrOgg, head[:4])
		}
		lacing := make([]byte, head[26])
		if _, err := io.ReadFull(o.r, lacing); err != nil {
			return cut(err)
		}
		serial := binary.LittleEndian.Uint32(head[14:])
		if o.pages == 0 {
			o.serial = serial
		}
		if o.pages++; serial == o.serial {
			o.lacing = lacing
			return nil
		}
		size := int64(0)
		for _, n := range lacing {
			size += int64(n)
		}
		if _, err := io.CopyN(io.Discard, o.r, size); err != nil {
			return cut(err)
		}
	}
}

// cut names an end that comes too soon.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Stream decodes Opus in Ogg and hands on its sound at a rate, as it comes. yield may keep what it is given, and end the stream with an
// error, which is returned.
func Stream(r io.Reader, rate int, yield func(audio.PCM) error) error {
	ogg, err := OpenOgg(r)
	if err != nil {
		return err
	}
	d := Decoder{Rate: rate}
	if err := d.Open(); err != nil {
		return err
	}
	defer d.Close()
	skip := ogg.skip * rate / Clock
	for {
		packet, err := ogg.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		pcm, err := d.Decode(packet)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrOgg, err)
		}
		n := min(skip, len(pcm))
		skip -= n
		if pcm = pcm[n:]; len(pcm) == 0 {
			continue
		}
		if err := yield(append(audio.PCM(nil), pcm...)); err != nil {
			return err
		}
	}
}
