package realtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// socket is a Line: one client's WebSocket.
type socket struct {
	ws       *websocket.Conn
	limits   Limits
	gave     time.Time // When the last message was received.
	messages [2][]byte // It and the one before it.
	closed   chan struct{}
	pings    sync.WaitGroup
}

var _ Line = (*socket)(nil)

func newSocket(ws *websocket.Conn, limits Limits) *socket {
	s := &socket{ws: ws, limits: limits, closed: make(chan struct{})}
	s.ws.SetReadLimit(limits.Message)
	s.allow()
	s.ws.SetPongHandler(func(string) error { return s.allow() })
	s.pings.Go(s.ping)
	return s
}

// Name is what the wire is called in traces.
func (s *socket) Name() string { return "websocket" }

// allow gives the client time anew to show that it still reads.
func (s *socket) allow() error { return s.ws.SetReadDeadline(time.Now().Add(s.limits.Pong)) }

// Receive returns the client's next message.
func (s *socket) Receive() (Incoming, error) {
	if !s.gave.IsZero() && time.Since(s.gave) > s.limits.Ping {
		_ = s.allow() // it was not the client who kept its pongs waiting
	}
	kind, data, err := s.read()
	s.gave = time.Now()
	switch {
	case errors.Is(err, websocket.ErrReadLimit):
		return Incoming{}, fmt.Errorf("%w: more than %d bytes", ErrTooBig, s.limits.Message)
	case isTimeout(err):
		return Incoming{}, transport.ErrSlowReader
	case err != nil:
		return Incoming{}, transport.ErrHungUp
	}
	if kind != websocket.TextMessage {
		data = nil
	}
	return Incoming{Event: data, At: s.gave}, nil
}

// frequentSize is beyond what the messages have that come all the time: memory for longer ones is not kept. A second of sound has 64 kB.
const frequentSize = 64 << 10

// read reads the next message into the memory of the last but one.
func (s *socket) read() (kind int, data []byte, err error) {
	kind, r, err := s.ws.NextReader()
	if err != nil {
		return kind, nil, err
	}
	s.messages[0], s.messages[1] = s.messages[1], s.messages[0]
	b := bytes.NewBuffer(s.messages[0][:0])
	_, err = b.ReadFrom(r)
	data = b.Bytes()
	if s.messages[0] = data; cap(data) > frequentSize {
		s.messages[0] = nil
	}
	return kind, data, err
}

// Send sends one event as a text message.
func (s *socket) Send(event []byte) error {
	s.ws.SetWriteDeadline(time.Now().Add(s.limits.Write))
	switch err := s.ws.WriteMessage(websocket.TextMessage, event); {
	case err == nil:
		return nil
	case isTimeout(err):
		return transport.ErrSlowReader
	}
	return transport.ErrHungUp
}

// ping asks the client now and then whether it is still there. One that does not answer runs into the deadline of Receive.
func (s *socket) ping() {
	tick := time.NewTicker(s.limits.Ping)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = s.ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(s.limits.Write)) // as above
		case <-s.closed:
			return
		}
	}
}

// Goodbye closes with the close code that belongs to why. This is the one place that knows them.
func (s *socket) Goodbye(why error) {
	code, text := websocket.CloseNormalClosure, ""
	switch {
	case why == nil, errors.Is(why, transport.ErrHungUp):
	case errors.Is(why, transport.ErrSlowReader):
		code, text = websocket.ClosePolicyViolation, "the client does not read"
	case errors.Is(why, ErrTooBig):
		code, text = websocket.CloseMessageTooBig, fmt.Sprintf("a message may have %d bytes", s.limits.Message)
	case errors.Is(why, transport.ErrExpired):
		code, text = websocket.CloseNormalClosure, "the session has expired"
	case errors.Is(why, transport.ErrIdle):
		code, text = websocket.CloseNormalClosure, "the session was idle"
	case errors.Is(why, transport.ErrSilent):
		code, text = websocket.CloseNormalClosure, "nothing was said"
	case errors.Is(why, transport.ErrShutdown), errors.Is(why, context.Canceled):
		code, text = websocket.CloseGoingAway, "the service is shutting down"
	default:
		code, text = websocket.CloseInternalServerErr, "internal error"
	}
	_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second))
}

// Close closes the connection.
func (s *socket) Close() {
	close(s.closed)
	s.ws.Close()
	s.pings.Wait()
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
