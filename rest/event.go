package rest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// send writes the next part of an answer and sees that it leaves.
func (x *exchange) send(b []byte) error {
	_ = x.conn.SetWriteDeadline(time.Now().Add(x.slow)) // without it the end of the connection has to tell
	x.begun = true
	_, err := x.w.Write(b)
	if err == nil {
		err = x.conn.Flush()
	}
	x.lost = err != nil
	return err
}

// event sends an event to a client that listens for them. Its name may be empty, as most are.
func (x *exchange) event(name string, v any) error {
	if !x.stream {
		x.stream = true
		h := x.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
		h.Set("X-Accel-Buffering", "no") // proxies would hold events back
		x.w.WriteHeader(http.StatusOK)
	}
	var b bytes.Buffer
	if name != "" {
		b.WriteString("event: " + name + "\n")
	}
	b.WriteString("data: ")
	if err := json.NewEncoder(&b).Encode(v); err != nil { // it ends in a line feed
		return err
	}
	b.WriteByte('\n')
	return x.send(b.Bytes())
}

// done tells the end of a stream of chunks.
func (x *exchange) done() error { return x.send([]byte("data: [DONE]\n\n")) }

// reply sends a whole answer.
func (x *exchange) reply(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return x.whole("application/json", append(b, '\n'))
}

// whole sends a whole answer of some type.
func (x *exchange) whole(contentType string, b []byte) error {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	return x.send(b)
}

// part sends the next part of an answer of some type, whose length is not known yet.
func (x *exchange) part(contentType string, b []byte) error {
	x.w.Header().Set("Content-Type", contentType)
	return x.send(b)
}
