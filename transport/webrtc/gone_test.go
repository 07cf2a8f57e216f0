package webrtc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Who has gone before there is an answer holds no place: nobody can connect by it.
func TestGoneBeforeTheAnswer(t *testing.T) {
	var places sync.WaitGroup
	ctx, leave := context.WithCancel(context.Background())
	s := serve(t, Limits{Setup: time.Hour}, listen(nil), func(s *Server) {
		s.Calls.Admit = func() (func(), error) { places.Add(1); return places.Done, nil }
	})
	r := httptest.NewRequestWithContext(ctx, "POST", "/v1/realtime/calls", strings.NewReader(newPeer(t).offer(nil)))
	r.Header.Set("Content-Type", "application/sdp")
	s.ServeHTTP(&departing{ResponseWriter: httptest.NewRecorder(), leave: leave}, r)
	left := make(chan struct{})
	go func() { places.Wait(); close(left) }()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the place is held")
	}
}

// departing is an answer whose reader goes as it comes.
type departing struct {
	http.ResponseWriter
	leave func()
}

func (l *departing) WriteHeader(status int) {
	l.leave()
	l.ResponseWriter.WriteHeader(status)
}
