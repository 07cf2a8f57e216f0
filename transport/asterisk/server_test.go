package asterisk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"

	"riposte/transport"
	"riposte/transport/phone"
)

// service is a Server whose calls are held by hold.
func service(t *testing.T, limits phone.Limits, hold func(context.Context, transport.Call) error) *Server {
	t.Helper()
	return &Server{
		Phone: &phone.Server{
			Hold:   func(ctx context.Context, c transport.Call, _ transport.Settings) error { return hold(ctx, c) },
			Admit:  func() (func(), error) { return func() {}, nil },
			Choose: func(phone.Opening) (transport.Settings, error) { return transport.Settings{}, nil },
			Limits: limits, Log: slog.New(slog.DiscardHandler),
		},
		Log: slog.New(slog.DiscardHandler),
	}
}

// listens has a service take calls by AudioSocket, until the test ends.
func listens(t *testing.T, s *Server) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.ServeAudioSocket(ctx, listener) }()
	t.Cleanup(func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// brings opens a connection of AudioSocket and sends what a call begins with.
func brings(t *testing.T, address string, id uuid.UUID) net.Conn {
	t.Helper()
	far, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	_ = far.SetDeadline(time.Now().Add(20 * time.Second))
	send(far, frame{identity, id[:]}, samples(8000))
	return far
}

// ends reads until the far side of a connection is told that there is no call, or that it is over.
func ends(t *testing.T, far net.Conn) {
	t.Helper()
	for {
		f, err := readFrame(far, longest)
		if err == nil && f.kind != hangUp {
			continue
		}
		if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
			t.Error("the far side was not told anything")
		}
		return
	}
}

// receives is an agent that listens, until the call ends.
func receives(ctx context.Context, c transport.Call) error {
	for {
		if _, err := c.Receive(ctx); err != nil {
			return err
		}
	}
}

func TestAudioSocketServes(t *testing.T) {
	came := make(chan transport.Parties, 1)
	ended := make(chan error, 1)
	s := service(t, phone.Limits{}, func(ctx context.Context, c transport.Call) error {
		came <- c.(transport.Telephone).Parties()
		err := receives(ctx, c)
		ended <- err
		return err
	})
	s.Keys = []string{"k"}
	s.Announced = true
	address := listens(t, s)
	ends(t, brings(t, address, testUUID)) // which nobody has announced

	body := strings.NewReader("from=%2B491&to=1002&route=sales&channel=PJSIP%2F100-1&customer=17")
	answer := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/asterisk/announcements", body)
	r.Header.Set("Authorization", "Bearer k")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	routes(t.Context(), s).ServeHTTP(answer, r)
	var announced struct {
		UUID    uuid.UUID `json:"uuid"`
		Expires int64     `json:"expires_at"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &announced); err != nil || answer.Code != http.StatusCreated {
		t.Fatalf("%d %s, %v", answer.Code, answer.Body, err)
	}
	if life := time.Until(time.Unix(announced.Expires, 0)); life < 50*time.Second || life > time.Minute {
		t.Errorf("the announcement is good for %v", life)
	}
	far := brings(t, address, announced.UUID)
	if got, want := <-came, (transport.Parties{From: "+491", To: "1002", Line: announced.UUID.String()}); got != want {
		t.Errorf("the parties are %+v", got)
	}
	// Something is sent all the time, in the caller's own format.
	for range 3 {
		if f, err := readFrame(far, longest); err != nil || f.kind != sound || len(f.payload) != 320 {
			t.Errorf("the far side got the kind %#x, %v", f.kind, err)
		}
	}
	send(far, frame{kind: hangUp})
	if err := <-ended; !errors.Is(err, transport.ErrHungUp) {
		t.Errorf("the call ended since %v", err)
	}
	ends(t, brings(t, address, announced.UUID)) // a second time
}

func TestAnnouncedTime(t *testing.T) {
	var a awaited
	now := time.Unix(1_800_000_000, 0)
	first, ends, ok := a.add(announcement{Route: "sales"}, now, time.Minute, 2)
	second, _, _ := a.add(announcement{}, now, time.Minute, 2)
	if _, _, more := a.add(announcement{}, now, time.Minute, 2); !ok || more || !ends.Equal(now.Add(time.Minute)) {
		t.Errorf("%v, %v, until %v", ok, more, ends)
	}
	if c, ok := a.take(first, ends); !ok || c.Route != "sales" {
		t.Errorf("%+v, %v", c, ok)
	}
	if _, ok := a.take(first, now); ok {
		t.Error("a call came twice")
	}
	if _, ok := a.take(second, ends.Add(1)); ok {
		t.Error("a call came too late")
	}
	_, _, _ = a.add(announcement{}, now, time.Minute, 2)
	if _, _, ok := a.add(announcement{}, ends.Add(1), time.Minute, 1); !ok || len(a.calls) != 1 {
		t.Errorf("calls that did not come are kept: %d", len(a.calls))
	}
}

func TestPeers(t *testing.T) {
	at := func(a string) net.Addr {
		p, err := net.ResolveTCPAddr("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	s := &Server{}
	for address, want := range map[string]bool{"127.0.0.1:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "192.0.2.1:1": false, "[2001:db8::1]:1": false} {
		if s.isPeer(at(address)) != want {
			t.Errorf("%s may: %v", address, !want)
		}
	}
	s.Peers = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	if s.isPeer(at("127.0.0.1:1")) || !s.isPeer(at("192.0.2.9:1")) {
		t.Error("the networks do not count")
	}
}

// 500 connections say nothing: no more of them than may wait are held, and those no longer than they may. A call comes all the same.
func TestAudioSocketCrowd(t *testing.T) {
	var held atomic.Int32
	s := service(t, phone.Limits{Waiting: 8, Start: 500 * time.Millisecond}, func(ctx context.Context, c transport.Call) error {
		held.Add(1)
		return receives(ctx, c)
	})
	address := listens(t, s)
	var all sync.WaitGroup
	began := time.Now()
	for range 500 {
		far, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() { ends(t, far); far.Close() })
	}
	far := brings(t, address, testUUID)
	if f, err := readFrame(far, longest); err != nil || f.kind != sound {
		t.Errorf("then a call was told %#x, %v", f.kind, err)
	}
	all.Wait()
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("they were held for %v", took)
	}
	if held.Load() != 1 {
		t.Errorf("%d calls were held", held.Load())
	}
}

// What is no AudioSocket is hung up on, and holds nothing.
func TestAudioSocketGarbage(t *testing.T) {
	s := service(t, phone.Limits{}, receives)
	address := listens(t, s)
	whole := appendFrame(appendFrame(nil, frame{identity, testUUID[:]}), samples(8000))
	for name, wire := range map[string][]byte{
		"HTTP":                 []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"TLS":                  {0x16, 0x03, 0x01, 0x02, 0x00, 0x01},
		"zeros":                make([]byte, 1<<16),
		"text in a call":       append(bytes.Clone(whole), "hello"...),
		"huge frame of errors": append(bytes.Clone(whole), 0xff, 0xff, 0xff),
		"odd sound":            append(bytes.Clone(whole), 0x10, 0, 1, 7),
	} {
		far, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		_ = far.SetDeadline(time.Now().Add(20 * time.Second))
		go func() { _, _ = far.Write(wire); _ = far.(*net.TCPConn).CloseWrite() }()
		ends(t, far)
		if _, err := io.Copy(io.Discard, far); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
		far.Close()
	}
}

// Sound without an end, faster than anybody speaks, ends the call.
func TestAudioSocketFlood(t *testing.T) {
	s := service(t, phone.Limits{Ahead: time.Second}, receives)
	far := brings(t, listens(t, s), testUUID)
	go func() {
		wire := appendFrame(nil, samples(8000))
		for {
			if _, err := far.Write(wire); err != nil {
				return
			}
		}
	}()
	ends(t, far)
}

// Keys without an end do as well.
func TestAudioSocketKeys(t *testing.T) {
	s := service(t, phone.Limits{}, receives)
	far := brings(t, listens(t, s), testUUID)
	go func() {
		wire := appendFrame(nil, frame{digit, []byte("1")})
		for {
			if _, err := far.Write(wire); err != nil {
				return
			}
		}
	}()
	ends(t, far)
}

// A far side that is killed, or that stops reading, lets go of its call.
func TestAudioSocketKilled(t *testing.T) {
	ended := make(chan error, 1)
	s := service(t, phone.Limits{}, func(ctx context.Context, c transport.Call) error {
		err := receives(ctx, c)
		ended <- err
		return err
	})
	address := listens(t, s)
	for range 3 {
		far := brings(t, address, testUUID)
		if _, err := readFrame(far, longest); err != nil {
			t.Fatal(err)
		}
		_ = far.(*net.TCPConn).SetLinger(0)
		far.Close()
		if err := <-ended; !errors.Is(err, transport.ErrHungUp) {
			t.Errorf("the call ended since %v", err)
		}
	}
}

// Nobody reads and nobody sends: the call ends when the first limit is reached.
func TestAudioSocketDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := phone.Limits{}
		ended := make(chan error, 1)
		s := service(t, limits, func(ctx context.Context, c transport.Call) error {
			err := receives(ctx, c)
			ended <- err
			return err
		})
		near, far := net.Pipe()
		defer far.Close()
		go func() {
			_, _ = far.Write(appendFrame(appendFrame(nil, frame{identity, testUUID[:]}), samples(8000)))
		}()
		began := time.Now()
		s.takeAudioSocket(t.Context(), t.Context(), near, func() {})
		if err := <-ended; !errors.Is(err, transport.ErrSlowReader) {
			t.Errorf("the call ended since %v", err)
		}
		if took := time.Since(began); took > s.Phone.Bounds().Write+2*farewell {
			t.Errorf("it took %v", took)
		}
	})
}

// routes are a service's, as they are in cmd/riposte.
func routes(held context.Context, s *Server) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /asterisk/media", s.Media)
	mux.HandleFunc("POST /asterisk/announcements", s.Announce)
	mux.Handle("POST /asterisk/calls", s.Fetch(held))
	return mux
}

// serves has a service answer over HTTP, until the test ends.
func serves(t *testing.T, s *Server) *httptest.Server {
	t.Helper()
	ctx, end := context.WithCancel(context.Background())
	at := httptest.NewUnstartedServer(routes(ctx, s))
	at.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	at.Start()
	t.Cleanup(func() { end(); s.Close(); at.Close() })
	return at
}

// dialMedia connects as chan_websocket does.
func dialMedia(t *testing.T, at *httptest.Server, query, password string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	header := http.Header{}
	if password != "" {
		r, _ := http.NewRequest(http.MethodGet, at.URL, nil)
		r.SetBasicAuth("asterisk", password)
		header = r.Header
	}
	ws, answer, err := (&websocket.Dialer{Subprotocols: []string{subprotocol}}).Dial("ws"+strings.TrimPrefix(at.URL, "http")+"/asterisk/media?"+query, header)
	if err == nil {
		t.Cleanup(func() { ws.Close() })
		_ = ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	}
	return ws, answer, err
}

func TestMediaServes(t *testing.T) {
	came, ended := make(chan transport.Telephone, 1), make(chan error, 1)
	s := service(t, phone.Limits{}, func(ctx context.Context, c transport.Call) error {
		came <- c.(transport.Telephone)
		err := receives(ctx, c)
		ended <- err
		return err
	})
	s.Keys, s.Answer = []string{"other", "k"}, true
	at := serves(t, s)
	for _, wrong := range []string{"", "x", "k "} {
		if _, answer, err := dialMedia(t, at, "", wrong); err == nil || answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("with the password %q: %v, %v", wrong, answer, err)
		}
	}
	if _, answer, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(at.URL, "http")+"/asterisk/media", http.Header{"Authorization": {"Bearer k"}}); err == nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("without the subprotocol: %v", err)
	}
	ws, _, err := dialMedia(t, at, "from=%2B491&to=1004", "k")
	if err != nil {
		t.Fatal(err)
	}
	says(t, ws, startOf("ulaw"))
	c := <-came
	if got, want := c.Parties(), (transport.Parties{From: "+491", To: "1004", Line: "17.1"}); got != want {
		t.Errorf("the parties are %+v", got)
	}
	if got := told(t, ws, 1); got[0] != "ANSWER" {
		t.Errorf("the far side was told %q", got)
	}
	go func() { _ = c.HangUp(context.Background()) }()
	if got := told(t, ws, 1); got[0] != "HANGUP" {
		t.Errorf("the far side was told %q", got)
	}
	if err := <-ended; !errors.Is(err, transport.ErrEnded) {
		t.Errorf("the call ended since %v", err)
	}
}

// A call that no route takes is refused when it is announced or to be fetched, before its caller is connected.
func TestNoRoute(t *testing.T) {
	s := service(t, phone.Limits{}, receives)
	s.Exchanges = []string{"ws://127.0.0.1:1"}
	s.Phone.Choose = func(o phone.Opening) (transport.Settings, error) {
		if o.Route != "sales" {
			return transport.Settings{}, fmt.Errorf("there is no route %q; there are sales", o.Route)
		}
		return transport.Settings{}, nil
	}
	for _, tt := range []struct {
		path, body string
		want       int
	}{
		{"announcements", "route=nosuch", http.StatusNotFound},
		{"announcements", "", http.StatusNotFound},
		{"announcements", "route=sales", http.StatusCreated},
		{"calls", "connection_id=" + testUUID.String() + "&route=nosuch", http.StatusNotFound},
		{"calls", "connection_id=" + testUUID.String() + "&route=sales", http.StatusBadGateway}, // there is no Asterisk
		{"calls", "connection_id=" + testUUID.String(), http.StatusBadGateway},                  // whose channel may name one
	} {
		answer := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/asterisk/"+tt.path, strings.NewReader(tt.body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		routes(t.Context(), s).ServeHTTP(answer, r)
		if answer.Code != tt.want || tt.want == http.StatusNotFound && !strings.Contains(answer.Body.String(), "there are sales") {
			t.Errorf("%s of %q: %d %s, want %d", tt.path, tt.body, answer.Code, answer.Body, tt.want)
		}
	}
	if got := len(s.awaited.calls); got != 1 {
		t.Errorf("%d calls are awaited", got)
	}
}

// A call for which there is no place is hung up on, and is not answered.
func TestMediaBusy(t *testing.T) {
	s := service(t, phone.Limits{}, receives)
	s.Answer = true
	s.Phone.Admit = func() (func(), error) { return nil, errors.New("all places are taken") }
	at := serves(t, s)
	ws, _, err := dialMedia(t, at, "", "")
	if err != nil {
		t.Fatal(err)
	}
	says(t, ws, startOf("ulaw"))
	if got := told(t, ws, 1); got[0] != "HANGUP" {
		t.Errorf("the far side was told %q", got)
	}
	// An announcement says so before the caller is answered.
	answer := httptest.NewRecorder()
	routes(t.Context(), s).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/asterisk/announcements", nil))
	if answer.Code != http.StatusServiceUnavailable || len(s.awaited.calls) != 0 {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// fakeExchange is Asterisk's HTTP server, on which a call waits.
func fakeExchange(t *testing.T, id string) (url string, came chan *websocket.Conn) {
	t.Helper()
	came = make(chan *websocket.Conn, 1)
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/media/"+id {
			http.NotFound(w, r)
			return
		}
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			t.Errorf("%q and %q were shown", user, password)
		}
		ws, err := (&websocket.Upgrader{Subprotocols: []string{subprotocol}}).Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		came <- ws
	}))
	t.Cleanup(at.Close)
	return "ws" + strings.TrimPrefix(at.URL, "http"), came
}

func TestFetch(t *testing.T) {
	parties := make(chan transport.Parties, 1)
	s := service(t, phone.Limits{}, func(ctx context.Context, c transport.Call) error {
		parties <- c.(transport.Telephone).Parties()
		return receives(ctx, c)
	})
	exchange, came := fakeExchange(t, testUUID.String())
	s.Exchanges = []string{strings.Replace(exchange, "ws://", "ws://u:p@", 1), "ws://127.0.0.1:1"}
	at := serves(t, s)
	post := func(kind, body string) (int, string) {
		answer, err := http.Post(at.URL+"/asterisk/calls", kind, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		b, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(b)
	}
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		kind, body string
		want       int
		says       string
	}{
		"no ID":          {form, "", http.StatusBadRequest, "connection_id"},
		"a path for one": {form, "connection_id=../ari/channels", http.StatusBadRequest, "connection_id"},
		"elsewhere":      {form, "connection_id=" + testUUID.String() + "&url=" + url.QueryEscape("ws://169.254.169.254"), http.StatusForbidden, "asterisk.exchanges"},
		"another ID":     {form, "connection_id=" + uuid.Max.String(), http.StatusBadGateway, "404"},
		"nobody there":   {form, "connection_id=" + testUUID.String() + "&url=ws://127.0.0.1:1", http.StatusBadGateway, "refused"},
		"unknown field":  {"application/json", `{"connection":"x"}`, http.StatusBadRequest, "connection"},
		"two objects":    {"application/json", `{} {}`, http.StatusBadRequest, "follows"},
		"another kind":   {"text/xml", `<call/>`, http.StatusBadRequest, "text/xml"},
		"too long":       {"application/json", `{"url":"` + strings.Repeat("x", 1<<17) + `"}`, http.StatusBadRequest, "too large"},
	} {
		if code, body := post(c.kind, c.body); code != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	code, body := post("application/json", fmt.Sprintf(`{"url":%q,"connection_id":%q,"from":"+491","to":"1005","parameters":{"plan":"b"}}`, exchange, testUUID))
	if code != http.StatusAccepted {
		t.Fatalf("%d %s", code, body)
	}
	ws := <-came
	defer ws.Close()
	says(t, ws, startOf("alaw"))
	if got, want := <-parties, (transport.Parties{From: "+491", To: "1005", Line: "17.1"}); got != want {
		t.Errorf("the parties are %+v", got)
	}
}

// Connections that say nothing keep nobody out: those that have waited the longest go, the others have their time, and a call comes between them.
func TestMediaCrowd(t *testing.T) {
	came := make(chan bool, 1)
	s := service(t, phone.Limits{Waiting: 4, Start: 300 * time.Millisecond}, func(ctx context.Context, c transport.Call) error {
		came <- true
		return receives(ctx, c)
	})
	at := serves(t, s)
	var silent []*websocket.Conn
	for i := range 13 {
		ws, _, err := dialMedia(t, at, "", "")
		if err != nil {
			t.Fatal(err)
		}
		if i == 12 {
			says(t, ws, startOf("ulaw"))
			<-came
			defer ws.Close()
			break
		}
		silent = append(silent, ws)
	}
	gone := 0
	for _, ws := range silent {
		switch _, _, err := ws.ReadMessage(); {
		case websocket.IsCloseError(err, websocket.CloseTryAgainLater):
			gone++
		case !websocket.IsCloseError(err, websocket.ClosePolicyViolation):
			t.Errorf("one was told %v", err)
		}
	}
	if gone != 9 {
		t.Errorf("%d made room, want 9", gone)
	}
}

// Sound without an end, and control messages without an end, end the call or are taken for what they are; text where bytes are due ends it.
func TestMediaFlood(t *testing.T) {
	s := service(t, phone.Limits{Ahead: time.Second}, receives)
	at := serves(t, s)
	for name, flood := range map[string]func(*websocket.Conn) error{
		"sound":    func(ws *websocket.Conn) error { return ws.WriteMessage(websocket.BinaryMessage, make([]byte, 1600)) },
		"notices":  func(ws *websocket.Conn) error { return ws.WriteMessage(websocket.TextMessage, []byte("QUEUE_DRAINED")) },
		"text":     func(ws *websocket.Conn) error { return ws.WriteMessage(websocket.TextMessage, make([]byte, 160)) },
		"a start":  func(ws *websocket.Conn) error { return ws.WriteMessage(websocket.TextMessage, []byte(startOf("ulaw"))) },
		"too long": func(ws *websocket.Conn) error { return ws.WriteMessage(websocket.BinaryMessage, make([]byte, 1<<17)) },
	} {
		ws, _, err := dialMedia(t, at, "", "")
		if err != nil {
			t.Fatal(err)
		}
		says(t, ws, startOf("ulaw"))
		go func() {
			for flood(ws) == nil {
			}
		}()
		for {
			_, _, err := ws.ReadMessage()
			if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
				t.Errorf("%s: the call goes on", name)
			}
			if err != nil {
				break
			}
		}
	}
}
