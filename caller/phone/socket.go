package phone

import (
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// socket is a WebSocket that many may write to, and one reads.
type socket struct {
	ws *websocket.Conn
	mu sync.Mutex // Held while a message is written.
}

func newSocket(ws *websocket.Conn) *socket {
	ws.SetReadLimit(maxMessage)
	return &socket{ws: ws}
}

func (s *socket) write(kind int, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.ws.SetWriteDeadline(time.Now().Add(writeWait)) // it never fails
	return s.ws.WriteMessage(kind, b)
}

func (s *socket) read() (text bool, b []byte, err error) {
	kind, b, err := s.ws.ReadMessage()
	if err != nil {
		return false, nil, fmt.Errorf("the service ended the call: %w", err)
	}
	return kind == websocket.TextMessage, b, nil
}

// part says good-bye.
func (s *socket) part() {
	_ = s.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second)) // it may be gone
}

func (s *socket) close() { _ = s.ws.Close() }
