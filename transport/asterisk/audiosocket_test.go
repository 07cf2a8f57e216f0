package asterisk

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"riposte/transport"
	"riposte/transport/phone"
)

var testUUID = uuid.MustParse("f47ac10b-58cc-4372-a567-0e02b2c3d479")

// pipe returns a call over AudioSocket and the far side of its connection, on which time may be fake.
func pipe(t *testing.T) (*socketLine, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return newSocketLine(near, (&phone.Server{}).Bounds()), far
}

// tcp is pipe over a real connection.
func tcp(t *testing.T, limits phone.Limits) (*socketLine, *net.TCPConn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	far, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	near, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return newSocketLine(near, (&phone.Server{Limits: limits}).Bounds()), far.(*net.TCPConn)
}

// send writes frames, and does not wait for them to be read.
func send(far io.Writer, all ...frame) {
	var wire []byte
	for _, f := range all {
		wire = appendFrame(wire, f)
	}
	go func() { _, _ = far.Write(wire) }()
}

func samples(rate int) frame { return frame{soundAt(rate), make([]byte, rate/50*2)} }

func TestAudioSocketCall(t *testing.T) {
	for _, rate := range rates {
		l, far := tcp(t, phone.Limits{})
		send(far, frame{identity, testUUID[:]}, frame{digit, []byte("d")}, samples(rate), frame{digit, []byte("#")}, frame{digit, []byte("X")}, samples(rate), frame{kind: hangUp})
		if id, err := l.identify(); err != nil || id != testUUID {
			t.Fatalf("%v, %v", id, err)
		}
		if f, err := l.hear(); err != nil || f != (phone.Format{Encoding: phone.Linear, Rate: rate}) {
			t.Fatalf("at %d Hz: %v, %v", rate, f, err)
		}
		for i, want := range []phone.Event{phone.Key{Digit: 'D'}, phone.Media{}, phone.Key{Digit: '#'}, phone.Nothing{}, phone.Media{}} {
			e, err := l.Receive()
			if m, ok := e.(phone.Media); ok {
				if len(m.Coded) != rate/50*2 || m.Arrived.IsZero() {
					t.Errorf("%d bytes of sound came at %v", len(m.Coded), m.Arrived)
				}
				e = phone.Media{}
				if _, ok := want.(phone.Media); !ok {
					t.Errorf("event %d is sound", i)
				}
			} else if e != want || err != nil {
				t.Errorf("event %d is %+v, %v", i, e, err)
			}
		}
		if _, err := l.Receive(); !errors.Is(err, transport.ErrHungUp) {
			t.Errorf("at the end: %v", err)
		}
	}
}

// What does not come, or does not come whole, is waited for no longer than the limits say.
func TestAudioSocketSilence(t *testing.T) {
	limits := (&phone.Server{}).Bounds()
	for name, c := range map[string]struct {
		sent []byte
		do   func(l *socketLine) error
		want error
		in   time.Duration
	}{
		"no UUID":       {nil, func(l *socketLine) error { _, err := l.identify(); return err }, transport.ErrIdle, limits.Start},
		"half a UUID":   {appendFrame(nil, frame{identity, testUUID[:]})[:10], func(l *socketLine) error { _, err := l.identify(); return err }, transport.ErrIdle, limits.Start},
		"no sound":      {nil, func(l *socketLine) error { _, err := l.hear(); return err }, nil, unheard},
		"half a sound":  {appendFrame(nil, samples(8000))[:100], func(l *socketLine) error { _, err := l.hear(); return err }, transport.ErrIdle, limits.Start},
		"then nothing":  {nil, func(l *socketLine) error { _, err := l.Receive(); return err }, transport.ErrIdle, limits.Idle},
		"half a header": {[]byte{0x10, 1}, func(l *socketLine) error { _, err := l.Receive(); return err }, transport.ErrIdle, limits.Idle},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, far := pipe(t)
				go func() { _, _ = far.Write(c.sent) }()
				began := time.Now()
				if err := c.do(l); !errors.Is(err, c.want) {
					t.Errorf("the error is %v", err)
				}
				if took := time.Since(began); took != c.in {
					t.Errorf("it took %v, not %v", took, c.in)
				}
			})
		})
	}
}

// A frame that comes byte by byte has as long as one that comes whole.
func TestAudioSocketTrickle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, far := pipe(t)
		l.sound = sound
		go func() {
			for _, b := range appendFrame(nil, samples(8000)) {
				time.Sleep(time.Second)
				if _, err := far.Write([]byte{b}); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		if _, err := l.Receive(); !errors.Is(err, transport.ErrIdle) || time.Since(began) != l.limits.Idle {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		l.Close(nil)
	})
}

func TestAudioSocketMisuse(t *testing.T) {
	for name, sent := range map[string][]frame{
		"sound in place of the UUID": {samples(8000)},
		"two UUIDs":                  {{identity, testUUID[:]}, samples(8000), {identity, testUUID[:]}},
		"another rate":               {{identity, testUUID[:]}, samples(8000), samples(16000)},
		"half a sample":              {{identity, testUUID[:]}, {sound, []byte{1, 2, 3}}},
		"text":                       {{identity, testUUID[:]}, {kind('G'), []byte("ET / HTTP/1.1")}},
	} {
		l, far := tcp(t, phone.Limits{})
		send(far, sent...)
		_, err := l.identify()
		if err == nil {
			_, err = l.hear()
		}
		for err == nil {
			_, err = l.Receive()
		}
		if !isMisuse(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAudioSocketEnds(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(far *net.TCPConn)
		want error
	}{
		"hung up":     {func(far *net.TCPConn) { send(far, frame{kind: hangUp}) }, transport.ErrHungUp},
		"closed":      {func(far *net.TCPConn) { far.Close() }, transport.ErrHungUp},
		"error 1":     {func(far *net.TCPConn) { send(far, frame{failure, []byte{1}}) }, transport.ErrHungUp},
		"error 2":     {func(far *net.TCPConn) { send(far, frame{failure, []byte{2}}) }, transport.ErrLost},
		"broken off":  {func(far *net.TCPConn) { _ = far.SetLinger(0); far.Close() }, transport.ErrHungUp},
		"in a frame":  {func(far *net.TCPConn) { _, _ = far.Write([]byte{0x10, 1}); far.Close() }, transport.ErrLost},
		"error alone": {func(far *net.TCPConn) { send(far, frame{kind: failure}) }, transport.ErrLost},
	} {
		l, far := tcp(t, phone.Limits{})
		l.sound = sound
		c.do(far)
		if _, err := l.Receive(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAudioSocketPlay(t *testing.T) {
	l, far := tcp(t, phone.Limits{})
	l.sound = soundAt(16000)
	coded := bytes.Repeat([]byte("0123456789abcdef"), 80) // two frames
	if err := l.Play(coded); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		f, err := readFrame(far, longest)
		if err != nil || f.kind != 0x12 || !bytes.Equal(f.payload, coded[i*640:(i+1)*640]) {
			t.Errorf("frame %d has the kind %#x and %d bytes, %v", i, f.kind, len(f.payload), err)
		}
	}
}

// Whoever is told that the call is over reads it, though much of what it has sent was not read.
func TestAudioSocketGoodbye(t *testing.T) {
	l, far := tcp(t, phone.Limits{})
	l.sound = sound
	for range 100 {
		if _, err := far.Write(appendFrame(nil, samples(8000))); err != nil {
			t.Fatal(err)
		}
	}
	received := make(chan error, 1)
	go func() {
		for {
			if _, err := l.Receive(); err != nil {
				received <- err
				return
			}
		}
	}()
	closed := make(chan struct{})
	go func() { l.Close(nil); close(closed) }()
	if f, err := readFrame(far, longest); err != nil || f.kind != hangUp {
		t.Errorf("the far side was told %#x, %v", f.kind, err)
	}
	if _, err := readFrame(far, longest); err != io.EOF {
		t.Errorf("and then %v", err)
	}
	far.Close()
	<-closed
	if err := <-received; !errors.Is(err, transport.ErrHungUp) {
		t.Errorf("Receive returned %v", err)
	}
	l.Close(nil)
}

// Both directions stall: neither may hold anybody up for longer than its limit, and nor may the end.
func TestAudioSocketStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := pipe(t)
		l.sound = sound
		received := make(chan error, 1)
		began := time.Now()
		go func() { _, err := l.Receive(); received <- err }()
		if err := l.Play(make([]byte, 320)); !errors.Is(err, transport.ErrSlowReader) || time.Since(began) != l.limits.Write {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ended := time.Now()
		l.Close(transport.ErrSlowReader)
		if took := time.Since(ended); took > 2*farewell {
			t.Errorf("closing took %v", took)
		}
		if err := <-received; !errors.Is(err, transport.ErrHungUp) {
			t.Errorf("Receive returned %v", err)
		}
	})
}

// Whoever sends without an end can not hold up the end of the call.
func TestAudioSocketEndless(t *testing.T) {
	l, far := tcp(t, phone.Limits{})
	l.sound = sound
	go func() {
		wire := appendFrame(nil, samples(8000))
		for {
			if _, err := far.Write(wire); err != nil {
				return
			}
		}
	}()
	began := time.Now()
	l.Close(nil)
	if took := time.Since(began); took > 10*farewell {
		t.Errorf("closing took %v", took)
	}
}
