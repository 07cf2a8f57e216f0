package asterisk

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"riposte/transport/phone"
)

const longest = 64 << 10

// frames are what Asterisk sends: a UUID, sound of each rate, a key, an error and a hang-up.
func frames() (all []frame) {
	all = append(all, frame{identity, []byte("0123456789abcdef")})
	for _, rate := range rates {
		all = append(all, frame{soundAt(rate), make([]byte, rate/50*2)})
	}
	return append(all, frame{digit, []byte("#")}, frame{failure, []byte{1}}, frame{failure, []byte{}}, frame{hangUp, []byte{}})
}

func TestFrames(t *testing.T) {
	var wire []byte
	for _, f := range frames() {
		wire = appendFrame(wire, f)
	}
	r := bytes.NewReader(wire)
	for _, want := range frames() {
		got, err := readFrame(r, longest)
		if err != nil || got.kind != want.kind || !bytes.Equal(got.payload, want.payload) {
			t.Errorf("a frame of the kind %#x came back as %#x of %d bytes, %v", want.kind, got.kind, len(got.payload), err)
		}
	}
	if _, err := readFrame(r, longest); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestNoFrames(t *testing.T) {
	for name, c := range map[string]struct{ wire, want string }{
		"text":             {"GET / HTTP/1.1\r\n\r\n", "0x47"},
		"an unknown kind":  {"\x19\x00\x02ab", "0x19"},
		"a short UUID":     {"\x01\x00\x0f0123456789abcde", "has to have 16"},
		"a UUID as text":   {"\x01\x00\x24f47ac10b-58cc-4372-a567-0e02b2c3d479", "has to have 16"},
		"two keys":         {"\x03\x00\x0212", "has to have 1"},
		"no sound":         {"\x10\x00\x00", "0 bytes"},
		"half a sample":    {"\x10\x00\x03abc", "3 bytes"},
		"more than it may": {"\x10\xff\xfe", "phone.message"},
	} {
		_, err := readFrame(strings.NewReader(c.wire), 60_000)
		if m, ok := errors.AsType[*phone.Misuse](err); !ok || !strings.Contains(m.Message, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, half := range []string{"\x10", "\x10\x01", "\x10\x01\x40abc"} {
		if _, err := readFrame(strings.NewReader(half), longest); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v", half, err)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, one := range frames() {
		f.Add(appendFrame(nil, one))
	}
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0x10, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, wire []byte) {
		r := bytes.NewReader(wire)
		var again []byte
		for {
			one, err := readFrame(r, longest)
			if err != nil {
				break
			}
			again = appendFrame(again, one)
		}
		if !bytes.HasPrefix(wire, again) {
			t.Errorf("%x was read and written as %x", wire, again)
		}
	})
}
