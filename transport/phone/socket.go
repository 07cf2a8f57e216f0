package phone

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// Socket is a WebSocket to a far side that is held to the limits: what most wires go over. One goroutine may read, and many write.
type Socket struct {
	ws     *websocket.Conn
	limits Limits

	mu sync.Mutex // Held while a message is written.
}

// Upgrade makes a WebSocket of a request, which speaks one of the subprotocols, if any are named. Where it cannot it has answered the request.
func (s *Server) Upgrade(w http.ResponseWriter, r *http.Request, subprotocols ...string) (*Socket, error) {
	// Far sides are no pages: whoever may call shows it by a signature or a token, and no origin says anything.
	u := websocket.Upgrader{Subprotocols: subprotocols, CheckOrigin: func(*http.Request) bool { return true }}
	ws, err := u.Upgrade(w, r, nil)
	if err != nil {
		return nil, err
	}
	return s.Socket(ws), nil
}

// Serve holds a call over a WebSocket that a far side opens. begin reads what that says before the first sound, by Socket.First.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, wire string, begin func(*Socket) (Line, Opening, error)) {
	log := s.log().With("wire", wire, "remote", r.RemoteAddr)
	waits, done := s.Wait(r.Context())
	defer done()
	socket, err := s.Upgrade(w, r)
	if err != nil {
		return // it has answered
	}
	begun := context.AfterFunc(waits, func() { socket.Close(context.Cause(waits)) })
	line, o, err := begin(socket)
	if !begun() {
		err = context.Cause(waits)
	}
	if err != nil {
		if !errors.Is(err, ErrCrowded) { // Wait tells of those
			log.Warn("a connection is refused", "why", err)
		}
		socket.Close(err)
		return
	}
	done()
	err = s.Converse(r.Context(), line, o)
	if _, refused := errors.AsType[*Refusal](err); refused {
		log.Warn("a call is turned away", "from", o.From, "to", o.To, "why", err)
		line.Close(err)
	}
}

// Socket holds a WebSocket to the limits.
func (s *Server) Socket(ws *websocket.Conn) *Socket {
	limits := s.Limits.withDefaults()
	ws.SetReadLimit(int64(limits.Message))
	return &Socket{ws: ws, limits: limits}
}

// Read returns the next message, which has to come within a time. The error is a *Misuse, transport.ErrIdle, transport.ErrHungUp where the far side has said
// good-bye, or transport.ErrLost.
func (s *Socket) Read(within time.Duration) (text bool, message []byte, err error) {
	_ = s.ws.SetReadDeadline(time.Now().Add(within)) // it never fails
	kind, message, err := s.ws.ReadMessage()
	switch {
	case err == nil:
		return kind == websocket.TextMessage, message, nil
	case errors.Is(err, websocket.ErrReadLimit):
		return false, nil, &Misuse{fmt.Sprintf("A message has more than %d bytes (phone.message).", s.limits.Message)}
	case isTimeout(err):
		return false, nil, transport.ErrIdle
	case websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway, websocket.CloseNoStatusReceived):
		return false, nil, transport.ErrHungUp
	}
	return false, nil, transport.ErrLost
}

// First is Read within the limit for far sides that have not said yet which call they bring.
func (s *Socket) First() (text bool, message []byte, err error) { return s.Read(s.limits.Start) }

// Next is Read within the limit for far sides that are silent.
func (s *Socket) Next() (text bool, message []byte, err error) { return s.Read(s.limits.Idle) }

// WriteText sends a text. The error is transport.ErrSlowReader, or transport.ErrLost.
func (s *Socket) WriteText(message []byte) error { return s.write(websocket.TextMessage, message) }

// WriteBinary is WriteText for bytes.
func (s *Socket) WriteBinary(message []byte) error { return s.write(websocket.BinaryMessage, message) }

// WriteJSON is WriteText for what is written as JSON.
func (s *Socket) WriteJSON(message any) error {
	b, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return s.WriteText(b)
}

func (s *Socket) write(kind int, message []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.ws.SetWriteDeadline(time.Now().Add(s.limits.Write)) // it never fails
	switch err := s.ws.WriteMessage(kind, message); {
	case err == nil:
		return nil
	case isTimeout(err):
		return transport.ErrSlowReader
	}
	return transport.ErrLost
}

// Close closes the connection with the close code that belongs to why.
func (s *Socket) Close(why error) {
	code, text := websocket.CloseNormalClosure, ""
	misuse, misused := errors.AsType[*Misuse](why)
	switch {
	case misused:
		code, text = websocket.ClosePolicyViolation, misuse.Message
	case errors.Is(why, transport.ErrSlowReader):
		code, text = websocket.ClosePolicyViolation, "what was sent was not read"
	case errors.Is(why, transport.ErrIdle):
		code, text = websocket.ClosePolicyViolation, "nothing came for too long"
	case errors.Is(why, ErrCrowded):
		code, text = websocket.CloseTryAgainLater, "too many connections say nothing"
	case errors.Is(why, transport.ErrShutdown), errors.Is(why, context.Canceled):
		code, text = websocket.CloseGoingAway, "the service is shutting down"
	}
	const most = 123 // Bytes of a close message's text, by the protocol.
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, text), time.Now().Add(time.Second)) // it may be gone
	_ = s.ws.Close()
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}
