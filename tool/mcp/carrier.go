package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// mostMessage is how many bytes a server may send in one piece.
const mostMessage = 4 << 20

// carrier makes the server's requests: each with its headers, and with an answer that has an end.
type carrier struct {
	next   http.RoundTripper
	header http.Header
}

func (s *Server) carrier() http.RoundTripper {
	next := s.Dial
	if next == nil {
		next = http.DefaultTransport
	}
	return carrier{next, s.Header}
}

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.header {
		r.Header[name] = values
	}
	answer, err := c.next.RoundTrip(r)
	if err == nil && !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") { // whose events have a limit of their own
		answer.Body = &bounded{ReadCloser: answer.Body, left: mostMessage}
	}
	return answer, err
}

// bounded is a body that may not be longer than so much.
type bounded struct {
	io.ReadCloser
	left int
}

var errTooLong = fmt.Errorf("the answer has more than %d bytes", mostMessage)

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// stay refuses to be sent on to another host: headers with secrets go nowhere else.
func stay(r *http.Request, via []*http.Request) error {
	if len(via) >= 5 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
		return errors.New("it sends on to another host")
	}
	return nil
}
