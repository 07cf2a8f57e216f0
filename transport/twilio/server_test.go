package twilio

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/transport"
	"riposte/transport/phone"
)

const token = "the account's auth token"

// service is a Server that answers. Its calls are held by hold.
type service struct {
	*Server
	at     string // Of the webhook's host.
	places atomic.Int64
}

func serve(t *testing.T, hold func(context.Context, transport.Telephone) error) *service {
	t.Helper()
	s := &service{Server: &Server{
		Phone: &phone.Server{
			Hold: func(ctx context.Context, c transport.Call, _ transport.Settings) error {
				return hold(ctx, c.(transport.Telephone))
			},
			Choose: func(o phone.Opening) (transport.Settings, error) {
				if o.Route != "" && o.Route != "sales" {
					return transport.Settings{}, errors.New("no such route")
				}
				return transport.Settings{Route: o.Route}, nil
			},
			Limits: phone.Limits{Start: 300 * time.Millisecond, Idle: 2 * time.Second},
		},
		Tickets: &phone.Tickets{}, Token: token, Path: "/twilio/media", Buffer: 200 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}}
	s.places.Store(2)
	s.Phone.Admit = func() (func(), error) {
		if s.places.Add(-1) < 0 {
			s.places.Add(1)
			return nil, errors.New("all places are taken")
		}
		return func() { s.places.Add(1) }, nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /twilio/voice", s.Answer)
	mux.HandleFunc("GET /twilio/media", s.Media)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.at = server.URL
	return s
}

// announce tells a service of a call, and returns what Twilio is to do.
func (s *service) announce(t *testing.T, query, call string) (do twiml, text string) {
	t.Helper()
	return s.announces(t, query, url.Values{"CallSid": {call}, "From": {"+491"}, "To": {"+492"}, "AccountSid": {"AC1"}})
}

// announces is announce with all that is said of the call.
func (s *service) announces(t *testing.T, query string, form url.Values) (do twiml, text string) {
	t.Helper()
	address := s.at + "/twilio/voice" + query
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Twilio-Signature", signature(token, address, form))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/xml" {
		t.Fatalf("%s: %s, %v", answer.Status, b, err)
	}
	if err := xml.Unmarshal(b, &do); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return do, string(b)
}

// dials opens a media stream as it was told to.
func dials(t *testing.T, do *stream, header http.Header) *websocket.Conn {
	t.Helper()
	if do == nil || len(do.Parameters) != 1 || do.Parameters[0].Name != "token" {
		t.Fatalf("the stream is to be %+v", do)
	}
	rest, secure := strings.CutPrefix(do.URL, "wss://")
	if !secure {
		t.Fatalf("the stream goes to %s", do.URL)
	}
	ws, _, err := websocket.DefaultDialer.Dial("ws://"+rest, header)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	return ws
}

// begins says what Twilio says before the first sound.
func begins(do *stream) []string {
	return []string{`{"event":"connected","protocol":"Call","version":"1.0.0"}`, strings.Replace(startText, `"token":"t"`, fmt.Sprintf(`"token":%q,"campaign":"may"`, do.Parameters[0].Value), 1)}
}

func says(t *testing.T, ws *websocket.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// closed returns with which code and words a socket is closed.
func closed(ws *websocket.Conn) (code int, text string) {
	for {
		if _, _, err := ws.ReadMessage(); err != nil {
			if e, ok := errors.AsType[*websocket.CloseError](err); ok {
				return e.Code, e.Text
			}
			return 0, err.Error()
		}
	}
}

func TestTwiML(t *testing.T) {
	s := serve(t, nil)
	s.Say, s.After = "This call is <recorded>.", "https://example.com/after?a=1&b=2"
	_, text := s.announce(t, "?route=sales", "CA1")
	head, rest, ok := strings.Cut(text, `name="token" value="`)
	_, tail, ok2 := strings.Cut(rest, `"`)
	want := `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<Response><Say>This call is &lt;recorded&gt;.</Say><Connect><Stream url="wss` + strings.TrimPrefix(s.at, "http") + `/twilio/media"><Parameter |></Parameter></Stream></Connect><Redirect>https://example.com/after?a=1&amp;b=2</Redirect></Response>`
	if got := head + "|" + tail; !ok || !ok2 || got != want {
		t.Errorf("the TwiML is %s,\nwant %s", got, want)
	}
	for _, c := range []struct{ query, busy, want string }{
		{"?route=other", "", `<Response><Reject reason="rejected"></Reject></Response>`},
		{"", "", `<Response><Connect>`},
		{"", "", `<Response><Reject reason="busy"></Reject></Response>`},
		{"", "Call later.", `<Response><Say>Call later.</Say><Hangup></Hangup></Response>`},
	} {
		s.Busy, s.Say, s.After = c.busy, "", ""
		if _, text := s.announce(t, c.query, "CA"+c.query+c.want); !strings.Contains(text, c.want) {
			t.Errorf("the TwiML is %s, want %s", text, c.want)
		}
	}
}

func TestRequestsRefused(t *testing.T) {
	s := serve(t, nil)
	form := url.Values{"CallSid": {"CA1"}}
	for name, c := range map[string]struct {
		body, signature string
		want            int
	}{
		"unsigned":         {form.Encode(), "", http.StatusForbidden},
		"signed wrongly":   {form.Encode(), signature("another token", s.at+"/twilio/voice", form), http.StatusForbidden},
		"another form":     {"CallSid=CA2", signature(token, s.at+"/twilio/voice", form), http.StatusForbidden},
		"no call":          {"", signature(token, s.at+"/twilio/voice", nil), http.StatusBadRequest},
		"too long":         {"a=" + strings.Repeat("x", mostRequest), "", http.StatusBadRequest},
		"no form":          {"a=%zz", "", http.StatusBadRequest},
		"right, for once":  {form.Encode(), signature(token, s.at+"/twilio/voice", form), http.StatusOK},
		"right, and again": {form.Encode(), signature(token, s.at+"/twilio/voice", form), http.StatusOK}, // Twilio asks again where it got no answer
	} {
		r, err := http.NewRequest(http.MethodPost, s.at+"/twilio/voice", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Twilio-Signature", c.signature)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != c.want {
			t.Errorf("%s: %s: %s", name, answer.Status, b)
		}
	}
}

func TestCall(t *testing.T) {
	heard, why := make(chan transport.Inbound, 10), make(chan error, 1)
	response := transport.Response{ID: "r", Item: "i"}
	s := serve(t, func(ctx context.Context, c transport.Telephone) error {
		if p := c.Parties(); p != (transport.Parties{From: "+491", To: "+492", Line: "CA1"}) {
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
				why <- err
				return err
			}
			heard <- in
			if _, ok := in.(transport.Key); ok {
				if err := c.Send(ctx, transport.ResponseDone{Response: response, Status: transport.Cancelled}); err != nil {
					t.Error(err)
				}
			}
		}
	})
	do, _ := s.announce(t, "?route=sales", "CA1")
	ws := dials(t, do.Stream, nil)
	says(t, ws, append(begins(do.Stream), mediaText, mediaText)...)
	if sound, ok := (<-heard).(transport.Sound); !ok || sound.Rate != 8000 || len(sound.PCM) != 4 {
		t.Errorf("heard %+v", sound)
	}
	next := func() (m message) {
		t.Helper()
		_, b, err := ws.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &m); err != nil || m.Stream != "MZ1" {
			t.Fatalf("%s: %v", b, err)
		}
		return m
	}
	var sound, marks int
	for sound < 800 || marks < 2 {
		switch m := next(); m.Event {
		case "media":
			b, err := base64.StdEncoding.DecodeString(m.Media.Payload)
			if err != nil || len(b) != 160 {
				t.Errorf("%d bytes of sound, %v", len(b), err)
			}
			sound += len(b)
		case "mark":
			marks++
			says(t, ws, fmt.Sprintf(`{"event":"mark","streamSid":"MZ1","mark":{"name":%q}}`, m.Mark.Name))
		default:
			t.Fatalf("it said %+v", m)
		}
	}
	says(t, ws, `{"event":"dtmf","streamSid":"MZ1","dtmf":{"track":"inbound_track","digit":"1"}}`)
	if key := <-heard; key != (transport.Key{Digit: '1'}) {
		t.Errorf("the key is %+v", key)
	}
	if m := next(); m.Event != "clear" {
		t.Errorf("after the answer was cancelled it said %+v", m)
	}
	says(t, ws, `{"event":"stop","streamSid":"MZ1","stop":{"accountSid":"AC1","callSid":"CA1"}}`)
	if err := <-why; err != transport.ErrHungUp {
		t.Errorf("the call ended with %v", err)
	}
	if code, _ := closed(ws); code != websocket.CloseNormalClosure {
		t.Errorf("it is closed with %d", code)
	}
	if n := s.places.Load(); n != 2 {
		t.Errorf("%d places are left", n)
	}
	if c := s.Phone.Counts(); c.Twice != 1 {
		t.Errorf("what came twice is not left out: %+v", c)
	}
}

// What is against the rules ends the connection, with the reason, before or in the call.
func TestStreamsRefused(t *testing.T) {
	s := serve(t, func(ctx context.Context, c transport.Telephone) error {
		for {
			if _, err := c.Receive(ctx); err != nil {
				return err
			}
		}
	})
	s.places.Store(100)
	fresh := func() *stream {
		do, _ := s.announce(t, "", "CA1")
		return do.Stream
	}
	used := fresh()
	first := dials(t, used, nil)
	says(t, first, append(begins(used), `{"event":"stop","streamSid":"MZ1"}`)...)
	closed(first)
	start := func(from, to string) func(do *stream) []string {
		return func(do *stream) []string {
			b := begins(do)
			changed := strings.Replace(b[1], from, to, 1)
			if changed == b[1] {
				t.Fatalf("%s is not in %s", from, b[1])
			}
			return []string{b[0], changed}
		}
	}
	with := func(more ...string) func(do *stream) []string {
		return func(do *stream) []string { return append(begins(do), more...) }
	}
	for _, c := range []struct {
		name string
		says func(do *stream) []string
		want string
	}{
		{"nothing at all", func(*stream) []string { return nil }, "nothing came for too long"},
		{"no start", func(do *stream) []string { return begins(do)[:1] }, "nothing came for too long"},
		{"media first", func(do *stream) []string { return []string{begins(do)[0], mediaText} }, "begins with the events connected and start"},
		{"start first", func(do *stream) []string { return begins(do)[1:] }, "begins with the events connected and start"},
		{"a token that was used", func(*stream) []string { return begins(used) }, "used already"},
		{"a token that was made up", func(*stream) []string { return begins(&stream{Parameters: []parameter{{"token", "a.b.c"}}}) }, "none of this service's"},
		{"no token", start(`"token"`, `"tokem"`), "no ticket is shown"},
		{"a token of another call", start(`"callSid":"CA1"`, `"callSid":"CA2"`), "of another call"},
		{"another format", start(`audio/x-mulaw`, `audio/x-alaw`), "audio/x-alaw"},
		{"another rate", start(`8000`, `"16000"`), "at 16000 Hz"},
		{"no stream", start(`"streamSid":"MZ1","start"`, `"start"`), "no streamSid"},
		{"start twice", with(startText), "come twice"},
		{"garbage", with(`{"event":`), "cannot be read"},
		{"no base64", with(`{"event":"media","streamSid":"MZ1","media":{"payload":"*"}}`), "no base64"},
		{"a message of 65 kB", with(`{"event":"media","streamSid":"MZ1","media":{"payload":"` + strings.Repeat("A", 65<<10) + `"}}`), ""},
		{"silence", with(), "nothing came for too long"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			do := fresh()
			ws := dials(t, do, nil)
			for _, text := range c.says(do) {
				_ = ws.WriteMessage(websocket.TextMessage, []byte(text)) // it may be closed by now
			}
			code, text := closed(ws)
			want := websocket.ClosePolicyViolation
			if c.want == "" {
				want = websocket.CloseMessageTooBig
			}
			if code != want || !strings.Contains(text, c.want) {
				t.Errorf("it is closed with %d: %s", code, text)
			}
		})
	}
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		do := fresh()
		ws := dials(t, do, nil)
		says(t, ws, begins(do)...)
		if err := ws.WriteMessage(websocket.BinaryMessage, []byte{1}); err != nil {
			t.Fatal(err)
		}
		if code, text := closed(ws); code != websocket.ClosePolicyViolation || !strings.Contains(text, "binary") {
			t.Errorf("it is closed with %d: %s", code, text)
		}
	})
}

// Anybody can open connections that say nothing: no more of them are held than may wait, and they keep no call out.
func TestIdleConnections(t *testing.T) {
	held := make(chan bool)
	s := serve(t, func(ctx context.Context, c transport.Telephone) error {
		held <- true
		<-ctx.Done()
		return context.Cause(ctx)
	})
	said, _ := s.announce(t, "", "CA1")
	do := said.Stream
	var gone sync.WaitGroup
	var crowded atomic.Int32
	for range 500 {
		ws := dials(t, do, nil)
		gone.Go(func() {
			if code, _ := closed(ws); code == websocket.CloseTryAgainLater {
				crowded.Add(1)
			}
		})
	}
	ws := dials(t, do, nil)
	says(t, ws, begins(do)...)
	select {
	case <-held:
	case <-time.After(5 * time.Second):
		t.Fatal("the call is kept out")
	}
	gone.Wait()
	if n := crowded.Load(); n < 500-32 {
		t.Errorf("%d of 500 made room", n)
	}
}

// A stream that is signed is signed by the account; where the service is strict all of them are.
func TestSignedStreams(t *testing.T) {
	s := serve(t, nil)
	address := "ws" + strings.TrimPrefix(s.at, "http") + "/twilio/media"
	for _, c := range []struct {
		name, signature string
		strict, ok      bool
	}{
		{"unsigned", "", false, true},
		{"unsigned, and strict", "", true, false},
		{"wrong", signature("another", address, nil), false, false},
		{"right", signature(token, "wss"+strings.TrimPrefix(address, "ws"), nil), true, true},
		{"right, as of a page", signature(token, s.at+"/twilio/media", nil), true, false},
	} {
		s.Strict = c.strict
		ws, answer, err := websocket.DefaultDialer.Dial(address, http.Header{"X-Twilio-Signature": {c.signature}})
		if err == nil {
			ws.Close()
		}
		if (err == nil) != c.ok || err != nil && (answer == nil || answer.StatusCode != http.StatusForbidden) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Of a call that was placed the service knows that, and what Twilio has made of who has answered.
func TestPlaced(t *testing.T) {
	got := make(chan transport.Parties, 1)
	s := serve(t, func(_ context.Context, c transport.Telephone) error {
		got <- c.Parties()
		return transport.ErrEnded
	})
	for _, c := range []struct {
		direction, by string
		placed        bool
		want          transport.Answerer
	}{{"inbound", "", false, ""}, {"outbound-api", "", true, ""}, {"outbound-api", "human", true, transport.Human}, {"outbound-api", "machine_end_beep", true, transport.Recorder}} {
		do, _ := s.announces(t, "", url.Values{"CallSid": {"CA1"}, "From": {"+491"}, "To": {"+492"}, "Direction": {c.direction}, "AnsweredBy": {c.by}})
		if n := len(do.Stream.Parameters[0].Name) + len(do.Stream.Parameters[0].Value); n > 500 {
			t.Errorf("the parameter has %d characters, and Twilio takes 500", n)
		}
		ws := dials(t, do.Stream, nil)
		says(t, ws, begins(do.Stream)...)
		if p := <-got; p.Placed != c.placed || p.Answerer != c.want {
			t.Errorf("%s by %q: %+v", c.direction, c.by, p)
		}
		ws.Close()
	}
}
