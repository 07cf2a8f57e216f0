package rest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowly is a body that comes in two parts.
type slowly struct {
	first, rest string
	came        chan struct{} // Closed when the first has been read.
	more        chan struct{}
}

func (s *slowly) Read(p []byte) (n int, err error) {
	if s.first != "" {
		n = copy(p, s.first)
		s.first = s.first[n:]
		return n, nil
	}
	if s.came != nil {
		close(s.came)
		s.came = nil
		<-s.more
	}
	n = copy(p, s.rest)
	if s.rest = s.rest[n:]; n == 0 {
		err = io.EOF
	}
	return n, err
}

// What requests send has an end, also before they have a place; what is answered makes room.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(Engines{LLM: answering("stop", "Hi.")})
		s.Limits.Held = 1000
		h := s.Handler()
		whole := fmt.Sprintf(`{"model": "small", "messages": [{"role": "user", "content": %q}]}`, strings.Repeat("a", 600))
		body := &slowly{first: whole[:600], rest: whole[600:], came: make(chan struct{}), more: make(chan struct{})}
		came, first := body.came, httptest.NewRecorder()
		go h.ServeHTTP(first, httptest.NewRequest("POST", "/v1/chat/completions", body))
		<-came
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(whole)))
		refused(t, w, 429, "too_many_requests", "")
		close(body.more)
		synctest.Wait()
		if first.Code != 200 || s.held.Load() != 0 {
			t.Errorf("who came first was answered %d %s, and %d bytes are held", first.Code, first.Body, s.held.Load())
		}
		if w := ask(t, s, "POST", "/v1/chat/completions", whole); w.Code != 200 {
			t.Errorf("afterwards: %d %s", w.Code, w.Body)
		}
	})
}

// Who sends no more is told so, and not that the service goes down: net/http takes both for the end of the request.
func TestBodyTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := server(Engines{})
		s.Limits.Sending = time.Second
		ours, theirs := net.Pipe()
		listener := &oneConn{conn: ours, end: make(chan struct{})}
		srv := &http.Server{Handler: s.Handler()}
		go func() { _ = srv.Serve(listener) }()
		defer srv.Close()
		defer theirs.Close()
		_, _ = io.WriteString(theirs, "POST /v1/audio/transcriptions HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b\r\n")
		answer, _ := io.ReadAll(theirs)
		if got := string(answer); !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "request_timeout") {
			t.Errorf("it was told %.300s", got)
		}
	})
}

// oneConn is a listener to whom one client comes.
type oneConn struct {
	conn net.Conn
	end  chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.end
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error   { close(l.end); return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// What is wrong is not said at any length.
func TestShort(t *testing.T) {
	w := ask(t, server(Engines{}), "POST", "/v1/chat/completions", `{"model": "small", "messages": [], "n": `+strings.Repeat("9", 1<<20)+`}`)
	refused(t, w, 400, "invalid_value", "n")
	if w.Body.Len() > 2*mostMessage {
		t.Errorf("it is told in %d bytes", w.Body.Len())
	}
}

// A request that comes from the service itself is not answered.
func TestFollow(t *testing.T) {
	s := server(Engines{LLM: answering("stop", "Hi.")})
	s.Follow = func(ctx context.Context, h http.Header) (context.Context, error) {
		if h.Get("Via") == "me" {
			return nil, &Problem{Status: http.StatusLoopDetected, Code: "loop", Message: "It asks itself."}
		}
		return ctx, nil
	}
	for via, want := range map[string]int{"me": 508, "another": 200} {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(chatBody("")))
		r.Header.Set("Via", via)
		w := httptest.NewRecorder()
		if s.Handler().ServeHTTP(w, r); w.Code != want {
			t.Errorf("through %s: %d %s", via, w.Code, w.Body)
		}
	}
}
