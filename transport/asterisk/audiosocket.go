package asterisk

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/uuid"

	"riposte/transport"
	"riposte/transport/phone"
)

// unheard is how long a call waits for the caller's first sound, which says what rate it has. A telephone that sends none while nobody speaks
// waits for the greeting: then the call begins with the rate of the application AudioSocket().
const unheard = time.Second

// audioSocketWire is what calls of AudioSocket are called in traces.
const audioSocketWire = "audiosocket"

// ServeAudioSocket takes the calls that come by AudioSocket, on a listener that it closes, until ctx ends; then it waits for them to end.
func (s *Server) ServeAudioSocket(ctx context.Context, listener net.Listener) error {
	var held sync.WaitGroup
	defer held.Wait()
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	turnedAway := seldom{log: s.Log}
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // Such as that there are too many open files: it passes.
			s.Log.Warn("taking a connection of AudioSocket", "err", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			continue
		}
		if !s.isPeer(conn.RemoteAddr()) {
			turnedAway.warn(conn, "its address is in none of the networks that may connect (asterisk.peers)")
			_ = conn.Close()
			continue
		}
		waits, done := s.Phone.Wait(ctx)
		held.Go(func() { s.takeAudioSocket(ctx, waits, conn, done) })
	}
}

// seldom tells of connections that are turned away, once a second at most: whoever reaches the port can make as many as they like.
type seldom struct {
	log   *slog.Logger
	last  time.Time
	count int // Since then, or before.
}

func (s *seldom) warn(conn net.Conn, why string) {
	s.count++
	if time.Since(s.last) < time.Second {
		return
	}
	s.log.Warn("connections of AudioSocket are turned away", "count", s.count, "last", conn.RemoteAddr().String(), "why", why)
	s.last, s.count = time.Now(), 0
}

// isPeer reports whether AudioSocket may connect from an address.
func (s *Server) isPeer(from net.Addr) bool {
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return false
	}
	ip := at.Addr().Unmap()
	if len(s.Peers) == 0 {
		return ip.IsLoopback()
	}
	for _, p := range s.Peers {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// takeAudioSocket holds the call that a connection brings. It waits for word of which one that is, and no longer than waits lasts. done says that it
// is known, or that it will not be.
func (s *Server) takeAudioSocket(ctx, waits context.Context, conn net.Conn, done func()) {
	l := newSocketLine(conn, s.Phone.Bounds())
	begun := context.AfterFunc(waits, func() { _ = conn.Close() })
	o, err := s.open(l)
	if !begun() {
		err = context.Cause(waits)
	}
	done()
	if err != nil {
		if !errors.Is(err, phone.ErrCrowded) { // which is told already
			s.Log.Warn("a connection of AudioSocket brought no call", "from", conn.RemoteAddr().String(), "err", err)
		}
		l.Close(err)
		return
	}
	s.converse(ctx, l, o)
}

// open waits for the UUID of a call, and for its first sound.
func (s *Server) open(l *socketLine) (o phone.Opening, err error) {
	id, err := l.identify()
	if err != nil {
		return o, err
	}
	known, ok := s.awaited.take(id, time.Now())
	if !ok && s.Announced {
		return o, phone.Misused("The call %s was not announced, or too long ago: POST /asterisk/announcements gives the UUID for AudioSocket(), for one call (asterisk.announced).", id)
	}
	format, err := l.hear()
	if err != nil {
		return o, err
	}
	l.transfer = func(ctx context.Context, to, note string) error { return s.transfer(ctx, known.Channel, to, note) }
	return phone.Opening{
		Wire: audioSocketWire, ID: id.String(), From: known.From, To: known.To, Route: known.Route, Parameters: known.Parameters,
		In: format, Out: format, Steady: true, // Asterisk ends a call on which nothing is sent for 2 s
	}, nil
}

// socketLine is a call over AudioSocket. Whatever ends it here, Asterisk's dialplan goes on behind AudioSocket().
type socketLine struct {
	conn     net.Conn
	limits   phone.Limits
	sound    kind // What the call has, once it is known.
	transfer func(ctx context.Context, to, note string) error

	reading sync.Mutex // Held while a frame is read.
	in      *bufio.Reader
	first   []phone.Event // What came before the call began.
	between between
	closed  atomic.Bool
}

var _ phone.Transferrer = (*socketLine)(nil)

func newSocketLine(conn net.Conn, limits phone.Limits) *socketLine {
	if t, ok := conn.(*net.TCPConn); ok {
		_ = t.SetNoDelay(true) // Go does by default; a frame that waits for others is late
	}
	return &socketLine{conn: conn, limits: limits, in: bufio.NewReader(conn)}
}

// identify reads the frame that a call begins with.
func (l *socketLine) identify() (uuid.UUID, error) {
	f, err := l.read(l.limits.Start)
	switch {
	case err != nil:
		return uuid.UUID{}, err
	case f.kind != identity:
		return uuid.UUID{}, phone.Misused("The first frame is of the kind 0x%02x: it has to be the call's UUID, 0x01.", byte(f.kind))
	}
	return uuid.UUID(f.payload), nil
}

// mostKeys is how many keys may be pressed before there is any sound; what comes behind them is lost.
const mostKeys = 32

// hear waits for the caller's first sound, and returns the call's format.
func (l *socketLine) hear() (phone.Format, error) {
	for until := time.Now().Add(unheard); l.sound == 0; {
		_ = l.conn.SetReadDeadline(until)
		if _, err := l.in.Peek(1); isTimeout(err) {
			l.sound = sound
			break
		}
		f, err := l.read(l.limits.Start)
		if err != nil {
			return phone.Format{}, err
		}
		if f.kind.rate() != 0 {
			l.sound = f.kind
		}
		e, err := l.event(f)
		if err != nil {
			return phone.Format{}, err
		}
		if l.sound != 0 || len(l.first) < mostKeys {
			l.first = append(l.first, e)
		}
	}
	return phone.Format{Encoding: phone.Linear, Rate: l.sound.rate()}, nil
}

func (l *socketLine) Receive() (phone.Event, error) {
	if len(l.first) > 0 {
		e := l.first[0]
		l.first = l.first[1:]
		return e, nil
	}
	f, err := l.read(l.limits.Idle)
	if err != nil {
		return nil, err
	}
	return l.event(f)
}

// read returns the next frame, all of which has to come within a time.
func (l *socketLine) read(within time.Duration) (frame, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	_ = l.conn.SetReadDeadline(time.Now().Add(within)) // before it is looked whether Close has set another
	if l.closed.Load() {
		return frame{}, transport.ErrHungUp
	}
	f, err := readFrame(l.in, l.limits.Message)
	_, misused := errors.AsType[*phone.Misuse](err)
	switch {
	case l.closed.Load():
		return f, transport.ErrHungUp
	case err == nil, misused:
		return f, err
	case errors.Is(err, io.EOF), isReset(err):
		return f, transport.ErrHungUp
	case isTimeout(err):
		return f, transport.ErrIdle
	}
	return f, transport.ErrLost
}

// event says what a frame is to a call.
func (l *socketLine) event(f frame) (phone.Event, error) {
	if err := l.between.another(); err != nil {
		return nil, err
	}
	switch f.kind {
	case hangUp:
		return nil, transport.ErrHungUp
	case identity:
		return nil, &phone.Misuse{Message: "A second UUID came: a connection brings one call."}
	case digit:
		if d, ok := phone.Digit(string(f.payload)); ok {
			return phone.Key{Digit: d}, nil
		}
		return phone.Nothing{}, nil
	case failure:
		// Some of Asterisk's versions send the code 1 when the caller hangs up.
		if len(f.payload) == 1 && f.payload[0] == 1 {
			return nil, transport.ErrHungUp
		}
		return nil, fmt.Errorf("an error of Asterisk's, %#.16x: %w", f.payload, transport.ErrLost)
	}
	l.between = 0
	if f.kind != l.sound {
		return nil, phone.Misused("Sound came at %d Hz, and the call is at %d Hz: name one format in the dial string, such as c(slin16).", f.kind.rate(), l.sound.rate())
	}
	return phone.Media{Coded: f.payload, Arrived: time.Now()}, nil
}

// Play sends frames of phone.FrameLength, in one piece: Asterisk gives up a call whose frame does not come as a whole within 5 ms.
func (l *socketLine) Play(coded []byte) error {
	size := phone.Format{Encoding: phone.Linear, Rate: l.sound.rate()}.Bytes()
	wire := make([]byte, 0, len(coded)+headerBytes*(len(coded)/size+1))
	for len(coded) > 0 {
		n := min(size, len(coded))
		wire = appendFrame(wire, frame{l.sound, coded[:n]})
		coded = coded[n:]
	}
	return l.write(wire)
}

func (l *socketLine) write(wire []byte) error {
	_ = l.conn.SetWriteDeadline(time.Now().Add(l.limits.Write))
	switch _, err := l.conn.Write(wire); {
	case err == nil:
		return nil
	case isTimeout(err):
		return transport.ErrSlowReader
	case isReset(err):
		return transport.ErrHungUp
	}
	return transport.ErrLost
}

// isReset reports whether a connection was broken off. So Asterisk hangs up: it closes a connection on which there is nearly always something
// that it has not read. One that is lost says nothing.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Transfer leads the caller elsewhere, where the call was announced with the name of its channel and there is a Manager.
func (l *socketLine) Transfer(ctx context.Context, to, note string) error {
	return l.transfer(ctx, to, note)
}

// farewell is how long Asterisk may take to end the connection when it is told.
const farewell = time.Second

// Close tells Asterisk to go on in its dialplan. Whatever it has sent until then is read: a connection that is closed with something unread
// in it is broken off, and Asterisk would not read what it was told.
func (l *socketLine) Close(error) {
	defer l.conn.Close()
	if l.closed.Swap(true) {
		return
	}
	_ = l.conn.SetWriteDeadline(time.Now().Add(farewell))
	if _, err := l.conn.Write(appendFrame(nil, frame{kind: hangUp})); err != nil {
		return
	}
	if t, ok := l.conn.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	}
	until := time.Now().Add(farewell)
	_ = l.conn.SetReadDeadline(until) // so that Receive returns
	l.reading.Lock()
	defer l.reading.Unlock()
	_ = l.conn.SetReadDeadline(until)
	_, _ = io.Copy(io.Discard, l.conn)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
