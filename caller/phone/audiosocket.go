package phone

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/google/uuid"

	"riposte/audio"
)

// The kinds of frames of AudioSocket.
const (
	kindHangUp = 0x00
	kindID     = 0x01
	kindDigit  = 0x03
	kindSound  = 0x10 // At 8000 Hz; those behind it are at the rates behind it.
)

// soundRates are those of the kinds from kindSound on, in hertz.
var soundRates = []int{8000, 12000, 16000, 24000, 32000, 44100, 48000, 96000, 192000}

// tcp is a call by AudioSocket.
type tcp struct {
	conn net.Conn
	in   *bufio.Reader
	name uuid.UUID
	hz   int
	kind byte // Of sound.
}

var _ line = (*tcp)(nil)

// dialAudioSocket connects.
func (p *Phone) dialAudioSocket(ctx context.Context) (line, error) {
	t := &tcp{name: uuid.New(), hz: cmp.Or(p.Rate, telephoneHz)}
	if p.ID != "" {
		var err error
		if t.name, err = uuid.Parse(p.ID); err != nil {
			return nil, err
		}
	}
	for i, hz := range soundRates {
		if hz == t.hz {
			t.kind = byte(kindSound + i)
		}
	}
	if t.kind == 0 {
		return nil, fmt.Errorf("AudioSocket has no sound at %d Hz, but at %v", t.hz, soundRates)
	}
	const asterisks = 2 * time.Second // How long Asterisk tries.
	ctx, cancel := context.WithTimeout(ctx, asterisks)
	defer cancel()
	var err error
	if t.conn, err = p.dialer()(ctx, "tcp", p.Address); err != nil {
		return nil, err
	}
	t.in = bufio.NewReader(t.conn)
	return t, nil
}

func (t *tcp) id() string { return t.name.String() }

func (t *tcp) rate() int { return t.hz }

func (t *tcp) send(kind byte, payload []byte) error {
	b := append(binary.BigEndian.AppendUint16([]byte{kind}, uint16(len(payload))), payload...)
	_ = t.conn.SetWriteDeadline(time.Now().Add(writeWait)) // a connection that has none is closed
	_, err := t.conn.Write(b)
	return err
}

func (t *tcp) begin() error { return t.send(kindID, t.name[:]) }

func (t *tcp) say(p audio.PCM) error { return t.send(t.kind, p.AppendBytes(nil)) }

func (t *tcp) press(digit rune) error { return t.send(kindDigit, []byte(string(digit))) }

func (t *tcp) played(string) error { return nil } // there are no marks

func (t *tcp) end() { _ = t.send(kindHangUp, nil) } // it may be gone

func (t *tcp) close() { _ = t.conn.Close() }

func (t *tcp) receive(fault func(string, ...any)) (order, error) {
	var head [3]byte
	if _, err := io.ReadFull(t.in, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			fault("the connection ended in the middle of a frame's head")
		}
		return nil, fmt.Errorf("the service ended the call: %w", err)
	}
	payload := make([]byte, binary.BigEndian.Uint16(head[1:]))
	if _, err := io.ReadFull(t.in, payload); err != nil {
		fault("the connection ended in the middle of a frame of %d bytes", len(payload))
		return nil, fmt.Errorf("the service ended the call: %w", err)
	}
	return t.understand(head[0], payload, fault), nil
}

// understand reads a frame. Asterisk ends a call on which another one comes.
func (t *tcp) understand(kind byte, payload []byte, fault func(string, ...any)) order {
	switch {
	case kind == kindHangUp:
		if len(payload) > 0 {
			fault("a hang-up of %d bytes", len(payload))
		}
		return hangUp{}
	case kind != t.kind:
		fault("a frame of the kind 0x%02x: the call's sound is 0x%02x, and Asterisk takes nothing else but a hang-up", kind, t.kind)
		return nothing{}
	case len(payload) != 2*audio.Samples(frame, t.hz):
		fault("a frame of %d bytes of sound: 20 ms are %d", len(payload), 2*audio.Samples(frame, t.hz))
		if len(payload) == 0 || len(payload)%2 > 0 {
			return nothing{}
		}
	}
	return play{audio.FromBytes(payload)}
}
