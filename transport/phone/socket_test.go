package phone

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// connect returns both ends of a WebSocket, the first one held to the limits.
func connect(t *testing.T, limits Limits) (*Socket, *websocket.Conn) {
	t.Helper()
	s := &Server{Limits: limits}
	came := make(chan *Socket, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := s.Upgrade(w, r, "media")
		if err != nil {
			t.Error(err)
		}
		came <- socket
	}))
	t.Cleanup(server.Close)
	far, _, err := (&websocket.Dialer{Subprotocols: []string{"media"}}).Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	if far.Subprotocol() != "media" {
		t.Errorf("subprotocol %q", far.Subprotocol())
	}
	return <-came, far
}

func TestSocket(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(far *websocket.Conn) error
		want func(error) bool
		code int // That the far side is told.
	}{
		"too long": {
			func(far *websocket.Conn) error { return far.WriteMessage(websocket.TextMessage, make([]byte, 1001)) },
			func(err error) bool {
				m, ok := errors.AsType[*Misuse](err)
				return ok && strings.Contains(m.Message, "1000 bytes")
			},
			websocket.CloseMessageTooBig,
		},
		"silent": {
			func(*websocket.Conn) error { return nil },
			func(err error) bool { return errors.Is(err, transport.ErrIdle) },
			websocket.ClosePolicyViolation,
		},
		"hung up": {
			func(far *websocket.Conn) error {
				return far.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
			},
			func(err error) bool { return errors.Is(err, transport.ErrHungUp) },
			websocket.CloseNormalClosure,
		},
		"cut off": {
			func(far *websocket.Conn) error { return far.NetConn().Close() },
			func(err error) bool { return errors.Is(err, transport.ErrLost) },
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, far := connect(t, Limits{Message: 1000, Idle: 100 * time.Millisecond})
			told := make(chan int, 1)
			go func() {
				_, _, err := far.ReadMessage()
				code := 0
				if e, ok := errors.AsType[*websocket.CloseError](err); ok {
					code = e.Code
				}
				told <- code
			}()
			if err := c.do(far); err != nil {
				t.Fatal(err)
			}
			_, _, err := s.Next()
			if !c.want(err) {
				t.Errorf("the error is %v", err)
			}
			s.Close(err)
			if code := <-told; c.code != 0 && code != c.code {
				t.Errorf("the far side was told %d, not %d", code, c.code)
			}
		})
	}
}

// A far side that does not read may not hold anybody up for longer than the limit.
func TestSocketSlowReader(t *testing.T) {
	s, _ := connect(t, Limits{Write: 50 * time.Millisecond})
	for range 1000 {
		if err := s.WriteBinary(make([]byte, 60_000)); err != nil {
			if !errors.Is(err, transport.ErrSlowReader) {
				t.Errorf("the error is %v", err)
			}
			return
		}
	}
	t.Error("60 MB were sent to somebody who does not read")
}
