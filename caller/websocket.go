package caller

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
)

const (
	// maxMessage bounds one event: the protocol's own limit of 15 MiB for sound, in base64, and room for the rest.
	maxMessage = 24 << 20
	// writeWait is how long a server may not read before it is given up.
	writeWait = 10 * time.Second
)

// socket is a line over WebSocket: sound goes and comes within events.
type socket struct {
	conn   *websocket.Conn
	format Format
	coded  []byte

	writing sync.Mutex // Guards the writing side of conn.
}

var _ line = (*socket)(nil)

// connect opens a line over WebSocket.
func (c *Caller) connect(ctx context.Context, address string) (line, error) {
	header := http.Header{}
	if c.Key != "" {
		header.Set("Authorization", "Bearer "+c.Key)
	}
	d := websocket.Dialer{NetDialContext: c.DialContext, Proxy: http.ProxyFromEnvironment}
	conn, resp, err := d.DialContext(ctx, address, header)
	if err != nil {
		return nil, refusal(resp, err)
	}
	conn.SetReadLimit(maxMessage)
	s := &socket{conn: conn, format: PCM}
	if c.Format != "" {
		s.format = c.Format
	}
	return s, nil
}

// refusal says why a server did not let the caller in. Without its answer that is err.
func refusal(resp *http.Response, err error) error {
	if resp == nil {
		return err
	}
	said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10)) // what is said beyond it is for nobody
	resp.Body.Close()
	if resp.StatusCode == http.StatusServiceUnavailable || resp.StatusCode == http.StatusTooManyRequests {
		return newBusyError(resp, said)
	}
	text := strings.Join(strings.Fields(string(said[:min(len(said), 300)])), " ")
	if _, message, ok := errorIn(said); ok && message != "" {
		text = message
	}
	if resp.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%w (%s): %s", ErrKey, resp.Status, text)
	}
	return fmt.Errorf("the server says %s: %s", resp.Status, text)
}

func (s *socket) streams() bool { return false }

func (s *socket) send(e clientEvent) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.conn.SetWriteDeadline(time.Now().Add(writeWait)) // It never fails.
	if err := s.conn.WriteJSON(e); err != nil {
		return fmt.Errorf("%w: sending: %w", ErrEnded, err)
	}
	return nil
}

func (s *socket) say(frame audio.PCM) error {
	s.coded = s.format.encode(s.coded[:0], frame)
	return s.send(clientEvent{Type: "input_audio_buffer.append", Audio: s.coded})
}

func (s *socket) receive() (arrival, error) {
	_, b, err := s.conn.ReadMessage()
	if err != nil {
		return arrival{}, fmt.Errorf("%w: %w", ErrEnded, err)
	}
	return arrival{event: b}, nil
}

func (s *socket) close(polite bool) {
	if polite { // if the socket takes it
		s.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	}
	s.conn.Close()
}
