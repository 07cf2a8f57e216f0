package asterisk

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/google/uuid"

	"riposte/transport/phone"
)

// kind says what a frame of AudioSocket holds: its first byte, as in Asterisk's include/asterisk/res_audiosocket.h.
type kind byte

const (
	hangUp   kind = 0x00
	identity kind = 0x01 // A UUID, the first of all frames.
	digit    kind = 0x03 // A key, in ASCII.
	sound    kind = 0x10 // 16-bit samples, the lower byte first: the kinds from here on have one of the rates each.
	failure  kind = 0xff // A code of what went wrong at Asterisk's, or nothing.
)

// rates are those that Asterisk has linear sound of, in hertz. It calls their formats slin, slin12, slin16 and so on.
var rates = [...]int{8000, 12000, 16000, 24000, 32000, 44100, 48000, 96000, 192000}

// soundAt returns the kind of sound that has a rate, which is one of rates.
func soundAt(rate int) kind {
	for i, r := range rates {
		if r == rate {
			return sound + kind(i)
		}
	}
	panic(fmt.Sprintf("there is no sound of %d Hz", rate))
}

// rate returns the rate of sound; 0 where a frame holds none.
func (k kind) rate() int {
	if k < sound || k >= sound+kind(len(rates)) {
		return 0
	}
	return rates[k-sound]
}

// frame is one frame of AudioSocket: a kind, the length of what follows in two bytes, the higher one first, and that.
type frame struct {
	kind    kind
	payload []byte
}

const headerBytes = 3

// readFrame reads the next frame, of which no more than longest bytes are taken. What is no frame is a *phone.Misuse, and is found before
// anything is made room for.
func readFrame(r io.Reader, longest int) (frame, error) {
	var header [headerBytes]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, err
	}
	k, n := kind(header[0]), int(binary.BigEndian.Uint16(header[1:]))
	if err := k.takes(n, longest); err != nil {
		return frame{}, err
	}
	f := frame{k, make([]byte, n)}
	_, err := io.ReadFull(r, f.payload)
	return f, err
}

// takes says why a frame of the kind may not have n bytes.
func (k kind) takes(n, longest int) error {
	want := -1
	switch {
	case k == identity:
		want = len(uuid.UUID{})
	case k == digit:
		want = 1
	case k == hangUp, k == failure:
	case k.rate() == 0:
		return phone.Misused("A frame is of the kind 0x%02x, which AudioSocket has none of: only Asterisk's AudioSocket may connect to this port.", byte(k))
	case n == 0 || n%2 != 0:
		return phone.Misused("A frame of sound has %d bytes: it has to have two for each sample, and some.", n)
	}
	switch {
	case want >= 0 && n != want:
		return phone.Misused("A frame of the kind 0x%02x has %d bytes: it has to have %d.", byte(k), n, want)
	case n > longest:
		return phone.Misused("A frame has %d bytes: the most are %d (phone.message).", n, longest)
	}
	return nil
}

// appendFrame appends a frame to b.
func appendFrame(b []byte, f frame) []byte {
	b = append(b, byte(f.kind))
	b = binary.BigEndian.AppendUint16(b, uint16(len(f.payload)))
	return append(b, f.payload...)
}
