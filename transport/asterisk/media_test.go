package asterisk

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/transport"
	"riposte/transport/phone"
)

// startOf returns MEDIA_START of a format, in plain text.
func startOf(format string) string {
	f, _ := formatOf(format)
	return fmt.Sprintf("MEDIA_START connection_id:c1 channel:WebSocket/c1/0x1 channel_id:17.1 format:%s optimal_frame_size:%d ptime:20", format, f.Bytes())
}

// websocketLine returns a line and its far side.
func websocketLine(t *testing.T) (*mediaLine, *websocket.Conn) {
	t.Helper()
	s := &phone.Server{}
	came := make(chan *phone.Socket, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := s.Upgrade(w, r, subprotocol)
		if err != nil {
			t.Error(err)
		}
		came <- socket
	}))
	t.Cleanup(server.Close)
	far, _, err := (&websocket.Dialer{Subprotocols: []string{subprotocol}}).Dial("ws"+strings.TrimPrefix(server.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	return &mediaLine{socket: <-came}, far
}

// says sends texts.
func says(t *testing.T, far *websocket.Conn, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := far.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// told returns the next texts that the far side gets, which may take some seconds.
func told(t *testing.T, far *websocket.Conn, n int) (all []string) {
	t.Helper()
	_ = far.SetReadDeadline(time.Now().Add(5 * time.Second))
	for range n {
		kind, m, err := far.ReadMessage()
		if err != nil || kind != websocket.TextMessage {
			t.Fatalf("%v came, %v; before: %q", kind, err, all)
		}
		all = append(all, string(m))
	}
	return all
}

func TestMediaOpens(t *testing.T) {
	s := &Server{Phone: &phone.Server{}}
	l, far := websocketLine(t)
	says(t, far, `{"event":"MEDIA_START","connection_id":"c1","channel":"WebSocket/c1/0x1","channel_id":"17.1","format":"slin16","optimal_frame_size":640,"ptime":20,"channel_variables":{"RIPOSTE_ROUTE":"sales","RIPOSTE_FROM":"+492","RIPOSTE_CUSTOMER":"17","RIPOSTE_PLAN":"b","DIALSTATUS":"x"}}`)
	o, err := s.openMedia(l, announcement{From: "+491", Parameters: map[string]string{"plan": "a"}})
	if err != nil {
		t.Fatal(err)
	}
	format := phone.Format{Encoding: phone.Linear, Rate: 16000}
	if o.Wire != "asterisk" || o.ID != "17.1" || o.From != "+491" || o.To != "" || o.Route != "sales" || o.In != format || o.Out != format || o.Buffer != 200*time.Millisecond || o.Steady {
		t.Errorf("the call begins with %+v", o)
	}
	if len(o.Parameters) != 2 || o.Parameters["customer"] != "17" || o.Parameters["plan"] != "a" {
		t.Errorf("the parameters are %v", o.Parameters)
	}
	if err := l.Transfer(t.Context(), "17", ""); !errors.Is(err, transport.ErrCannot) {
		t.Errorf("a transfer without a manager: %v", err)
	}
}

func TestMediaDoesNotOpen(t *testing.T) {
	for name, c := range map[string]struct {
		kind    int
		message string
		want    string
	}{
		"bytes":          {websocket.BinaryMessage, startOf("ulaw"), "Bytes came"},
		"another event":  {websocket.TextMessage, "QUEUE_DRAINED", "has to be MEDIA_START"},
		"text":           {websocket.TextMessage, "hello there", "names no event"},
		"broken JSON":    {websocket.TextMessage, `{"event":`, "no message of chan_websocket"},
		"opus":           {websocket.TextMessage, "MEDIA_START channel:x format:opus optimal_frame_size:0 ptime:20", "c(slin16)"},
		"another length": {websocket.TextMessage, "MEDIA_START channel:x format:ulaw optimal_frame_size:240 ptime:30", "has to be 160"},
	} {
		l, far := websocketLine(t)
		if err := far.WriteMessage(c.kind, []byte(c.message)); err != nil {
			t.Fatal(err)
		}
		_, err := (&Server{Phone: &phone.Server{}}).openMedia(l, announcement{})
		if !isMisuse(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l, _ := websocketLine(t)
	if _, err := (&Server{Phone: &phone.Server{Limits: phone.Limits{Start: 10 * time.Millisecond}}}).openMedia(l, announcement{}); !errors.Is(err, transport.ErrIdle) {
		t.Errorf("nothing: %v", err)
	}
}

// opened is websocketLine with a call on it.
func opened(t *testing.T, start string) (*mediaLine, *websocket.Conn) {
	t.Helper()
	l, far := websocketLine(t)
	says(t, far, start)
	if _, err := (&Server{Phone: &phone.Server{}}).openMedia(l, announcement{}); err != nil {
		t.Fatal(err)
	}
	return l, far
}

func TestMediaReceives(t *testing.T) {
	l, far := opened(t, startOf("ulaw"))
	for _, c := range []struct {
		kind    int
		message string
		want    phone.Event
	}{
		{websocket.TextMessage, "DTMF_END digit:* channel_id:17.1", phone.Key{Digit: '*'}},
		{websocket.TextMessage, "DTMF_END digit:", phone.Nothing{}},
		{websocket.TextMessage, "MEDIA_XOFF", phone.Flow{Stop: true}},
		{websocket.TextMessage, "MEDIA_XON", phone.Flow{}},
		{websocket.TextMessage, "STATUS channel_id:17.1 queue_length:43", phone.Nothing{}},
		{websocket.TextMessage, "QUEUE_DRAINED", phone.Nothing{}},
		{websocket.TextMessage, "MEDIA_BUFFERING_COMPLETED 7", phone.Nothing{}},
		{websocket.TextMessage, "SOMETHING_NEW", phone.Nothing{}},
		{websocket.TextMessage, "MEDIA_MARK_PROCESSED of-somebody-else", phone.Nothing{}},
		{websocket.BinaryMessage, "", phone.Nothing{}},
	} {
		if err := far.WriteMessage(c.kind, []byte(c.message)); err != nil {
			t.Fatal(err)
		}
		if e, err := l.Receive(); err != nil || e != c.want {
			t.Errorf("%q is %+v, %v", c.message, e, err)
		}
	}
	if err := far.WriteMessage(websocket.BinaryMessage, make([]byte, 160)); err != nil {
		t.Fatal(err)
	}
	if e, err := l.Receive(); err != nil || len(e.(phone.Media).Coded) != 160 {
		t.Errorf("sound is %+v, %v", e, err)
	}
}

func TestMediaMisuse(t *testing.T) {
	for name, c := range map[string]struct {
		kind    int
		message string
		want    string
	}{
		"a second start": {websocket.TextMessage, startOf("slin"), "A second MEDIA_START"},
		"passthrough":    {websocket.TextMessage, "ERROR channel_id:17.1 error_text:MARK_MEDIA not supported in passthrough mode", "options p and d()"},
		"half a sample":  {websocket.BinaryMessage, "abc", "3 bytes"},
		"other language": {websocket.TextMessage, "\x00", "no message"},
	} {
		l, far := opened(t, startOf("slin"))
		if name == "other language" {
			l.language = object
		}
		if err := far.WriteMessage(c.kind, []byte(c.message)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Receive(); !isMisuse(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMediaCommands(t *testing.T) {
	l, far := opened(t, startOf("ulaw"))
	l.answers = true
	says(t, far, "QUEUE_DRAINED", "QUEUE_DRAINED", "MEDIA_MARK_PROCESSED m1", "MEDIA_MARK_PROCESSED m2", "MEDIA_MARK_PROCESSED m2")
	for range 2 {
		if _, err := l.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []func() error{
		func() error { return l.Mark("m1") }, func() error { return l.Mark("m2") }, l.Pause, l.Resume,
		func() error { _, err := l.Receive(); return err }, // m1 is back
		l.Clear,
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"ANSWER", "MARK_MEDIA m1", "MARK_MEDIA m2", "PAUSE_MEDIA", "CONTINUE_MEDIA", "FLUSH_MEDIA", "CONTINUE_MEDIA", "MARK_MEDIA m2"}
	if got := told(t, far, len(want)); !slices.Equal(got, want) {
		t.Errorf("the far side was told %q", got)
	}
	// The second mark was on its way when the queue was emptied, and so comes twice.
	for _, want := range []phone.Event{phone.Marked{Name: "m2"}, phone.Nothing{}} {
		if e, err := l.Receive(); err != nil || e != want {
			t.Errorf("the mark is %+v, %v", e, err)
		}
	}
	l.Close(nil)
	if got := told(t, far, 1); got[0] != "HANGUP" {
		t.Errorf("at the end it was told %q", got)
	}
}

// No message is longer than Asterisk takes, and none ends within a frame.
func TestMediaLongSound(t *testing.T) {
	l, far := opened(t, startOf("ulaw"))
	sent := make([]byte, 160*1000)
	go func() { _ = l.Play(sent) }()
	_ = far.SetReadDeadline(time.Now().Add(5 * time.Second))
	for got := 0; got < len(sent); {
		kind, m, err := far.ReadMessage()
		if err != nil || kind != websocket.BinaryMessage || len(m) > mostMessage || len(m)%160 != 0 {
			t.Fatalf("a message of kind %d has %d bytes, %v", kind, len(m), err)
		}
		got += len(m)
	}
}

// The far side is gone in the middle of everything.
func TestMediaKilled(t *testing.T) {
	l, far := opened(t, startOf("ulaw"))
	_ = far.NetConn().Close()
	if _, err := l.Receive(); !errors.Is(err, transport.ErrLost) {
		t.Errorf("the error is %v", err)
	}
	l.Close(transport.ErrLost)
}
