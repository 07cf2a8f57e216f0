package telnyx

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/transport"
	"riposte/transport/phone"
)

// service is a Server that answers, whose calls are held by hold.
func service(t *testing.T, hold func(context.Context, transport.Call) error) (s *Server, at *httptest.Server, key ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s = &Server{
		Phone: &phone.Server{
			Hold:   func(ctx context.Context, c transport.Call, _ transport.Settings) error { return hold(ctx, c) },
			Admit:  func() (func(), error) { return func() {}, nil },
			Choose: func(phone.Opening) (transport.Settings, error) { return transport.Settings{}, nil },
			Limits: phone.Limits{Start: 300 * time.Millisecond},
		},
		Log:     slog.New(slog.DiscardHandler),
		Tickets: &phone.Tickets{}, Key: public, Path: "/telnyx/media", Buffer: 200 * time.Millisecond,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /telnyx/voice", s.Answer)
	mux.HandleFunc("GET /telnyx/media", s.Media)
	at = httptest.NewServer(mux)
	t.Cleanup(at.Close)
	s.Public = "ws" + strings.TrimPrefix(at.URL, "http")
	return s, at, private
}

// announce tells a service of a call, and returns what Telnyx is to do.
func announce(t *testing.T, at *httptest.Server, key ed25519.PrivateKey) texml {
	t.Helper()
	const form = "From=%2B491&To=%2B492&CallSid=v3%3Aone&Direction=outbound&AnsweredBy=machine_end_silence"
	r := signed(key, form, time.Now())
	out, err := http.NewRequest(http.MethodPost, at.URL+"/telnyx/voice", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	out.Header = r.Header
	answer, err := http.DefaultClient.Do(out)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", answer.Status, b, err)
	}
	var do texml
	if err := xml.Unmarshal(b, &do); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return do
}

// opens opens a media stream as it was told to, and says what Telnyx says first.
func opens(t *testing.T, do *stream) *websocket.Conn {
	t.Helper()
	if do == nil || do.Mode != "rtp" || do.Codec != "PCMU" || do.Track != "inbound_track" || len(do.Parameters) != 1 {
		t.Fatalf("the stream is to be %+v", do)
	}
	ws, _, err := websocket.DefaultDialer.Dial(do.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for _, text := range []string{
		`{"event":"connected","version":"1.0.0"}`, strings.Replace(startText, `"ticket":"t"`, fmt.Sprintf("%q:%q", do.Parameters[0].Name, do.Parameters[0].Value), 1),
	} {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

func TestCall(t *testing.T) {
	heard, ended := make(chan transport.Inbound, 10), make(chan struct{})
	response := transport.Response{ID: "r", Item: "i"}
	_, at, key := service(t, func(ctx context.Context, c transport.Call) error {
		defer close(ended)
		if p := c.(transport.Telephone).Parties(); p != (transport.Parties{From: "+491", To: "+492", Line: "v3:one", Placed: true, Answerer: transport.Recorder}) {
			t.Errorf("the parties are %+v", p)
		}
		loud := make(audio.PCM, 8000/10)
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
				_ = c.Send(ctx, transport.ResponseDone{Response: response, Status: transport.Cancelled}) // Telnyx hangs up as soon as it hears of it
			}
		}
	})
	ws := opens(t, announce(t, at, key).Stream)
	if err := ws.WriteMessage(websocket.TextMessage, []byte(mediaText)); err != nil {
		t.Fatal(err)
	}
	if s, ok := (<-heard).(transport.Sound); !ok || s.Rate != 8000 || len(s.PCM) != 3 {
		t.Errorf("heard %+v", s)
	}
	var sound, marks int
	next := func() (m message) {
		t.Helper()
		_, b, err := ws.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		return m
	}
	for sound < 800 {
		switch m := next(); m.Event {
		case "media":
			b, err := base64.StdEncoding.DecodeString(m.Media.Payload)
			if err != nil || len(b)%160 != 0 {
				t.Errorf("%d bytes of sound, %v", len(b), err)
			}
			sound += len(b)
		case "mark":
			marks++
		default:
			t.Errorf("%+v came", m)
		}
	}
	if marks == 0 {
		t.Error("no mark came")
	}
	if err := ws.WriteMessage(websocket.TextMessage, []byte(dtmfText)); err != nil {
		t.Fatal(err)
	}
	for m := next(); m.Event != "clear"; m = next() {
		if m.Event != "mark" {
			t.Errorf("%+v came", m)
		}
	}
	if err := ws.WriteMessage(websocket.TextMessage, []byte(stopText)); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// Whoever was not announced, was already here, says something else, or nothing at all, is let go.
func TestStrangers(t *testing.T) {
	_, at, key := service(t, func(ctx context.Context, _ transport.Call) error { <-ctx.Done(); return context.Cause(ctx) })
	do := announce(t, at, key).Stream
	first := opens(t, do)
	for name, texts := range map[string][]string{
		"a second time":     {`{"event":"connected"}`, strings.Replace(startText, `"t"`, fmt.Sprintf("%q", do.Parameters[0].Value), 1)},
		"another's ticket":  {`{"event":"connected"}`, startText},
		"start first":       {startText},
		"sound first":       {`{"event":"connected"}`, mediaText},
		"no message":        {`hello`},
		"65 kB":             {`{"event":"connected","version":"` + strings.Repeat("x", 65<<10) + `"}`},
		"nothing":           {},
		"nothing after one": {`{"event":"connected"}`},
	} {
		ws, _, err := websocket.DefaultDialer.Dial(do.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		ws.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, b, err := ws.ReadMessage()
		if c, ok := errors.AsType[*websocket.CloseError](err); !ok || c.Code != websocket.ClosePolicyViolation && c.Code != websocket.CloseMessageTooBig {
			t.Errorf("%s: %q, %v", name, b, err)
		}
		ws.Close()
	}
	if err := first.WriteMessage(websocket.TextMessage, []byte(mediaText)); err != nil {
		t.Errorf("the call did not go on: %v", err)
	}
}

func TestUnsigned(t *testing.T) {
	s, at, key := service(t, nil)
	answer, err := http.Post(at.URL+"/telnyx/voice", "application/x-www-form-urlencoded", strings.NewReader("From=1"))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("an unsigned request: %s", answer.Status)
	}
	s.Phone.Admit = func() (func(), error) { return nil, errors.New("all places are taken") }
	if do := announce(t, at, key); do.Stream != nil || do.Reject == nil || do.Reject.Reason != "busy" {
		t.Errorf("a call for which there is no place: %+v", do)
	}
}

func TestTransfer(t *testing.T) {
	asked := make(chan string, 1)
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked <- fmt.Sprint(r.Method, " ", r.URL.EscapedPath(), " ", r.Header.Get("Authorization"), " ", string(b))
		if strings.Contains(string(b), "+490") {
			http.Error(w, "no such number", http.StatusUnprocessableEntity)
		}
	}))
	defer provider.Close()
	a := &Account{Key: "k", Provider: phone.Provider{Name: "Telnyx", URL: provider.URL}}
	l := &line{call: "v3:a/b", account: a}
	if err := l.Transfer(t.Context(), "+493", ""); err != nil {
		t.Error(err)
	}
	if got, want := <-asked, `POST /v2/calls/v3:a%2Fb/actions/transfer Bearer k {"to":"+493"}`; got != want {
		t.Errorf("it was asked for\n%s, not\n%s", got, want)
	}
	if err := l.Transfer(t.Context(), "+490", ""); err == nil || !strings.Contains(err.Error(), "no such number") {
		t.Errorf("a number that there is not: %v", err)
	}
	if err := (&line{}).Transfer(t.Context(), "+493", ""); !errors.Is(err, transport.ErrCannot) {
		t.Errorf("without an account: %v", err)
	}
}
