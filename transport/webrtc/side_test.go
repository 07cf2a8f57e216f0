package webrtc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// A server may attach to a call over WebRTC by the ID that the answer's Location has, and hang up on it.
func TestSide(t *testing.T) {
	got := make(chan transport.Inbound, 10)
	s := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error { return listen(got)(ctx, c) })
	p := s.call()
	server := httptest.NewServer(s.Calls)
	defer server.Close()
	ws, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(server.URL, "http")+"?call_id="+path.Base(p.url), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	read := func() (e map[string]any) {
		ws.SetReadDeadline(time.Now().Add(patience))
		if err := ws.ReadJSON(&e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := read(); e["type"] != "session.created" {
		t.Errorf("greeted with %v", e)
	}
	if err := ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"session.update","session":{"instructions":"Sell tea."}}`)); err != nil {
		t.Fatal(err)
	}
	if e := p.want("session.updated"); e["session"].(map[string]any)["instructions"] != "Sell tea." {
		t.Errorf("the caller was told %v", e)
	}
	if e := read(); e["type"] != "session.updated" {
		t.Errorf("the side was told %v", e)
	}
	if a, body := post(t, p.url+"/refer", "application/json", `{"target_uri":"tel:+1"}`); a.StatusCode != http.StatusBadRequest || !strings.Contains(body, "not_a_sip_call") {
		t.Errorf("referred: %d %s", a.StatusCode, body)
	}
	if a, body := post(t, p.url+"/hangup", "application/json", ""); a.StatusCode != http.StatusOK {
		t.Errorf("hung up: %d %s", a.StatusCode, body)
	}
	s.end(transport.ErrHungUp)
}
