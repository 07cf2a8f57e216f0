package phone

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/caller"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// pipes is a listener of pipes, on which time may be fake.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// came is a message that the far side sent, and when.
type came struct {
	text string // Empty for sound.
	n    int    // Bytes.
	at   time.Duration
}

// wire is a service over WebSocket for tests: it notes what comes, and sends what it is told.
type wire struct {
	t     *testing.T
	began time.Time
	ws    *websocket.Conn
	mu    sync.Mutex
	log   []came
}

func (w *wire) read() {
	for {
		kind, b, err := w.ws.ReadMessage()
		if err != nil {
			return
		}
		c := came{n: len(b), at: time.Since(w.began)}
		if kind == websocket.TextMessage {
			c.text = string(b)
		}
		w.mu.Lock()
		w.log = append(w.log, c)
		w.mu.Unlock()
	}
}

// said returns the texts that came in which something is, sound left out, with their times.
func (w *wire) said(what string) (all []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.log {
		if c.text != "" && strings.Contains(c.text, what) && !strings.Contains(c.text, `"media":`) {
			all = append(all, fmt.Sprintf("%v %s", c.at, c.text))
		}
	}
	return all
}

// messages returns all that came so far.
func (w *wire) messages() []came {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log)
}

func (w *wire) text(format string, args ...any) {
	if err := w.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, format, args...)); err != nil {
		w.t.Error(err)
	}
}

func (w *wire) binary(b []byte) {
	if err := w.ws.WriteMessage(websocket.BinaryMessage, b); err != nil {
		w.t.Error(err)
	}
}

// serve runs f with a service that speaks over WebSocket, in fake time. webhook answers what is no WebSocket.
func serve(t *testing.T, p Phone, webhook http.HandlerFunc, f func(t *testing.T, c *Call, w *wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		w := &wire{t: t, began: time.Now()}
		var work sync.WaitGroup
		server := http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if !websocket.IsWebSocketUpgrade(r) {
				webhook(rw, r)
				return
			}
			u := websocket.Upgrader{Subprotocols: []string{"media"}}
			var err error
			if w.ws, err = u.Upgrade(rw, r, nil); err != nil {
				t.Error(err)
				return
			}
			w.read()
			w.ws.Close()
		})}
		work.Go(func() { _ = server.Serve(listener) })
		p.DialContext = listener.dial
		c, err := p.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f(t, c, w)
		_ = c.Close()
		_ = server.Close()
		work.Wait()
	})
}

// hum is sound that is audible throughout.
func hum(d time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(d, rate))
	for i := range p {
		p[i] = int16(8000 * math.Sin(float64(i)*2*math.Pi*300/float64(rate)))
	}
	return p
}

// twilioPhone is one whose webhook is answered with a stream, and checks what it is told.
func twilioPhone(t *testing.T) (Phone, http.HandlerFunc) {
	p := Phone{Wire: Twilio, Address: "http://service/twilio/voice", Secret: "12345", From: "+4911", To: "+4922", Bare: true}
	return p, func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil || r.Header.Get("X-Twilio-Signature") != p.sign(p.Address, r.PostForm) {
			t.Errorf("the webhook is signed %q, %v", r.Header.Get("X-Twilio-Signature"), err)
		}
		if r.PostForm.Get("From") != "+4911" || !strings.HasPrefix(r.PostForm.Get("CallSid"), "CA") {
			t.Errorf("the webhook is told %v", r.PostForm)
		}
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		io.WriteString(w, `<?xml version="1.0"?><Response><Connect><Stream url="wss://service/twilio/media"><Parameter name="ticket" value="t1"/></Stream></Connect></Response>`)
	}
}

// The signature is that of the example in Twilio's documentation of request validation.
func TestSignature(t *testing.T) {
	p := Phone{Secret: "12345"}
	form := map[string][]string{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"}, "From": {"+14158675309"}, "To": {"+18005551212"}}
	if got := p.sign("https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "RSOYDt4T1cUTdK1PDd93/VVr8B8=" {
		t.Errorf("the signature is %q", got)
	}
}

func TestTwilio(t *testing.T) {
	p, webhook := twilioPhone(t)
	p.Delay = 30 * ms
	serve(t, p, webhook, func(t *testing.T, c *Call, w *wire) {
		time.Sleep(80 * ms)
		var start struct {
			StreamSid, SequenceNumber string
			Start                     struct {
				CallSid          string
				CustomParameters map[string]string
			}
		}
		log := w.messages()
		if len(log) != 4 || !strings.Contains(log[0].text, `"connected"`) || json.Unmarshal([]byte(log[1].text), &start) != nil {
			t.Fatalf("%+v", log)
		}
		if start.SequenceNumber != "1" || start.Start.CustomParameters["ticket"] != "t1" || start.Start.CallSid != c.ID() {
			t.Errorf("it starts with %s", log[1].text)
		}
		for i, want := range []string{`"chunk":"1"`, `"chunk":"2"`} {
			if m := log[2+i]; !strings.Contains(m.text, want) || m.at != time.Duration(i+1)*20*ms+30*ms {
				t.Errorf("frame %d came at %v: %s", i, m.at, m.text)
			}
		}
		send := func(event, more string) { w.text(`{"event":%q,"streamSid":%q%s}`, event, start.StreamSid, more) }
		sound := base64.StdEncoding.EncodeToString(hum(200*ms, 8000).AppendMuLaw(nil))
		// It comes after 30 ms, plays for 200, and the mark takes 30 back.
		send("media", `,"media":{"payload":"`+sound+`"}`)
		send("mark", `,"mark":{"name":"one"}`)
		send("media", `,"media":{"payload":"`+sound+`"}`)
		send("mark", `,"mark":{"name":"two"}`)
		time.Sleep(300 * ms)
		send("clear", "")
		c.Press('5')
		time.Sleep(100 * ms)
		marks := w.said(`"mark"`)
		if len(marks) != 2 || !strings.HasPrefix(marks[0], "340.") || !strings.Contains(marks[0], `"one"`) || !strings.HasPrefix(marks[1], "440ms") || !strings.Contains(marks[1], `"two"`) {
			t.Errorf("marks: %v", marks)
		}
		if keys := w.said(`"dtmf"`); len(keys) != 1 || !strings.Contains(keys[0], `"digit":"5"`) {
			t.Errorf("keys: %v", keys)
		}
		m := c.Now()
		if len(m.Answers) != 1 || !m.Answers[0].Cut || len(m.Cuts) != 1 || m.Heard(0) != audio.Samples(300*ms, 8000) || m.Cuts[0].Dropped != audio.Samples(100*ms, 8000) {
			t.Errorf("%d samples were heard, %+v %+v", m.Heard(0), m.Answers, m.Cuts)
		}
		if at := m.Answers[0].Begins.Sub(w.began).Round(ms); at != 110*ms {
			t.Errorf("it begins at %v", at)
		}
		// What comes next plays at once.
		send("media", `,"media":{"payload":"`+sound+`"}`)
		time.Sleep(500 * ms)
		if m = c.Now(); len(m.Answers) != 2 || m.Answers[1].Cut || m.Answers[1].Ends.Sub(m.Answers[1].Begins) != 200*ms || m.Waiting != 0 {
			t.Errorf("%+v, %d wait", m.Answers, m.Waiting)
		}
		if err := c.Close(); err != nil {
			t.Errorf("faults: %v", err)
		}
		if s := w.said(`"stop"`); len(s) != 1 {
			t.Errorf("it stopped with %v", s)
		}
		n := 0
		for _, m := range w.messages()[1:] {
			if n++; !strings.Contains(m.text, fmt.Sprintf(`"sequenceNumber":"%d"`, n)) {
				t.Fatalf("message %d is %s", n, m.text)
			}
		}
	})
}

func TestTwilioFaults(t *testing.T) {
	s := &stream{sid: "MZ1"}
	for message, want := range map[string]string{
		`{"event":"media","streamSid":"MZ1","media":{"payload":"//8="}}`:             "",
		`{"event":"mark","streamSid":"MZ1","mark":{"name":"a"}}`:                     "",
		`{"event":"clear","streamSid":"MZ1"}`:                                        "",
		`{"event":"media","streamSid":"MZ2","media":{"payload":"//8="}}`:             "for the stream",
		`{"event":"media","streamSid":"MZ1","media":{"payload":"//8"}}`:              "base64",
		`{"event":"media","streamSid":"MZ1","media":{"payload":""}}`:                 "or none",
		`{"event":"media","streamSid":"MZ1","media":{"payload":"//8=","chunk":"1"}}`: "chunk",
		`{"event":"media","streamSid":"MZ1"}`:                                        "fields",
		`{"event":"clear","streamSid":"MZ1","mark":{"name":"a"}}`:                    "fields",
		`{"event":"mark","streamSid":"MZ1","mark":{"name":""}}`:                      "without a name",
		`{"event":"stop","streamSid":"MZ1"}`:                                         "does not know",
		`{"event":"clear","streamSid":"MZ1"}{}`:                                      "behind",
		`hello`:                                                                      "invalid",
	} {
		var faults []string
		s.understand([]byte(message), func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) })
		if got := strings.Join(faults, "; "); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q", message, got)
		}
	}
}

func TestTwiML(t *testing.T) {
	for body, ok := range map[string]bool{
		`<Response><Connect><Stream url="wss://a/b"/></Connect></Response>`:                                                                       true,
		`<Response><Connect><Stream url="wss://a/b"><Parameter name="x" value="y"/></Stream></Connect></Response>`:                                true,
		`<Response><Connect><Stream url="ws://a/b"/></Connect></Response>`:                                                                        false,
		`<Response><Connect><Stream url="wss://a/b?x=y"/></Connect></Response>`:                                                                   false,
		`<Response><Start><Stream url="wss://a/b"/></Start></Response>`:                                                                           false,
		`<Response><Connect><Stream url="wss://a/b"><Param name="x"/></Stream></Connect></Response>`:                                              false,
		`<Response><Connect><Stream url="wss://a/b"><Parameter value="y"/></Stream></Connect></Response>`:                                         false,
		`<Response><Connect><Stream url="wss://a/b"><Parameter name="x" value="` + strings.Repeat("y", 500) + `"/></Stream></Connect></Response>`: false,
		`<Connect/>`: false,
		`hello`:      false,
	} {
		if _, err := readTwiML("text/xml", []byte(body)); (err == nil) != ok {
			t.Errorf("%.80s: %v", body, err)
		}
	}
	if _, err := readTwiML("text/html", []byte(`<Response><Connect><Stream url="wss://a/b"/></Connect></Response>`)); !errors.Is(err, ErrTwiML) {
		t.Errorf("a page: %v", err)
	}
}

func TestAudioSocket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		p := Phone{Wire: AudioSocket, Address: "service:9092", ID: "f47ac10b-58cc-4372-a567-0e02b2c3d479", DialContext: listener.dial}
		dialled := make(chan *Call)
		go func() {
			c, err := p.Dial(t.Context())
			if err != nil {
				t.Error(err)
			}
			dialled <- c
		}()
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c := <-dialled
		began := time.Now()
		var mu sync.Mutex
		var frames []string
		go func() {
			in := bufio.NewReader(conn)
			for {
				var head [3]byte
				if _, err := io.ReadFull(in, head[:]); err != nil {
					return
				}
				payload := make([]byte, int(head[1])<<8|int(head[2]))
				if _, err := io.ReadFull(in, payload); err != nil {
					return
				}
				mu.Lock()
				frames = append(frames, fmt.Sprintf("%v %x %d", time.Since(began), head[0], len(payload)))
				mu.Unlock()
			}
		}()
		send := func(kind byte, payload []byte) {
			if _, err := conn.Write(append([]byte{kind, byte(len(payload) >> 8), byte(len(payload))}, payload...)); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(10 * ms)
		sound := hum(20*ms, 8000).AppendBytes(nil)
		for i := range 20 {
			if i == 10 {
				time.Sleep(100 * ms) // more than the telephone's buffer has
			}
			send(0x10, sound)
			time.Sleep(20 * ms)
		}
		c.Press('#')
		time.Sleep(100 * ms)
		m := c.Now()
		if gaps := m.Gaps(time.Second); len(gaps) != 1 || gaps[0] != 100*ms {
			t.Errorf("gaps: %v", gaps)
		}
		if len(m.Answers) != 1 || m.Answers[0].Begins.Sub(began) != 50*ms || m.Heard(0) != 20*160 {
			t.Errorf("%d samples were heard, %+v", m.Heard(0), m.Answers)
		}
		// What came late at once is caught up with in silence.
		for range 10 {
			send(0x10, sound)
		}
		for range 20 {
			send(0x10, make([]byte, 320))
			time.Sleep(20 * ms)
		}
		if m = c.Now(); m.Waiting > 3*160 || m.Heard(0) < 30*160 {
			t.Errorf("%d samples wait, %d were heard", m.Waiting, m.Heard(0))
		}
		send(0x10, sound[:100])
		send(0x11, sound)
		send(0x10, nil)
		send(0x03, []byte("1"))
		send(0x00, nil)
		synctest.Wait()
		if err := c.Close(); err == nil || strings.Count(err.Error(), "\n") != 3 {
			t.Errorf("faults: %v", err)
		}
		if _, err := c.Until(t.Context(), time.Second, func(Moment) bool { return false }); !errors.Is(err, caller.ErrEnded) {
			t.Errorf("the call ended with %v", err)
		}
		conn.Close()
		mu.Lock()
		defer mu.Unlock()
		if frames[0] != "0s 1 16" || frames[1] != "20ms 10 320" || frames[2] != "40ms 10 320" || !slices.ContainsFunc(frames, func(s string) bool { return strings.HasSuffix(s, " 3 1") }) {
			t.Errorf("frames: %v", frames)
		}
	})
}

func TestChanWS(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain %t", plain), func(t *testing.T) {
			p := Phone{Wire: ChanWS, Address: "ws://service/asterisk/media", Plain: plain}
			serve(t, p, nil, func(t *testing.T, c *Call, w *wire) {
				command := func(name, id string) {
					switch {
					case !plain && id != "":
						w.text(`{"command":%q,"correlation_id":%q}`, name, id)
					case !plain:
						w.text(`{"command":%q}`, name)
					default:
						w.text("%s", strings.TrimSpace(name+" "+id))
					}
				}
				expect := func(what string, times ...time.Duration) {
					t.Helper()
					said := w.said(what)
					if len(said) != len(times) {
						t.Errorf("%s came as %v", what, said)
						return
					}
					for i, at := range times {
						if !strings.HasPrefix(said[i], at.String()+" ") {
							t.Errorf("%s came at %s, not %v", what, said[i], at)
						}
					}
				}
				time.Sleep(10 * ms)
				expect("MEDIA_START", 0)
				w.binary(hum(200*ms, 8000).AppendMuLaw(nil))
				command("MARK_MEDIA", "one")
				command("REPORT_QUEUE_DRAINED", "")
				time.Sleep(100 * ms)
				// From the tick at 20 ms on: at 110 it has played to 100, so that 120 ms wait.
				command("PAUSE_MEDIA", "")
				time.Sleep(100 * ms)
				command("GET_STATUS", "")
				command("CONTINUE_MEDIA", "")
				time.Sleep(300 * ms)
				expect("MEDIA_MARK_PROCESSED", 320*ms)
				expect("QUEUE_DRAINED", 320*ms)
				expect("STATUS", 210*ms)
				if s := strings.NewReplacer(`"`, "", ",", " ", "{", " ", "}", " ").Replace(w.said("STATUS")[0]); !strings.Contains(s, " queue_length:6 ") || !strings.Contains(s, "media_paused:true") {
					t.Errorf("status: %s", s)
				}
				// More than the queue takes.
				for range 11 {
					w.binary(hum(2*time.Second, 8000).AppendMuLaw(nil))
				}
				command("MARK_MEDIA", "two")
				time.Sleep(10 * ms)
				expect("MEDIA_XOFF", 510*ms)
				time.Sleep(5 * time.Second)
				expect("MEDIA_XON", 4540*ms)
				command("FLUSH_MEDIA", "")
				time.Sleep(time.Second)
				expect("MEDIA_MARK_PROCESSED", 320*ms) // the other one is gone
				m := c.Now()
				if m.Dropped != 1 || len(m.Cuts) != 1 || m.Waiting != 0 {
					t.Errorf("%d pieces dropped, cuts %v", m.Dropped, m.Cuts)
				}
				command("START_MEDIA_BUFFERING", "")
				w.binary(make([]byte, 200))
				w.binary(make([]byte, 120))
				command("STOP_MEDIA_BUFFERING", "three")
				time.Sleep(100 * ms)
				if s := w.said("MEDIA_BUFFERING_COMPLETED"); len(s) != 1 || !strings.Contains(s[0], "three") {
					t.Errorf("completed: %v", s)
				}
				w.binary(make([]byte, 200))
				command("PLAY", "")
				w.text("%s", strings.Repeat("x", 200))
				time.Sleep(10 * ms)
				if err := c.Close(); err == nil || strings.Count(err.Error(), "\n") != 3 {
					t.Errorf("faults: %v", err)
				}
			})
		})
	}
}

func TestSay(t *testing.T) {
	p, webhook := twilioPhone(t)
	p.Wait = 3 * time.Second
	serve(t, p, webhook, func(t *testing.T, c *Call, w *wire) {
		var sid struct{ StreamSid string }
		time.Sleep(30 * ms)
		if err := json.Unmarshal([]byte(w.messages()[1].text), &sid); err != nil {
			t.Fatal(err)
		}
		send := func(p audio.PCM) {
			w.text(`{"event":"media","streamSid":%q,"media":{"payload":%q}}`, sid.StreamSid, base64.StdEncoding.EncodeToString(p.AppendMuLaw(nil)))
		}
		go func() {
			time.Sleep(500 * ms) // too early: the caller goes on
			send(hum(100*ms, 8000))
			w.text(`{"event":"clear","streamSid":%q}`, sid.StreamSid)
			time.Sleep(1100 * ms)
			send(append(make(audio.PCM, 800), hum(time.Second, 8000)...))
			time.Sleep(1900 * ms) // it makes a pause
			send(hum(time.Second, 8000))
		}()
		turn, spoke, err := c.Say(t.Context(), caller.Speech{Sound: hum(time.Second, 16000), Rate: 16000})
		if err != nil {
			t.Fatal(err)
		}
		if got := turn.Gap.Round(10 * ms); got != 710*ms || turn.Cutoffs != 1 || spoke.Sub(w.began) != 1020*ms {
			t.Errorf("the gap is %v, %d cut off, spoken until %v", turn.Gap, turn.Cutoffs, spoke.Sub(w.began))
		}
		if turn.Audible.Round(10*ms) != 2800*ms || turn.Rate != 8000 {
			t.Errorf("audible for %v", turn.Audible)
		}
		if _, _, err := c.Say(t.Context(), caller.Speech{Sound: hum(time.Second, 16000), Rate: 16000}); !errors.Is(err, caller.ErrNoAnswer) {
			t.Errorf("without an answer: %v", err)
		}
	})
}

// The service may call a number at Asterisk that waits for it.
func TestAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		taken := make(chan *Call, 1)
		p := Phone{Wire: ChanWS}
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, err := p.Answer(w, r, "abc")
			if err != nil && !errors.Is(err, errConnection) && !errors.Is(err, ErrRefused) {
				t.Error(err)
			}
			if c != nil {
				taken <- c
			}
		})}
		go func() { _ = server.Serve(listener) }()
		dial := func(path string, protocols ...string) (*websocket.Conn, error) {
			d := websocket.Dialer{NetDialContext: listener.dial, Subprotocols: protocols}
			ws, _, err := d.Dial("ws://asterisk"+path, nil)
			return ws, err
		}
		if _, err := dial("/media/abd", "media"); err == nil {
			t.Error("another call's ID was taken")
		}
		if ws, err := dial("/media/abc"); err == nil {
			if _, _, err := ws.ReadMessage(); err == nil {
				t.Error("no subprotocol was taken")
			}
			ws.Close()
		}
		ws, err := dial("/media/abc", "media")
		if err != nil {
			t.Fatal(err)
		}
		c := <-taken
		if _, b, err := ws.ReadMessage(); err != nil || !strings.Contains(string(b), `"connection_id":"abc"`) {
			t.Errorf("it begins with %s, %v", b, err)
		}
		go func() {
			for {
				if _, _, err := ws.ReadMessage(); err != nil {
					return
				}
			}
		}()
		if err := ws.WriteMessage(websocket.TextMessage, []byte(`{"command":"HANGUP"}`)); err != nil {
			t.Error(err)
		}
		time.Sleep(100 * ms)
		if _, err := c.Until(t.Context(), 0, func(Moment) bool { return false }); !errors.Is(err, caller.ErrEnded) {
			t.Errorf("it hung up: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		ws.Close()
		server.Close()
	})
}

func FuzzMessages(f *testing.F) {
	for _, seed := range []string{`{"event":"media","streamSid":"MZ1","media":{"payload":"//8="}}`, `{"command":"MARK_MEDIA","correlation_id":"a"}`, "MARK_MEDIA a", "\x10\x01\x40"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		nobody := func(string, ...any) {}
		s, a := &stream{sid: "MZ1"}, &tcp{hz: 8000, kind: kindSound}
		s.understand(b, nobody)
		if len(b) > 0 {
			a.understand(b[0], b[1:], nobody)
		}
		for _, m := range []*media{{}, {plain: true}, {bulk: true}} {
			m.obey(b, nobody)
			m.hear(b, nobody)
			m.hear(b, nobody)
		}
		_, _ = readTwiML("text/xml", b)
	})
}
