package vonage

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/transport"
	"riposte/transport/phone"
)

// service is a Server that answers, whose calls are held by hold.
func service(t *testing.T, hold func(context.Context, transport.Call) error) (*Server, *httptest.Server) {
	t.Helper()
	s := &Server{
		Phone: &phone.Server{
			Hold:   func(ctx context.Context, c transport.Call, _ transport.Settings) error { return hold(ctx, c) },
			Admit:  func() (func(), error) { return func() {}, nil },
			Choose: func(phone.Opening) (transport.Settings, error) { return transport.Settings{}, nil },
			Limits: phone.Limits{Start: 300 * time.Millisecond},
		},
		Log:     slog.New(slog.DiscardHandler),
		Tickets: &phone.Tickets{}, Secret: secret, Path: "/vonage/media", Rate: 16000, Buffer: 200 * time.Millisecond, Busy: "All lines are busy.",
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/vonage/answer", s.Answer)
	mux.HandleFunc("/vonage/events", s.Events)
	mux.HandleFunc("GET /vonage/media", s.Media)
	at := httptest.NewServer(mux)
	t.Cleanup(at.Close)
	s.Public = "ws" + strings.TrimPrefix(at.URL, "http")
	return s, at
}

// action is what Vonage is told to do.
type action struct {
	Action   string `json:"action"`
	Text     string `json:"text"`
	Endpoint []struct {
		Type    string            `json:"type"`
		URI     string            `json:"uri"`
		Format  string            `json:"content-type"`
		Headers map[string]string `json:"headers"`
	} `json:"endpoint"`
}

// announce tells a service of a call, and returns what Vonage is to do.
func announce(t *testing.T, at *httptest.Server, method string) action {
	t.Helper()
	where, body := at.URL+"/vonage/answer?direction=outbound&answered_by=human", `{"from":"491","to":"492","uuid":"leg-1"}`
	if method == http.MethodGet {
		where, body = where+"&from=491&to=492&uuid=leg-1", ""
	}
	r, err := http.NewRequest(method, where, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(sign(t, r, body, secret, time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var do []action
	if err := json.NewDecoder(answer.Body).Decode(&do); err != nil || len(do) != 1 {
		t.Fatalf("%s: %+v, %v", answer.Status, do, err)
	}
	return do[0]
}

// dial opens the socket that Vonage is told to.
func dial(t *testing.T, do action) *websocket.Conn {
	t.Helper()
	if do.Action != "connect" || len(do.Endpoint) != 1 || do.Endpoint[0].Type != "websocket" {
		t.Fatalf("Vonage is told to %+v", do)
	}
	ws, _, err := websocket.DefaultDialer.Dial(do.Endpoint[0].URI, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	return ws
}

// hello is what Vonage says first.
func hello(ticket, format string) string {
	return fmt.Sprintf(`{"event":"websocket:connected","content-type":%q,"ticket":%q}`, format, ticket)
}

func TestCall(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) { testCall(t, method) })
	}
}

func testCall(t *testing.T, method string) {
	heard, ended := make(chan transport.Inbound, 10), make(chan struct{})
	response := transport.Response{ID: "r", Item: "i"}
	_, at := service(t, func(ctx context.Context, c transport.Call) error {
		defer close(ended)
		if p := c.(transport.Telephone).Parties(); p != (transport.Parties{From: "491", To: "492", Line: "leg-1", Placed: true, Answerer: transport.Human}) {
			t.Errorf("the parties are %+v", p)
		}
		loud := make(audio.PCM, 16000/10)
		for i := range loud {
			loud[i] = int16(8000 * (i%8 - 4) / 4)
		}
		for _, out := range []transport.Outbound{
			transport.ResponseStarted{Response: response}, transport.MessageStarted{Response: response}, transport.Words{Response: response, Text: "Hello."},
			transport.Voice{Response: response, PCM: loud},
		} {
			if err := c.Send(ctx, out); err != nil {
				t.Error(err)
			}
		}
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			heard <- in
			if _, ok := in.(transport.Key); ok {
				_ = c.Send(ctx, transport.ResponseDone{Response: response, Status: transport.Cancelled}) // Vonage hangs up as soon as it hears of it
			}
		}
	})
	do := announce(t, at, method)
	ws := dial(t, do)
	if err := ws.WriteMessage(websocket.TextMessage, []byte(hello(do.Endpoint[0].Headers["ticket"], do.Endpoint[0].Format))); err != nil {
		t.Fatal(err)
	}
	if err := ws.WriteMessage(websocket.BinaryMessage, make([]byte, 640)); err != nil {
		t.Fatal(err)
	}
	if s, ok := (<-heard).(transport.Sound); !ok || s.Rate != 16000 || len(s.PCM) != 320 {
		t.Errorf("heard %+v", s)
	}
	var frames, marks int
	for frames < 5 {
		kind, b, err := ws.ReadMessage()
		switch {
		case err != nil:
			t.Fatal(err)
		case kind == websocket.BinaryMessage && len(b) == 640:
			frames++
		case kind == websocket.TextMessage && strings.Contains(string(b), `"action":"notify"`):
			marks++
		default:
			t.Errorf("%q came", b)
		}
	}
	if marks == 0 {
		t.Error("no mark came")
	}
	if err := ws.WriteMessage(websocket.TextMessage, []byte(pressedText)); err != nil {
		t.Fatal(err)
	}
	for text := ""; text != `{"action":"clear"}`; {
		_, b, err := ws.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	if err := ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// Whoever was not announced, was already here, says something else, or nothing at all, is let go.
func TestStrangers(t *testing.T) {
	_, at := service(t, func(ctx context.Context, _ transport.Call) error { <-ctx.Done(); return context.Cause(ctx) })
	do := announce(t, at, http.MethodPost)
	ticket := do.Endpoint[0].Headers["ticket"]
	if err := dial(t, do).WriteMessage(websocket.TextMessage, []byte(hello(ticket, "audio/l16;rate=16000"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		kind int
		b    string
	}{
		"another's ticket": {websocket.TextMessage, hello("x", "audio/l16;rate=16000")},
		"sound first":      {websocket.BinaryMessage, strings.Repeat("x", 640)},
		"no message":       {websocket.TextMessage, "hello"},
		"another format":   {websocket.TextMessage, hello(announce(t, at, http.MethodPost).Endpoint[0].Headers["ticket"], "audio/l16;rate=44100")},
		"65 kB":            {websocket.TextMessage, hello(strings.Repeat("x", 65<<10), "audio/l16;rate=16000")},
		"nothing":          {},
	} {
		ws := dial(t, do)
		if c.kind != 0 {
			if err := ws.WriteMessage(c.kind, []byte(c.b)); err != nil {
				t.Fatal(err)
			}
		}
		_, b, err := ws.ReadMessage()
		if e, ok := errors.AsType[*websocket.CloseError](err); !ok || e.Code != websocket.ClosePolicyViolation && e.Code != websocket.CloseMessageTooBig {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	again := dial(t, do)
	if err := again.WriteMessage(websocket.TextMessage, []byte(hello(ticket, "audio/l16;rate=16000"))); err != nil {
		t.Fatal(err)
	}
	if _, b, err := again.ReadMessage(); !websocket.IsCloseError(err, websocket.ClosePolicyViolation) || !strings.Contains(err.Error(), "used") {
		t.Errorf("a second time: %q, %v", b, err)
	}
}

func TestRefused(t *testing.T) {
	s, at := service(t, nil)
	for _, path := range []string{"/vonage/answer", "/vonage/events"} {
		answer, err := http.Post(at.URL+path, "application/json", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s, unsigned: %s", path, answer.Status)
		}
	}
	s.Phone.Admit = func() (func(), error) { return nil, errors.New("all places are taken") }
	if do := announce(t, at, http.MethodGet); do.Action != "talk" || do.Text != "All lines are busy." {
		t.Errorf("a call for which there is no place: %+v", do)
	}
}

func TestTransfer(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var claims jwt.MapClaims
		_, err := jwt.ParseWithClaims(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil })
		b, _ := io.ReadAll(r.Body)
		if want := `{"action":"transfer","destination":{"ncco":[{"action":"connect","endpoint":[{"number":"493","type":"phone"}]}],"type":"ncco"}}`; string(b) != want {
			t.Errorf("it was asked for %s, not %s", b, want)
		}
		if err != nil || claims["application_id"] != "app" || r.Method != http.MethodPut || r.URL.Path != "/v1/calls/leg-1" {
			http.Error(w, "no", http.StatusUnauthorized)
		}
	}))
	defer provider.Close()
	a := &Account{Application: "app", Key: key, Provider: phone.Provider{Name: "Vonage", URL: provider.URL}}
	if err := (&line{call: "leg-1", account: a}).Transfer(t.Context(), "493", ""); err != nil {
		t.Error(err)
	}
	if err := (&line{call: "leg-2", account: a}).Transfer(t.Context(), "493", ""); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("another leg: %v", err)
	}
	for _, l := range []*line{{}, {account: a}} {
		if err := l.Transfer(t.Context(), "493", ""); !errors.Is(err, transport.ErrCannot) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}
