package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// readJSON reads a request's body into v.
func (s *Server) readJSON(x *exchange, v any) error {
	b, err := io.ReadAll(s.body(x, s.Limits.Body))
	if err != nil {
		return unread(err, s.Limits.Body)
	}
	if len(b) > smallJSON {
		s.decoding.Lock()
		defer s.decoding.Unlock()
	}
	return decodeJSON(b, v)
}

// smallJSON is how long a request may be, in bytes, that is decoded without waiting for others.
const smallJSON = 64 << 10

// body returns what a request brings, which may have so many bytes. They count as held until the request is answered.
func (s *Server) body(x *exchange, most int64) io.Reader {
	return &counted{s, x, http.MaxBytesReader(x.w, x.r.Body, most)}
}

// counted is a body whose bytes count.
type counted struct {
	s *Server
	x *exchange
	r io.Reader
}

// errHeld refuses a request where others hold as much as all may have.
var errHeld = &Problem{Status: http.StatusTooManyRequests, Code: "too_many_requests", Retry: 2 * time.Second,
	Message: "Other requests take the place that there is for what they send: ask again later. The setting rest.held says how much there is."}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.x.held += int64(n)
	if c.s.held.Add(int64(n)) > c.s.Limits.Held {
		return n, errHeld
	}
	return n, err
}

// unread says why a body could not be read.
func unread(err error, most int64) error {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large",
			Message: fmt.Sprintf("The request is too long: it may have %d bytes here.", most)}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &Problem{Status: http.StatusRequestTimeout, Code: "request_timeout", Message: "The request took too long to come."}
	}
	return &Problem{Status: http.StatusBadRequest, Code: "incomplete_request", Message: fmt.Sprintf("The request cannot be read: %v.", err)}
}

// decodeJSON reads one JSON object. Fields that v does not have are left out.
func decodeJSON(b []byte, v any) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return &Problem{Status: http.StatusBadRequest, Code: "invalid_json", Message: "The request is empty: send a JSON object."}
	}
	err := json.Unmarshal(b, v)
	if err == nil && bytes.TrimSpace(b)[0] != '{' {
		err = errors.New("it is no object")
	}
	return misread(err)
}

// misread turns an error of decoding JSON into a *Problem; nil stays nil.
func misread(err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		field := strings.TrimPrefix(t.Field, "sampling.") // which is not on the wire
		return wrong(field, "%s is a JSON %s, which it cannot be.", field, t.Value)
	}
	return &Problem{Status: http.StatusBadRequest, Code: "invalid_json", Message: fmt.Sprintf("The request is no JSON object: %v.", err)}
}

// isNull reports whether a field is missing or null.
func isNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || string(t) == "null"
}
