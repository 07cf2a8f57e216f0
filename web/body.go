package web

import (
	"io"
	"net/http"
	"time"
)

// WithBodyLimit returns routes whose requests have to bring the whole of their bodies within a time from when their headers are there.
// One that does not is read no further, whether its handler reads it or has answered without: then its connection is closed. What a
// handler takes after the body counts for nothing, and neither does a connection that becomes a WebSocket.
func WithBodyLimit(routes http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			routes.ServeHTTP(w, r)
			return
		}
		c := http.NewResponseController(w)
		if err := c.SetReadDeadline(time.Now().Add(limit)); err == nil {
			r.Body = &timedBody{r.Body, c}
		}
		routes.ServeHTTP(w, r)
	})
}

// timedBody is a body with a deadline, which ends with it: afterwards net/http goes on reading to notice when the client leaves.
type timedBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.conn.SetReadDeadline(time.Time{}) // it could be set
	}
	return n, err
}
