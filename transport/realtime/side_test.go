package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// onKeys is a service whose callers have to have a key.
func onKeys(limits Limits) (http.Header, func(*Server)) {
	return http.Header{"Authorization": {"Bearer a key of this service"}}, func(s *Server) { s.Keys, s.Limits = []string{"a key of this service"}, limits }
}

// attached connects a side to a call.
func attached(t *testing.T, url, id string, header http.Header) (*peer, *http.Response, error) {
	t.Helper()
	ws, r, err := websocket.DefaultDialer.Dial(url+"?call_id="+id, header)
	if err != nil {
		return nil, r, err
	}
	t.Cleanup(func() { ws.Close() })
	return &peer{T: t, ws: ws}, r, nil
}

// A server that is attached to a call sees its events, steers it, and is told of its own mistakes alone.
func TestSide(t *testing.T) {
	header, set := onKeys(Limits{})
	got := make(chan transport.Inbound, 1)
	p, url, ended := serveAt(t, "", header, set, func(ctx context.Context, c transport.Call) error {
		r := transport.Response{ID: "resp_1", Item: "item_1", Written: true}
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			got <- in
			switch in := in.(type) {
			case transport.Respond:
				c.Send(ctx, transport.ResponseStarted{Response: r})
				c.Send(ctx, transport.Words{Response: r, Text: "Hi."})
			case transport.Cancel:
				c.Send(ctx, transport.Fault{Ref: in.Ref, Code: "response_cancel_not_active", Message: "There is none."})
			}
		}
	})
	side, _, err := attached(t, url, p.session["id"].(string), header)
	if err != nil {
		t.Fatal(err)
	}
	if e := side.read(); e["type"] != "session.created" || e["session"].(map[string]any)["id"] != p.session["id"] {
		t.Errorf("the side was greeted with %v", e)
	}
	side.send(`{"type":"session.update","session":{"type":"realtime","instructions":"Sell tea."}}`)
	for who, x := range map[string]*peer{"client": p, "side": side} {
		if e := x.read(); e["type"] != "session.updated" || e["session"].(map[string]any)["instructions"] != "Sell tea." {
			t.Errorf("the %s was told %v", who, e)
		}
	}
	if in := (<-got).(transport.Configure); in.Settings.Instructions != "Sell tea." {
		t.Errorf("the pipeline was told %+v", in)
	}
	side.send(`{"type":"response.create","event_id":"e"}`)
	<-got
	for who, x := range map[string]*peer{"client": p, "side": side} {
		if e := x.read(); e["type"] != "response.created" {
			t.Errorf("the %s was told %v", who, e)
		}
		if e := x.read(); e["type"] != "response.output_text.delta" || e["delta"] != "Hi." {
			t.Errorf("the %s was told %v", who, e)
		}
	}
	for _, wrong := range []struct{ event, code, about string }{
		{`{"type":"input_audio_buffer.append","audio":"AAECAw==","event_id":"sound"}`, "invalid_value", "sound"},
		{`{"type":"what","event_id":"what"}`, "invalid_value", "what"},
		{`no json`, "invalid_json", ""},
		{`{"type":"response.cancel","event_id":"cancel"}`, "response_cancel_not_active", "cancel"},
	} {
		side.send(wrong.event)
		if strings.Contains(wrong.event, "cancel") {
			<-got
		}
		if code, about := side.code(); code != wrong.code || about != wrong.about {
			t.Errorf("%s: %s about %q", wrong.event, code, about)
		}
	}
	// What is wrong with the client's own events everybody sees, whatever it calls them; it saw nothing of the above.
	p.send(`{"type":"what","event_id":"\u0000side 1 mine"}`)
	for who, x := range map[string]*peer{"client": p, "side": side} {
		if _, about := x.code(); about != "\x00side 1 mine" {
			t.Errorf("the %s was told of %q", who, about)
		}
	}
	side.ws.Close()
	p.send(`{"type":"what","event_id":"still"}`)
	if _, about := p.code(); about != "still" {
		t.Errorf("after the side had gone the client was told of %q", about)
	}
	p.ws.Close()
	<-ended
}

// One that does not read loses its connection, and the call does not notice.
func TestSideThatDoesNotRead(t *testing.T) {
	header, set := onKeys(Limits{Queue: 8, Buffer: 1 << 20, Write: 200 * time.Millisecond})
	words := strings.Repeat("word ", 40_000)
	p, url, _ := serveAt(t, "", header, set, func(ctx context.Context, c transport.Call) error {
		r := transport.Response{ID: "resp_1", Item: "item_1", Written: true}
		for {
			if _, err := c.Receive(ctx); err != nil {
				return err
			}
			if err := c.Send(ctx, transport.Words{Response: r, Text: words}); err != nil {
				return err
			}
		}
	})
	side, _, err := attached(t, url, p.session["id"].(string), header)
	if err != nil {
		t.Fatal(err)
	}
	for range 200 { // of 200 kB each
		p.send(`{"type":"input_audio_buffer.clear"}`)
		if e := p.read(); e["type"] != "response.output_text.delta" {
			t.Fatalf("the client was told %v", e["type"])
		}
	}
	side.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for err = nil; err == nil; {
		_, _, err = side.ws.ReadMessage()
	}
	if strings.Contains(err.Error(), "timeout") {
		t.Errorf("the side is still attached: %v", err)
	}
}

// Who may attach, to what.
func TestAttach(t *testing.T) {
	header, set := onKeys(Limits{Sides: 2})
	p, url, ended := serveAt(t, "", header, set, listen(make(chan transport.Inbound, 8)))
	id := p.session["id"].(string)
	var s Server
	secret, err := s.secrets.issue(claims{Expires: time.Now().Add(time.Hour).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		id, key string
		want    int
	}{
		{"sess_nothing", "a key of this service", http.StatusNotFound},
		{"", "a key of this service", http.StatusNotFound}, // and begins no call
		{id, "", http.StatusUnauthorized},
		{id, secret, http.StatusUnauthorized}, // another service's
		{id, "a key of this service", http.StatusSwitchingProtocols},
		{id, "a key of this service", http.StatusSwitchingProtocols},
		{id, "a key of this service", http.StatusTooManyRequests},
	} {
		_, r, _ := attached(t, url, tt.id, http.Header{"Authorization": {"Bearer " + tt.key}})
		if r == nil || r.StatusCode != tt.want {
			t.Errorf("%s with %q: %+v, want %d", tt.id, tt.key, r, tt.want)
		}
	}
	post := func(path, key string) (int, string) {
		q, _ := http.NewRequest("POST", strings.Replace(url, "ws", "http", 1)+"/calls/"+path, nil)
		q.Header.Set("Authorization", "Bearer "+key)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var body struct{ Error struct{ Code string } }
		json.NewDecoder(r.Body).Decode(&body)
		return r.StatusCode, body.Error.Code
	}
	for _, tt := range []struct {
		path, key, want string
	}{
		{id + "/hangup", "", "401 invalid_api_key"},
		{"sess_nothing/hangup", "a key of this service", "404 call_not_found"},
		{id + "/accept", "a key of this service", "400 not_a_sip_call"},
		{id + "/reject", "a key of this service", "400 not_a_sip_call"},
		{id + "/refer", "a key of this service", "400 not_a_sip_call"},
		{id + "/hangup", "a key of this service", "200 "},
	} {
		status, code := post(tt.path, tt.key)
		if got := fmt.Sprint(status, " ", code); got != tt.want && !(tt.key == "" && status == http.StatusUnauthorized) {
			t.Errorf("%s: %s, want %s", tt.path, got, tt.want)
		}
	}
	if why := <-ended; why != transport.ErrHungUp {
		t.Errorf("the call ended with %v", why)
	}
	for status, began := 0, time.Now(); status != http.StatusNotFound; status, _ = post(id+"/hangup", "a key of this service") {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("a call that has ended is still there: %d", status)
		}
	}
}

// A client secret makes calls, and does not steer them.
func TestSecretDoesNotAttach(t *testing.T) {
	var s *Server
	header, set := onKeys(Limits{})
	p, url, _ := serveAt(t, "", header, func(one *Server) { set(one); s = one }, listen(make(chan transport.Inbound, 8)))
	secret, err := s.secrets.issue(claims{Expires: time.Now().Add(time.Hour).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	if _, r, _ := attached(t, url, p.session["id"].(string), http.Header{"Authorization": {"Bearer " + secret}}); r.StatusCode != http.StatusForbidden {
		t.Errorf("with a client secret: %d", r.StatusCode)
	}
}
