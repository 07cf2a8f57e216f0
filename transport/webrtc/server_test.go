package webrtc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"
	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/transport"
	"riposte/transport/realtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// need skips a test where libopus is not installed, or fails it where that must not be.
func need(t testing.TB) {
	t.Helper()
	if err := opus.Check(); err != nil {
		if os.Getenv("RIPOSTE_TEST_MODELS") == "required" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// service is a server whose calls a test holds.
type service struct {
	*testing.T
	*Server
	url   string
	ended chan error // Why each call ended.
}

func serve(t *testing.T, limits Limits, hold func(context.Context, transport.Call) error, change ...func(*Server)) *service {
	t.Helper()
	need(t)
	ended := make(chan error, 1000)
	s := &Server{
		UDP: "127.0.0.1:0", Limits: limits, Log: slog.New(slog.DiscardHandler),
		Calls: &realtime.Server{
			Admit:    func() (func(), error) { return func() {}, nil },
			Defaults: transport.Settings{Instructions: "Be brief.", Language: "en"}, Model: "m", Voice: "joe", Log: slog.New(slog.DiscardHandler),
			Hold: func(ctx context.Context, c transport.Call, _ transport.Settings) error {
				err := hold(ctx, c)
				if cause := context.Cause(ctx); cause != nil {
					err = cause
				}
				ended <- err
				return err
			},
		},
	}
	var places sync.WaitGroup
	s.Calls.Admit = func() (func(), error) { places.Add(1); return places.Done, nil }
	for _, c := range change {
		c(s)
	}
	ctx, end := context.WithCancelCause(context.Background())
	if err := s.Open(ctx); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/realtime/", s)
	mux.HandleFunc("POST /v1/realtime/client_secrets", s.Calls.Issue)
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		end(transport.ErrShutdown)
		server.Close()
		places.Wait()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return &service{t, s, server.URL + "/v1/realtime/calls", ended}
}

// peer is a caller's side.
type peer struct {
	*testing.T
	pc      *webrtc.PeerConnection
	channel *webrtc.DataChannel
	mic     *microphone
	events  chan map[string]any
	packets chan *rtp.Packet
	opened  chan struct{}
	url     string // Of the call.

	seq uint16
	ts  uint32
}

// microphone is a track that sends what it ought not to as well.
type microphone struct {
	*webrtc.TrackLocalStaticRTP
	way    atomic.Pointer[webrtc.TrackLocalWriter]
	header rtp.Header // Of packets as they ought to be.
}

func (m *microphone) Bind(c webrtc.TrackLocalContext) (webrtc.RTPCodecParameters, error) {
	codec, err := m.TrackLocalStaticRTP.Bind(c)
	way := c.WriteStream()
	m.header = rtp.Header{Version: 2, SSRC: uint32(c.SSRC()), PayloadType: uint8(codec.PayloadType)}
	m.way.Store(&way)
	return codec, err
}

// newPeer makes one that has not called yet.
func newPeer(t *testing.T, change ...func(*webrtc.SettingEngine)) *peer {
	t.Helper()
	var e webrtc.SettingEngine
	e.SetIncludeLoopbackCandidate(true)
	e.SetInterfaceFilter(func(name string) bool { return name == "lo" })
	e.LoggerFactory = logs{slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&e)
	}
	pc, err := webrtc.NewAPI(webrtc.WithSettingEngine(e)).NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{T: t, pc: pc, events: make(chan map[string]any, 1000), packets: make(chan *rtp.Packet, 1000), opened: make(chan struct{})}
	t.Cleanup(func() { pc.GracefulClose() })
	mic, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "mic", "me")
	if err != nil {
		t.Fatal(err)
	}
	p.mic = &microphone{TrackLocalStaticRTP: mic}
	if _, err := pc.AddTrack(p.mic); err != nil {
		t.Fatal(err)
	}
	p.channel, err = pc.CreateDataChannel("oai-events", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.channel.OnOpen(func() { close(p.opened) })
	p.channel.OnMessage(func(m webrtc.DataChannelMessage) {
		var e map[string]any
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Errorf("%v in %.100s", err, m.Data)
		}
		p.events <- e
	})
	pc.OnTrack(func(track *webrtc.TrackRemote, _ *webrtc.RTPReceiver) {
		for {
			packet, _, err := track.ReadRTP()
			if err != nil {
				return
			}
			p.packets <- packet
		}
	})
	return p
}

// offer returns one, with all addresses in it.
func (p *peer) offer(options *webrtc.OfferOptions) string {
	p.Helper()
	o, err := p.pc.CreateOffer(options)
	if err != nil {
		p.Fatal(err)
	}
	gathered := webrtc.GatheringCompletePromise(p.pc)
	if err := p.pc.SetLocalDescription(o); err != nil {
		p.Fatal(err)
	}
	<-gathered
	return p.pc.LocalDescription().SDP
}

func (p *peer) accept(sdp string) {
	p.Helper()
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: sdp}); err != nil {
		p.Fatalf("%v in %s", err, sdp)
	}
}

// post sends a request and returns the answer.
func post(t *testing.T, url, kind, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", kind)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a, string(b)
}

// call makes a call and waits until it has begun.
func (s *service) call(change ...func(*webrtc.SettingEngine)) *peer {
	s.Helper()
	p := newPeer(s.T, change...)
	// What browsers say that they take.
	offer := strings.Replace(p.offer(nil), "a=max-message-size:1073741823", "a=max-message-size:65536", 1)
	a, answer := post(s.T, s.url+"?model=mine", "application/sdp", offer)
	if a.StatusCode != http.StatusCreated || a.Header.Get("Content-Type") != "application/sdp" {
		s.Fatalf("%d: %s", a.StatusCode, answer)
	}
	p.url = strings.TrimSuffix(s.url, "/v1/realtime/calls") + a.Header.Get("Location")
	p.accept(strings.Replace(answer, "a=max-message-size:307200", "a=max-message-size:900000", 1)) // of TestEvents, which sends too much
	p.want("session.created")
	p.want("conversation.created")
	return p
}

// patience is how long a test waits for what must come: a machine may be busy.
const patience = 2 * time.Minute

// read returns the next event.
func (p *peer) read() map[string]any {
	p.Helper()
	select {
	case e := <-p.events:
		return e
	case <-time.After(patience):
		p.Fatal("no event came")
		return nil
	}
}

// want returns the next event, which must be of a type.
func (p *peer) want(kind string) map[string]any {
	p.Helper()
	e := p.read()
	if e["type"] != kind {
		p.Fatalf("the event is %.300s, want %s", fmt.Sprint(e), kind)
	}
	return e
}

func (p *peer) send(event string) {
	p.Helper()
	if err := p.channel.SendText(event); err != nil {
		p.Fatal(err)
	}
}

// say sends one frame of the microphone.
func (p *peer) say(payload []byte) {
	p.Helper()
	if err := p.mic.WriteRTP(&rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: p.seq, Timestamp: p.ts}, Payload: payload}); err != nil {
		p.Fatal(err)
	}
	p.seq, p.ts = p.seq+1, p.ts+960
}

func (s *service) end(want error) {
	s.Helper()
	select {
	case err := <-s.ended:
		if !errors.Is(err, want) {
			s.Errorf("the call ended with %v, want %v", err, want)
		}
	case <-time.After(patience):
		s.Fatal("the call did not end")
	}
}

func tone(hertz float64, length time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(length, rate))
	for i := range p {
		p[i] = int16(8000 * math.Sin(2*math.Pi*hertz*float64(i)/float64(rate)))
	}
	return p
}

// strength is how much of a frequency sound has, from 0 to 1 for all of it.
func strength(p audio.PCM, hertz float64, rate int) float64 {
	var re, im, all float64
	for i, s := range p {
		a := 2 * math.Pi * hertz * float64(i) / float64(rate)
		re, im, all = re+float64(s)*math.Cos(a), im+float64(s)*math.Sin(a), all+float64(s)*float64(s)
	}
	return 2 * (re*re + im*im) / (all*float64(len(p)) + 1)
}

// A caller is heard, frame by frame as they come, and hears an answer, at its pace and with the right times.
func TestCall(t *testing.T) {
	heard, began := make(chan audio.PCM, 1), time.Now()
	s := serve(t, Limits{DTX: true}, func(ctx context.Context, c transport.Call) error {
		var all audio.PCM
		for audio.Duration(len(all), audio.SpeechRate) < time.Second {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			snd, ok := in.(transport.Sound)
			if !ok || snd.Rate != audio.SpeechRate {
				return fmt.Errorf("received %+v", in)
			}
			if snd.At.Before(began) || snd.At.After(time.Now()) {
				return fmt.Errorf("sound that came at %v, of a test that began at %v", snd.At, began)
			}
			if snd.PCM.Level() > silent { // else a busy machine has said nothing for half a second
				all = append(all, snd.PCM...)
			}
		}
		heard <- all
		r := transport.Response{ID: "resp_1", Item: "item_1", Encoding: "audio/pcm"}
		voice := tone(700, time.Second, realtime.PCMRate)
		for _, out := range []transport.Outbound{
			transport.ResponseStarted{Response: r}, transport.MessageStarted{Response: r}, transport.Words{Response: r, Text: "Good day."},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		for begun := time.Now(); len(voice) > 0; voice = voice[480:] {
			if err := c.Send(ctx, transport.Voice{Response: r, PCM: voice[:480]}); err != nil {
				return err
			}
			if begun = begun.Add(20 * time.Millisecond); time.Until(begun) > 60*time.Millisecond {
				time.Sleep(time.Until(begun) - 60*time.Millisecond)
			}
		}
		if err := c.Send(ctx, transport.ResponseDone{Response: r, Status: transport.Completed, Text: "Good day."}); err != nil {
			return err
		}
		_, err := c.Receive(ctx)
		for err == nil {
			_, err = c.Receive(ctx)
		}
		return err
	})
	p := s.call()

	e := opus.Encoder{Rate: 16000}
	if err := e.Open(); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	question := tone(400, 1100*time.Millisecond, 16000)
	for i := 0; len(question) > 0; question, i = question[320:], i+1 {
		b, err := e.Encode(question[:320])
		if err != nil {
			t.Fatal(err)
		}
		p.say(append([]byte(nil), b...))
		if i%10 == 5 {
			p.say(nil) // one without sound, as some send to probe the network
			p.ts -= 960
		}
		time.Sleep(10 * time.Millisecond) // faster than it sounds
	}
	if got := <-heard; strength(got[3200:], 400, audio.SpeechRate) < 0.9 {
		t.Errorf("the tone is %.2f of what was heard", strength(got[3200:], 400, audio.SpeechRate))
	}

	var kinds []string
	for len(kinds) == 0 || kinds[len(kinds)-1] != "output_audio_buffer.stopped" {
		e := p.read()
		kinds = append(kinds, e["type"].(string))
		if strings.HasPrefix(e["type"].(string), "output_audio_buffer.") && e["response_id"] != "resp_1" {
			t.Errorf("told %v", e)
		}
	}
	all := strings.Join(kinds, " ")
	if strings.Contains(all, "response.output_audio.delta") || !strings.Contains(all, "output_audio_buffer.started") ||
		strings.Index(all, "response.done") > strings.Index(all, "output_audio_buffer.stopped") {
		t.Errorf("told %v", kinds)
	}
	d := opus.Decoder{Rate: 24000}
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var answer audio.PCM
	var first, last *rtp.Packet
	for answer.Duration(24000) < time.Second { // sound and events go by ways of their own
		var packet *rtp.Packet
		select {
		case packet = <-p.packets:
		case <-time.After(patience):
			t.Fatalf("of the answer %v came", answer.Duration(24000))
		}
		if first == nil {
			first = packet
		} else if jump := packet.Timestamp - last.Timestamp; packet.SequenceNumber != last.SequenceNumber+1 || packet.SSRC != first.SSRC ||
			jump < 960 || packet.Marker != (jump > 960) { // On a busy machine the sound may come late: then its time has gone on.
			t.Errorf("%v follows %v", packet.Header, last.Header)
		}
		last = packet
		pcm, err := d.Decode(packet.Payload)
		if err != nil {
			t.Fatal(err)
		}
		answer = append(answer, pcm...)
	}
	if first == nil || !first.Marker {
		t.Fatalf("the first packet is %v", first)
	}
	if got := strength(answer[4800:24000], 700, 24000); got < 0.9 {
		t.Errorf("the tone is %.2f of the answer", got)
	}
	p.pc.GracefulClose()
	s.end(transport.ErrHungUp)
	if n := len(p.packets); n > 2 { // one of them brings out what the encoder has looked ahead to
		t.Errorf("%d packets came after all of the answer had", n)
	}
}

// listen takes what the client does until the call ends, and passes on what is not sound.
func listen(got chan<- transport.Inbound) func(context.Context, transport.Call) error {
	return listening(got, func(transport.Sound) {})
}

// listening does so too, and says what is heard.
func listening(got chan<- transport.Inbound, heard func(transport.Sound)) func(context.Context, transport.Call) error {
	return func(ctx context.Context, c transport.Call) error {
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			if snd, ok := in.(transport.Sound); ok {
				heard(snd)
			} else if got != nil {
				got <- in
			}
		}
	}
}

// An offer is taken in each form, and begins what it says, over what its client secret says.
func TestOffers(t *testing.T) {
	s := serve(t, Limits{}, listen(nil), func(s *Server) { s.Calls.Keys = []string{"a key of this service"} })
	_, issued := post(t, strings.Replace(s.url, "calls", "client_secrets", 1), "application/json",
		`{"session":{"instructions":"Sing.","max_output_tokens":7}}`, "Authorization", "Bearer a key of this service")
	var secret struct{ Value string }
	if err := json.Unmarshal([]byte(issued), &secret); err != nil || secret.Value == "" {
		t.Fatalf("%v in %s", err, issued)
	}
	for _, tt := range []struct {
		name         string
		form         func(sdp string) (kind, body string)
		object       bool
		instructions string
	}{
		{"as it is", func(sdp string) (string, string) { return "application/sdp", sdp }, false, "Sing."},
		{"in a form", func(sdp string) (string, string) {
			var b bytes.Buffer
			w := multipart.NewWriter(&b)
			w.WriteField("sdp", sdp)
			w.WriteField("session", `{"type":"realtime","instructions":"Dance."}`)
			w.Close()
			return w.FormDataContentType(), b.String()
		}, false, "Dance."},
		{"in an object", func(sdp string) (string, string) {
			b, _ := json.Marshal(map[string]any{"sdp": sdp, "session": map[string]any{"instructions": "Walk."}})
			return "application/json", string(b)
		}, true, "Walk."},
	} {
		p := newPeer(t)
		kind, body := tt.form(p.offer(nil))
		a, answer := post(t, s.url, kind, body, "Authorization", "Bearer "+secret.Value)
		if a.StatusCode != http.StatusCreated || !strings.HasPrefix(a.Header.Get("Location"), "/v1/realtime/calls/rtc_") {
			t.Fatalf("%s: %d %v: %s", tt.name, a.StatusCode, a.Header, answer)
		}
		if tt.object {
			var o map[string]string
			if err := json.Unmarshal([]byte(answer), &o); err != nil || o["session_id"] == "" || o["call_id"] == "" {
				t.Fatalf("%s: %v in %s", tt.name, err, answer)
			}
			answer = o["sdp"]
		}
		p.accept(answer)
		session := p.want("session.created")["session"].(map[string]any)
		if session["instructions"] != tt.instructions || session["max_output_tokens"] != 7. {
			t.Errorf("%s: the session is %v", tt.name, session)
		}
		p.pc.GracefulClose()
		s.end(transport.ErrHungUp)
	}
}

// What cannot be taken is refused, with what is wrong with it, and nothing is left of it.
func TestRefused(t *testing.T) {
	full := false
	s := serve(t, Limits{Request: 20_000}, listen(nil), func(s *Server) {
		s.Calls.Keys = []string{"a key of this service"}
		admit := s.Calls.Admit
		s.Calls.Admit = func() (func(), error) {
			if full {
				return nil, &realtime.Refusal{Code: "too_many_calls", Message: "All 8 places are taken.", Retry: 3 * time.Second}
			}
			return admit()
		}
	})
	good := newPeer(t).offer(nil)
	fingerprint, formats := regexp.MustCompile(`a=fingerprint:.*[^\r\n]`), regexp.MustCompile(`m=audio (\d+) .*\r\n`)
	mute := strings.Replace(good, "m=audio", "m=video", 1)
	for _, tt := range []struct {
		name, key, kind, body string
		status                int
		code                  string
	}{
		{"nothing", "a key of this service", "application/sdp", "", 400, "missing_sdp"},
		{"no SDP", "a key of this service", "application/sdp", "hello", 400, "invalid_sdp"},
		{"half of it", "a key of this service", "application/sdp", good[:200], 400, "invalid_sdp"},
		{"no fingerprint", "a key of this service", "application/sdp", strings.ReplaceAll(good, "a=fingerprint", "a=fngerprint"), 400, "invalid_sdp"},
		{"no sound", "a key of this service", "application/sdp", mute, 400, "no_audio"},
		{"no Opus", "a key of this service", "application/sdp", strings.ReplaceAll(good, "opus/48000", "speex/48000"), 400, "no_opus"},
		{"a fingerprint that is no digest", "a key of this service", "application/sdp", fingerprint.ReplaceAllString(good, "a=fingerprint:sha-256 00"), 400, "invalid_fingerprint"},
		{"a fingerprint of another length", "a key of this service", "application/sdp", strings.ReplaceAll(good, "a=fingerprint:sha-256", "a=fingerprint:sha-1"), 400, "invalid_fingerprint"},
		{"a fingerprint of another kind", "a key of this service", "application/sdp", strings.ReplaceAll(good, "a=fingerprint:sha-256", "a=fingerprint:crc"), 400, "invalid_fingerprint"},
		{"sound that is switched off", "a key of this service", "application/sdp", strings.Replace(good, "m=audio 9", "m=audio 0", 1), 400, "no_audio"},
		{"Opus that the line of the sound does not name", "a key of this service", "application/sdp", formats.ReplaceAllString(good, "m=audio $1 UDP/TLS/RTP/SAVPF 0\r\n"), 400, "no_opus"},
		{"lines that are not bundled", "a key of this service", "application/sdp", strings.Replace(good, "a=group:BUNDLE 0 1\r\n", "", 1), 400, "no_audio"},
		{"no JSON", "a key of this service", "application/json", "{", 400, "invalid_json"},
		{"no form", "a key of this service", "multipart/form-data; boundary=x", "--x\r\nthis is none\r\n", 400, "invalid_form"},
		{"no type", "a key of this service", "", good, 415, "unsupported_content_type"},
		{"far too long", "a key of this service", "application/sdp", strings.Repeat("v", 20_001), 413, "request_too_large"},
		{"a wrong session", "a key of this service", "application/json", `{"sdp":` + quoted(good) + `,"session":{"instructions":7}}`, 400, "invalid_type"},
		{"no key", "", "application/sdp", good, 401, "missing_api_key"},
		{"a wrong client secret", "ek_x.y", "application/sdp", good, 401, "invalid_client_secret"},
		{"no place", "a key of this service", "application/sdp", good, 503, "too_many_calls"},
	} {
		full = tt.status == 503
		header := []string{}
		if tt.key != "" {
			header = []string{"Authorization", "Bearer " + tt.key}
		}
		a, body := post(t, s.url, tt.kind, tt.body, header...)
		var e struct {
			Error struct{ Code, Message string }
		}
		_ = json.Unmarshal([]byte(body), &e)
		if a.StatusCode != tt.status || e.Error.Code != tt.code || e.Error.Message == "" {
			t.Errorf("%s: %d %s, want %d %s", tt.name, a.StatusCode, body, tt.status, tt.code)
		}
		if tt.status == 503 && a.Header.Get("Retry-After") != "3" {
			t.Errorf("%s: come again after %q", tt.name, a.Header.Get("Retry-After"))
		}
	}
	full = false
	for _, path := range []string{"/rtc_nobody/hangup", "/rtc_nobody"} {
		a, body := post(t, s.url+path, "application/sdp", good, "Authorization", "Bearer a key of this service")
		if a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, a.StatusCode, body)
		}
	}
	r := httptest.NewRequest("POST", "http://127.0.0.1:8080/v1/realtime/calls", strings.NewReader(good))
	r.Header.Set("Origin", "https://evil.example")
	w := httptest.NewRecorder()
	s.Server.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("a page from elsewhere: %d", w.Code)
	}
}

func quoted(s string) string { b, _ := json.Marshal(s); return string(b) }

// The protocol is that of the WebSocket, but for sound.
func TestEvents(t *testing.T) {
	got := make(chan transport.Inbound, 10)
	s := serve(t, Limits{Message: 300 << 10}, listen(got))
	p := s.call()
	p.send(`{"type":"input_audio_buffer.append","audio":"AAECAw==","event_id":"sound"}`)
	if e := p.want("error")["error"].(map[string]any); e["event_id"] != "sound" {
		t.Errorf("sound in an event is answered with %v", e)
	}
	if err := p.channel.Send([]byte("binary")); err != nil {
		t.Fatal(err)
	}
	if e := p.want("error")["error"].(map[string]any); e["code"] != "invalid_type" {
		t.Errorf("a binary message is answered with %v", e)
	}
	p.send(`{"type":"output_audio_buffer.clear"}`) // of no answer, and so nothing
	long := strings.Repeat("x", 60_000)
	p.send(`{"type":"session.update","session":{"instructions":"` + long + `"}}`)
	if in := (<-got).(transport.Configure); in.Settings.Instructions != long || in.Settings.Rate != realtime.PCMRate || in.Settings.Lead != 60*ms || !in.Settings.Holds {
		t.Errorf("the pipeline was told of %d bytes, %+v", len(in.Settings.Instructions), in.Settings.Lead)
	}
	p.want("session.updated")
	p.send(`{"type":"session.update","session":{"tools":[{"type":"function","name":"f","description":"` + strings.Repeat("y", 100_000) + `"}]}}`)
	<-got
	if e := p.want("error")["error"].(map[string]any); e["code"] != "event_too_big" {
		t.Errorf("an event beyond what the client takes became %v", e)
	}
	p.send(`{"type":"response.cancel"}`)
	if _, ok := (<-got).(transport.Cancel); !ok {
		t.Error("after all that nothing is understood")
	}
	p.send(strings.Repeat(" ", 301<<10))
	s.end(realtime.ErrTooBig)
}

// What is thrown away of an answer is not heard, and the client is told; so it can ask for itself.
func TestInterrupted(t *testing.T) {
	r := transport.Response{ID: "resp_1", Item: "item_1", Encoding: "audio/pcm"}
	s := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for _, out := range []transport.Outbound{transport.ResponseStarted{Response: r}, transport.MessageStarted{Response: r}} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		if err := c.Send(ctx, transport.Voice{Response: r, PCM: tone(500, 800*time.Millisecond, realtime.PCMRate)}); err != nil {
			return err
		}
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			if _, ok := in.(transport.Cancel); ok {
				if err := c.Send(ctx, transport.ResponseDone{Response: r, Status: transport.Cancelled, Reason: "client_cancelled"}); err != nil {
					return err
				}
			}
		}
	})
	p := s.call()
	for p.read()["type"] != "output_audio_buffer.started" {
	}
	time.Sleep(100 * time.Millisecond)
	p.send(`{"type":"output_audio_buffer.clear"}`)
	for e := p.read(); e["type"] != "output_audio_buffer.cleared"; e = p.read() {
		if e["type"] == "output_audio_buffer.stopped" {
			t.Fatal("the answer was heard")
		}
	}
	time.Sleep(100 * time.Millisecond)
	loud := 0
	for len(p.packets) > 0 {
		if len((<-p.packets).Payload) > 20 {
			loud++
		}
	}
	if loud < 3 || loud > 25 {
		t.Errorf("%d packets of 40 had left", loud)
	}
}

// A call is hung up over HTTP, by the client's going away, and by the service.
func TestEnds(t *testing.T) {
	s := serve(t, Limits{}, listen(nil))
	p := s.call()
	a, _ := post(t, p.url+"/hangup", "", "")
	if a.StatusCode != http.StatusOK {
		t.Errorf("hanging up is answered with %d", a.StatusCode)
	}
	s.end(transport.ErrHungUp)
	p = s.call()
	p.channel.Close()
	s.end(transport.ErrHungUp)
	p = s.call()
	p.pc.Close()
	s.end(transport.ErrHungUp)

	down := serve(t, Limits{}, func(context.Context, transport.Call) error { return transport.ErrShutdown })
	p = down.call()
	if e := p.want("error")["error"].(map[string]any); e["code"] != "server_shutdown" {
		t.Errorf("told %v", e)
	}
}

// Who is answered and never comes frees the place.
func TestNeverComes(t *testing.T) {
	s := serve(t, Limits{Setup: 100 * time.Millisecond}, listen(nil))
	a, _ := post(t, s.url, "application/sdp", newPeer(t).offer(nil))
	if a.StatusCode != http.StatusCreated {
		t.Fatal(a.Status)
	}
	// serve waits for its place
}

// Offers alone take no more than a few of the places: who wants more has to connect.
func TestOffersOfOneAddress(t *testing.T) {
	s := serve(t, Limits{Offers: 2, Setup: time.Second}, listen(nil))
	offer := func() string { return newPeer(t).offer(nil) }
	for range 2 {
		s.call() // these have connected, and count no more
	}
	for i, want := range []int{http.StatusCreated, http.StatusCreated, http.StatusServiceUnavailable} {
		if a, body := post(t, s.url, "application/sdp", offer()); a.StatusCode != want || want != http.StatusCreated && !strings.Contains(body, "too_many_offers") {
			t.Errorf("offer %d: %d %s", i+1, a.StatusCode, body)
		}
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) { // those are given up
		a, body := post(t, s.url, "application/sdp", offer())
		if a.StatusCode == http.StatusCreated {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d %s", a.StatusCode, body)
		}
	}
}

// The rest of an IPv6 address is its owner's to choose.
func TestSource(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:5": "192.0.2.1", "[::ffff:192.0.2.1]:5": "192.0.2.1", "[2001:db8::1:2:3:4]:5": "2001:db8::/64", "[fe80::1%eth0]:5": "fe80::/64", "pipe": "pipe",
	} {
		if got := source(remote); got != want {
			t.Errorf("%s is %s, want %s", remote, got, want)
		}
	}
}

// A client that does not read is cut off, and nothing of what it is sent piles up beyond the limit.
func TestNeverReads(t *testing.T) {
	s := serve(t, Limits{Write: 300 * time.Millisecond, Buffer: 64 << 10}, func(ctx context.Context, c transport.Call) error {
		for {
			if err := c.Send(ctx, transport.Fault{Code: "x", Message: strings.Repeat("x", 10_000)}); err != nil {
				return err
			}
		}
	})
	p := newPeer(t)
	block := make(chan struct{})
	defer close(block)
	p.channel.OnMessage(func(webrtc.DataChannelMessage) { <-block })
	a, answer := post(t, s.url, "application/sdp", p.offer(nil))
	if a.StatusCode != http.StatusCreated {
		t.Fatal(answer)
	}
	p.accept(answer)
	s.end(transport.ErrSlowReader)
}

// A flood of events slows down who sends it, and nobody else.
func TestFlood(t *testing.T) {
	took := 0
	s := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			if _, ok := in.(transport.Clear); ok {
				if took++; took == 2000 {
					return transport.ErrHungUp
				}
			}
		}
	})
	p := s.call()
	for range 2000 {
		p.send(`{"type":"input_audio_buffer.clear"}`)
	}
	s.end(transport.ErrHungUp)
	if took != 2000 {
		t.Errorf("%d events were taken", took)
	}
}

// A call goes on after its ICE was restarted.
func TestRestart(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	s := serve(t, Limits{}, listen(got))
	p := s.call()
	a, answer := post(t, p.url, "application/sdp", p.offer(&webrtc.OfferOptions{ICERestart: true}))
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", a.StatusCode, answer)
	}
	p.accept(answer)
	for end := time.Now().Add(10 * time.Second); p.pc.ICEConnectionState() != webrtc.ICEConnectionStateConnected; {
		if time.Now().After(end) {
			t.Fatal("it did not come back")
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.send(`{"type":"input_audio_buffer.clear"}`)
	if _, ok := (<-got).(transport.Clear); !ok {
		t.Error("nothing is understood any more")
	}
}

// cable is a socket that can be pulled out.
type cable struct {
	net.PacketConn
	pulled atomic.Bool
}

func (c *cable) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		n, from, err := c.PacketConn.ReadFrom(b)
		if err != nil || !c.pulled.Load() {
			return n, from, err
		}
	}
}

func (c *cable) WriteTo(b []byte, to net.Addr) (int, error) {
	if c.pulled.Load() {
		return len(b), nil
	}
	return c.PacketConn.WriteTo(b, to)
}

// A call whose connection breaks goes on when it comes back in time, and ends when it does not. Meanwhile no silence goes on.
func TestBroken(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	var heard atomic.Int64
	s := serve(t, Limits{Away: 2 * time.Second}, func(ctx context.Context, c transport.Call) error {
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			if _, ok := in.(transport.Sound); ok {
				heard.Add(1)
				continue
			}
			got <- in
		}
	}, func(s *Server) { s.broken = 400 * time.Millisecond })
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{PacketConn: conn}
	mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: c, Logger: logs{slog.New(slog.DiscardHandler)}.NewLogger("ice")})
	defer mux.Close()
	p := s.call(func(e *webrtc.SettingEngine) {
		e.SetICEUDPMux(mux)
		e.SetICETimeouts(5*time.Second, 25*time.Second, 100*time.Millisecond)
	})
	for range 10 {
		p.say([]byte{0xf8, 0xff, 0xfe}) // silence, in Opus
		time.Sleep(20 * time.Millisecond)
	}
	c.pulled.Store(true)
	time.Sleep(1300 * time.Millisecond)
	if n := heard.Load(); n < 9 || n > 35 {
		t.Errorf("%d pieces of sound were heard of one whose connection is broken", n)
	}
	c.pulled.Store(false)
	p.send(`{"type":"input_audio_buffer.clear"}`)
	if _, ok := (<-got).(transport.Clear); !ok {
		t.Error("nothing is understood any more")
	}
	c.pulled.Store(true)
	s.end(transport.ErrLost)
}

// Calls over TCP, for callers that UDP does not reach.
func TestTCP(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	s := serve(t, Limits{}, listen(got), func(s *Server) { s.TCP = "127.0.0.1:0" })
	p := s.call(func(e *webrtc.SettingEngine) {
		e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
	})
	p.send(`{"type":"input_audio_buffer.clear"}`)
	if _, ok := (<-got).(transport.Clear); !ok {
		t.Error("nothing is understood")
	}
}

// Many calls leave nothing behind: TestMain looks for what still runs, and this for what is still open.
func TestManyCalls(t *testing.T) {
	s := serve(t, Limits{}, listen(nil))
	files := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip(err)
		}
		return len(all)
	}
	calls := 200
	if testing.Short() {
		calls = 20
	}
	before := 0
	for i := range calls {
		p := s.call()
		if i%2 == 0 {
			post(t, p.url+"/hangup", "", "")
		}
		p.pc.GracefulClose()
		s.end(transport.ErrHungUp)
		if i == 5 {
			before = files()
		}
	}
	if after := files(); after > before+5 {
		t.Errorf("%d files are open, after %d", after, before)
	}
	remembered := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.calls)
	}
	for end := time.Now().Add(10 * time.Second); remembered() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d calls are remembered", remembered())
		}
	}
}

// Whatever is posted is an offer or is refused.
func FuzzOffer(f *testing.F) {
	f.Add("application/sdp", []byte("v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=rtpmap:111 opus/48000/2\r\n"))
	f.Add("application/json", []byte(`{"sdp":"v=0","session":null}`))
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"sdp\"\r\n\r\nv=0\r\n--x--\r\n"))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		o, err := readOffer(kind, body)
		if err == nil && (o.SDP == "" || string(o.Session) == "null") {
			t.Fatalf("%q, %q became %+v", kind, body, o)
		}
	})
}
