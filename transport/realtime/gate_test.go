package realtime

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
)

// gated returns a server that asks for keys.
func gated(keys ...string) *Server {
	return &Server{
		Admit: func() (func(), error) { return func() {}, nil }, Defaults: defaults(), Model: "m", Voice: "joe", Keys: keys,
		Origins: []string{"https://app.example"}, Log: slog.New(slog.DiscardHandler),
	}
}

// issue asks for a client secret and returns the answer.
func issue(s *Server, key, body string) (code int, answer map[string]any) {
	r := httptest.NewRequest("POST", "http://127.0.0.1:8080/v1/realtime/client_secrets", strings.NewReader(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	w := httptest.NewRecorder()
	s.Issue(w, r)
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return w.Code, answer
}

func errorCode(answer map[string]any) string {
	e, _ := answer["error"].(map[string]any)
	code, _ := e["code"].(string)
	return code
}

// Where keys are set, one of them or a client secret is asked for; where none are, a client secret is still looked at.
func TestEnter(t *testing.T) {
	with, without := gated("a key of this service", "another key of it"), gated()
	secretOf := func(s *Server, key string) string {
		code, answer := issue(s, key, `{"session":{"type":"realtime","instructions":"Sing."}}`)
		if code != http.StatusOK {
			t.Fatalf("%d: %v", code, answer)
		}
		return answer["value"].(string)
	}
	secret := secretOf(with, "a key of this service")
	expired, err := with.secrets.issue(claims{Expires: time.Now().Add(-time.Second).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	last := map[byte]string{'A': "B"}[secret[10]]
	if last == "" {
		last = "A"
	}
	for _, tt := range []struct {
		name       string
		s          *Server
		key, value string // A header and what it says.
		code       string // Of the refusal; empty to be let in.
		session    string
	}{
		{"nothing is asked for", without, "", "", "", ""},
		{"any key will do", without, "Authorization", "Bearer none", "", ""},
		{"no key", with, "", "", "missing_api_key", ""},
		{"a key", with, "Authorization", "Bearer another key of it", "", ""},
		{"in lower case", with, "Authorization", "bearer another key of it", "", ""},
		{"a wrong key", with, "Authorization", "Bearer a key of this servic", "invalid_api_key", ""},
		{"no bearer", with, "Authorization", "Basic a key of this service", "missing_api_key", ""},
		{"a client secret", with, "Authorization", "Bearer " + secret, "", "Sing."},
		{"a client secret in a subprotocol", with, "Sec-WebSocket-Protocol", "realtime, openai-insecure-api-key." + secret, "", "Sing."},
		{"a client secret where none is needed", without, "Authorization", "Bearer " + secretOf(without, ""), "", "Sing."},
		{"another service's", without, "Authorization", "Bearer " + secret, "invalid_client_secret", ""},
		{"a changed one", with, "Authorization", "Bearer " + secret[:10] + last + secret[11:], "invalid_client_secret", ""},
		{"a cut one", with, "Authorization", "Bearer " + secret[:len(secret)-1], "invalid_client_secret", ""},
		{"no signature", with, "Authorization", "Bearer " + strings.Split(secret, ".")[0], "invalid_client_secret", ""},
		{"nothing but its beginning", with, "Authorization", "Bearer ek_", "invalid_client_secret", ""},
		{"an expired one", with, "Authorization", "Bearer " + expired, "expired_client_secret", ""},
	} {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8080/v1/realtime", nil)
		if tt.key != "" {
			r.Header.Set(tt.key, tt.value)
		}
		w := httptest.NewRecorder()
		guest, err := tt.s.Enter(w, r)
		if err != nil {
			tt.s.Refuse(w, err)
		}
		var answer map[string]any
		_ = json.Unmarshal(w.Body.Bytes(), &answer)
		if got := errorCode(answer); got != tt.code || (tt.code != "") != (w.Code == http.StatusUnauthorized) {
			t.Errorf("%s: %d %q, want %q", tt.name, w.Code, got, tt.code)
		}
		if (w.Header().Get("WWW-Authenticate") != "") != (tt.code != "") {
			t.Errorf("%s: the answer says %q", tt.name, w.Header())
		}
		if !strings.Contains(string(guest.Session), tt.session) {
			t.Errorf("%s: the session is %s", tt.name, guest.Session)
		}
	}
}

func TestIssue(t *testing.T) {
	s := gated("a key of this service")
	s.Language = func(code string) bool { return code == "en" }
	_, first := issue(s, "a key of this service", "")
	secret, _ := first["value"].(string)
	if left := time.Until(time.Unix(int64(first["expires_at"].(float64)), 0)); !strings.HasPrefix(secret, "ek_") || left < 590*time.Second || left > 600*time.Second {
		t.Errorf("a secret is %v", first)
	}
	for _, tt := range []struct{ name, key, body, code string }{
		{"without a key", "", ``, "missing_api_key"},
		{"with a client secret", secret, ``, "key_needed"},
		{"for some time", "a key of this service", `{"expires_after":{"anchor":"created_at","seconds":10}}`, ""},
		{"for too short", "a key of this service", `{"expires_after":{"seconds":9}}`, "invalid_value"},
		{"for too long", "a key of this service", `{"expires_after":{"seconds":7201}}`, "invalid_value"},
		{"from another time on", "a key of this service", `{"expires_after":{"anchor":"now"}}`, "invalid_value"},
		{"with a model", "a key of this service", `{"session":{"type":"realtime","model":"gpt-realtime"}}`, ""},
		{"with null", "a key of this service", `{"session":null}`, ""},
		{"with a wrong session", "a key of this service", `{"session":{"audio":{"output":{"voice":"bob"}}}}`, "invalid_value"},
		{"with a field that is unknown", "a key of this service", `{"sesion":{}}`, "unknown_parameter"},
		{"with something behind it", "a key of this service", `{} garbage`, "invalid_json"},
		{"with two of them", "a key of this service", `{}{}`, "invalid_json"},
		{"with space behind it", "a key of this service", "{}\n ", ""},
		{"with a list", "a key of this service", `{"session":[]}`, "invalid_type"},
		{"in a language that is not known", "a key of this service", `{"session":{"audio":{"input":{"transcription":{"language":"xx"}}}}}`, "invalid_value"},
		{"with no JSON", "a key of this service", `{`, "invalid_json"},
		{"with much", "a key of this service", `{"session":{"instructions":"` + strings.Repeat("x", mostCarried) + `"}}`, "invalid_value"},
		{"with far too much", "a key of this service", strings.Repeat(" ", 3*mostCarried), "request_too_large"},
	} {
		code, answer := issue(s, tt.key, tt.body)
		if got := errorCode(answer); got != tt.code || (tt.code == "") != (code == http.StatusOK) {
			t.Errorf("%s: %d %q, want %q", tt.name, code, got, tt.code)
		}
		if session, _ := answer["session"].(map[string]any); tt.name == "with a model" && session["model"] != "gpt-realtime" {
			t.Errorf("the session is %v", session)
		}
	}
}

// A call over WebSocket begins with what its client secret carries.
func TestSecretOverWebSocket(t *testing.T) {
	s := gated("a key of this service")
	s.Hold = func(ctx context.Context, c transport.Call, _ transport.Settings) error { return listen(nil)(ctx, c) }
	server := httptest.NewServer(s)
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	if _, r, err := websocket.DefaultDialer.Dial(url, nil); err == nil || r.StatusCode != http.StatusUnauthorized {
		t.Fatalf("without a key: %v, %+v", err, r)
	}
	_, answer := issue(s, "a key of this service", `{"session":{"instructions":"Sing.","model":"tenor"}}`)
	dialer := websocket.Dialer{Subprotocols: []string{"realtime", "openai-insecure-api-key." + answer["value"].(string)}}
	ws, _, err := dialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	p := &peer{T: t, ws: ws}
	session := p.read()["session"].(map[string]any)
	if session["instructions"] != "Sing." || session["model"] != "tenor" || ws.Subprotocol() != "realtime" {
		t.Errorf("the session is %v, on %q", session, ws.Subprotocol())
	}
}

// A page of an origin that may call may read what it is answered; others are told nothing but no.
func TestPreflight(t *testing.T) {
	s := gated()
	for origin, want := range map[string]int{"https://app.example": http.StatusNoContent, "https://evil.example": http.StatusForbidden} {
		r := httptest.NewRequest("OPTIONS", "http://127.0.0.1:8080/v1/realtime/calls", nil)
		r.Header.Set("Origin", origin)
		r.Header.Set("Access-Control-Request-Headers", "authorization,content-type,x-openai-agents-sdk")
		w := httptest.NewRecorder()
		s.Preflight(w, r)
		if allowed := w.Header().Get("Access-Control-Allow-Headers"); (allowed == "authorization,content-type,x-openai-agents-sdk") != (want == http.StatusNoContent) {
			t.Errorf("%s may send %q", origin, allowed)
		}
		if w.Code != want || (w.Header().Get("Access-Control-Allow-Origin") == origin) != (want == http.StatusNoContent) {
			t.Errorf("%s: %d, %v", origin, w.Code, w.Header())
		}
	}
}

// Whatever is shown for a client secret or asked of one, the answer is a session or a refusal.
func FuzzSecret(f *testing.F) {
	var s secrets
	good, err := s.issue(claims{Expires: time.Now().Add(time.Hour).Unix(), Session: json.RawMessage(`{"instructions":"x"}`)})
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{good, "ek_", "ek_.", "ek_e30.AAAA", `{"expires_after":{"seconds":60},"session":{}}`, `{"session":7}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if session, err := s.read(text, time.Now()); (err == nil) != (strings.TrimPrefix(text, secretPrefix) == strings.TrimPrefix(good, secretPrefix)) {
			t.Fatalf("%q is let in with %q: %v", text, session, err)
		}
		q, valid, err := decodeSecretRequest([]byte(text))
		if err != nil {
			return
		}
		if valid < leastValid || valid > mostValid {
			t.Fatalf("%q is valid for %v", text, valid)
		}
		_, _ = gated().Open(Guest{}, "", q.Session)
	})
}
