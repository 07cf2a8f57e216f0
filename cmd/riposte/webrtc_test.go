package main

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// The UDP port is where the listener is, unless any will do.
func TestSameAddress(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}
	for asked, want := range map[string]string{"127.0.0.1:8080": "127.0.0.1:8080", "localhost:8080": "127.0.0.1:8080", "127.0.0.1:0": "127.0.0.1:0", ":0": ":0"} {
		if got := sameAs(asked, at); got != want {
			t.Errorf("beside %s: %s, want %s", asked, got, want)
		}
	}
}

// A service that others reach without a key is told of.
func TestKeyless(t *testing.T) {
	home, away := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv6unspecified}
	var open, closed settings
	closed.Keys = []string{"a key of this service"}
	if open.keyless(home) || !open.keyless(away) || closed.keyless(away) {
		t.Errorf("open to this machine %v, to all %v, with a key %v", open.keyless(home), open.keyless(away), closed.keyless(away))
	}
}

func TestWebRTCSettings(t *testing.T) {
	good := webRTCSettings{
		Depth: 40 * time.Millisecond, Lead: 60 * time.Millisecond, Setup: time.Second, Away: time.Second, Candidates: 100, Gather: time.Second,
		Request: 1 << 20, Message: 1 << 18, Buffer: 1 << 20, Bitrate: 32000,
	}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*webRTCSettings){
		"depth":      func(s *webRTCSettings) { s.Depth = time.Second },
		"lead":       func(s *webRTCSettings) { s.Lead = 0 },
		"setup":      func(s *webRTCSettings) { s.Setup = 0 },
		"away":       func(s *webRTCSettings) { s.Away = 0 },
		"candidates": func(s *webRTCSettings) { s.Candidates = 1 },
		"gather":     func(s *webRTCSettings) { s.Gather = 0 },
		"request":    func(s *webRTCSettings) { s.Request = 10 },
		"message":    func(s *webRTCSettings) { s.Message = 10 },
		"buffer":     func(s *webRTCSettings) { s.Buffer = 10 },
		"bitrate":    func(s *webRTCSettings) { s.Bitrate = 1 },
		"public":     func(s *webRTCSettings) { s.Public = []string{"example.org"} },
		"turn":       func(s *webRTCSettings) { s.TURN = []string{"turn:example.org"} },
	} {
		s := good
		change(&s)
		if err := s.validate(); err == nil || !strings.Contains(err.Error(), "webrtc-"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wired is a call that says what it came over.
type wired struct{ transport.Call }

func (wired) Wire() string { return "webrtc" }

func TestWireOf(t *testing.T) {
	if got := wireOf(wired{}); got != "webrtc" {
		t.Errorf("a call over WebRTC came over %q", got)
	}
	if got := wireOf(nil); got != "websocket" {
		t.Errorf("a call came over %q", got)
	}
}

// Where keys are set, every way into the service asks for one.
func TestKeys(t *testing.T) {
	s := newService(&settings{Keys: []string{"a key of this service"}, Listen: "127.0.0.1:0"}, slog.New(slog.DiscardHandler))
	calls := s.wire()
	server := httptest.NewServer(calls)
	defer server.Close()
	_, r, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err == nil || r.StatusCode != http.StatusUnauthorized {
		t.Errorf("a WebSocket: %v, %+v", err, r)
	}
	w := httptest.NewRecorder()
	calls.Issue(w, httptest.NewRequest(http.MethodPost, "/v1/realtime/client_secrets", nil))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("a client secret: %d", w.Code)
	}
}
