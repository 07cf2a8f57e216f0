package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRoutes(t *testing.T) {
	var s Status
	calls := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	server := httptest.NewServer(Routes(&s, calls))
	defer server.Close()

	get := func(path string) int {
		t.Helper()
		r, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") == "" {
			t.Errorf("%s does not say when to come again", path)
		}
		return r.StatusCode
	}
	for _, tt := range []struct {
		state State
		ready int
	}{{Loading, 503}, {Ready, 200}, {Draining, 503}} {
		s.Set(tt.state)
		if got := get("/readyz"); got != tt.ready {
			t.Errorf("/readyz says %d while %v, want %d", got, tt.state, tt.ready)
		}
		if got := get("/healthz"); got != 200 {
			t.Errorf("/healthz says %d while %v", got, tt.state)
		}
	}
	if got := get("/v1/realtime"); got != http.StatusTeapot {
		t.Errorf("a call went nowhere: %d", got)
	}
	if got := get("/nowhere"); got != http.StatusNotFound {
		t.Errorf("/nowhere says %d", got)
	}
}

func TestStatus(t *testing.T) {
	var s Status
	if err := s.Enter(2); !errors.Is(err, ErrLoading) {
		t.Errorf("while loading: %v", err)
	}
	s.Set(Ready)
	for range 2 {
		if err := s.Enter(2); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Enter(2); !errors.Is(err, ErrFull) || s.Calls() != 2 {
		t.Errorf("the third of two: %v, %d calls", err, s.Calls())
	}
	s.Leave()
	if err := s.Enter(2); err != nil {
		t.Errorf("after one left: %v", err)
	}
	s.Set(Draining)
	s.Leave()
	if err := s.Enter(2); !errors.Is(err, ErrDraining) {
		t.Errorf("while draining: %v", err)
	}
}
