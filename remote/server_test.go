package remote

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"riposte/budget"
)

// open returns a server that answers so.
func open(t *testing.T, answer http.HandlerFunc, change func(*Server)) *Server {
	t.Helper()
	there := httptest.NewServer(answer)
	t.Cleanup(there.Close)
	a, err := Parse(there.URL + "/v1#tiny")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: a, Stage: budget.TTS, Key: "sk-very-secret-key", Limits: Limits{Rest: 10 * time.Millisecond, Ping: 10 * time.Millisecond, Failures: 2}}
	if change != nil {
		change(s)
	}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		status     int
		unsure     string
		err        string
	}{
		{"it is there", `{"data":[{"id":"other"},{"id":"tiny"}]}`, 200, "", ""},
		{"with a tag", `{"data":[{"id":"tiny:latest"}]}`, 200, "", ""},
		{"another is", `{"data":[{"id":"other"}]}`, 200, "does not list a model \"tiny\" (it has: other)", ""},
		{"no lists", `{}`, 404, "lists no models", ""},
		{"a wrong key", `{"error":{"message":"no key sk-very-secret-key"}}`, 401, "", "401 Unauthorized: no key *** (set the stage's key)"},
		{"broken", `oh`, 500, "", "500 Internal Server Error: oh"},
		{"something else", `<html>`, 200, "", "makes no sense"},
	} {
		s := open(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-very-secret-key" {
				t.Errorf("asked for %s with %v", r.URL, r.Header)
			}
			w.WriteHeader(tt.status)
			fmt.Fprint(w, tt.body)
		}, nil)
		unsure, err := s.Check(t.Context())
		for want, got := range map[string]error{tt.unsure: unsure, tt.err: err} {
			if want == "" {
				continue
			}
			if got == nil || !strings.Contains(got.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.name, got, want)
			}
		}
		if (tt.unsure == "") != (unsure == nil) || (tt.err == "") != (err == nil) {
			t.Errorf("%s: unsure %v, wrong %v", tt.name, unsure, err)
		}
	}
}

// While there are calls the connection is kept warm, and only then. A server that is away is found out before anybody needs it, and so is one
// that is back.
func TestHold(t *testing.T) {
	var pings atomic.Int32
	var away atomic.Bool
	s := open(t, func(w http.ResponseWriter, _ *http.Request) {
		pings.Add(1)
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		fmt.Fprint(w, `{"data":[]}`)
	}, nil)
	time.Sleep(50 * time.Millisecond)
	if pings.Load() != 0 {
		t.Error("it is pinged though there is no call")
	}
	release, again := s.Hold(), s.Hold()
	until(t, "five pings", func() bool { return pings.Load() > 5 })
	away.Store(true)
	until(t, "the breaker opens", func() bool { return s.Status().State == Open })
	away.Store(false)
	until(t, "a probe finds it back", func() bool { return s.Status().State == HalfOpen })
	if err := s.Ask(t.Context(), Want{}, func(*Request) error { return nil }); err != nil || s.Status().State != Closed {
		t.Errorf("asked again: %v, %s", err, s.Status().State)
	}
	release()
	release()
	before := pings.Load()
	until(t, "one call still holds it", func() bool { return pings.Load() > before+2 })
	again()
	time.Sleep(30 * time.Millisecond) // one may be on its way
	before = pings.Load()
	time.Sleep(100 * time.Millisecond)
	if pings.Load() != before {
		t.Error("it is pinged though all calls have ended")
	}
}

// until waits for something, generously.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}
