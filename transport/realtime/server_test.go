package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/transport"
)

func defaults() transport.Settings {
	return transport.Settings{
		Instructions: "Be brief.", Language: "en", MaxTokens: 100,
		Detection: &transport.Detection{Threshold: 0.5, Padding: 300 * time.Millisecond, Silence: 500 * time.Millisecond, Respond: true, Interrupt: true},
	}
}

// peer is a client on a real socket.
type peer struct {
	*testing.T
	ws   *websocket.Conn
	beta bool // It speaks the protocol's beta.

	session map[string]any // As the call began with it.
}

// serve starts a server whose calls are held by hold, and connects one client. It returns why the call ended.
func serve(t *testing.T, limits Limits, hold func(context.Context, transport.Call) error) (p *peer, ended <-chan error) {
	t.Helper()
	p, _, ended = serveAt(t, "?model=m", nil, func(s *Server) { s.Limits = limits }, hold)
	return p, ended
}

// serveAt is serve for a client that connects with a query and headers, to a service that is set otherwise. It returns the service's address as well.
func serveAt(t *testing.T, query string, header http.Header, set func(*Server), hold func(context.Context, transport.Call) error) (p *peer, url string, ended <-chan error) {
	t.Helper()
	why := make(chan error, 1)
	s := &Server{
		Hold: func(ctx context.Context, c transport.Call, _ transport.Settings) error {
			err := hold(ctx, c)
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			why <- err
			return err
		},
		Admit: func() (func(), error) { return func() {}, nil }, Defaults: defaults(), Model: "m", Voice: "joe",
		Log: slog.New(slog.DiscardHandler), Language: func(code string) bool { return code == "en" },
	}
	if set != nil {
		set(s)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/realtime", s)
	mux.Handle("/v1/realtime/calls/", s.Control())
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	url = "ws" + strings.TrimPrefix(server.URL, "http") + "/v1/realtime"
	ws, _, err := websocket.DefaultDialer.Dial(url+query, header)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	p = &peer{T: t, ws: ws, beta: header.Get("OpenAI-Beta") != ""}
	first := p.read()
	if kind := strings.TrimPrefix(first["type"].(string), "transcription_"); kind != "session.created" {
		t.Fatalf("the first event is %v", first)
	}
	p.session = first["session"].(map[string]any)
	if second := p.read()["type"]; second != "conversation.created" {
		t.Fatalf("the second event is %v", second)
	}
	return p, url, why
}

func (p *peer) send(event string) {
	p.Helper()
	p.record("client", []byte(event))
	if err := p.ws.WriteMessage(websocket.TextMessage, []byte(event)); err != nil {
		p.Fatal(err)
	}
}

// read returns the next event.
func (p *peer) read() map[string]any {
	p.Helper()
	p.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	_, b, err := p.ws.ReadMessage()
	if err != nil {
		p.Fatal(err)
	}
	p.record("service", b)
	var e map[string]any
	if err := json.Unmarshal(b, &e); err != nil {
		p.Fatalf("%v in %s", err, b)
	}
	if id, _ := e["event_id"].(string); id == "" {
		p.Errorf("an event without an event_id: %s", b)
	}
	return e
}

// code reads an error event and returns its code and the event that it is about.
func (p *peer) code() (code, about string) {
	p.Helper()
	e := p.read()
	detail, _ := e["error"].(map[string]any)
	if e["type"] != "error" || detail["message"] == "" {
		p.Fatalf("%v is no error", e)
	}
	code, _ = detail["code"].(string)
	about, _ = detail["event_id"].(string)
	return code, about
}

// closeCode reads until the call is closed and returns the code.
func (p *peer) closeCode() int {
	p.Helper()
	p.ws.SetReadDeadline(time.Now().Add(20 * time.Second))
	for {
		if _, _, err := p.ws.ReadMessage(); err != nil {
			var c *websocket.CloseError
			if !errors.As(err, &c) {
				p.Fatalf("the call was not closed properly: %v", err)
			}
			return c.Code
		}
	}
}

// listen takes what the client does until the call ends, and passes it on.
func listen(got chan<- transport.Inbound) func(context.Context, transport.Call) error {
	return func(ctx context.Context, c transport.Call) error {
		for {
			in, err := c.Receive(ctx)
			if err != nil {
				return err
			}
			got <- in
		}
	}
}

// Each wrong event is answered with an error that names it, and the call goes on.
func TestWrongEvents(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := serve(t, Limits{Append: 8}, listen(got))
	for _, tt := range []struct{ event, code, about string }{
		{`no json`, "invalid_json", ""},
		{`{"type":"response.create","response":7,"event_id":"e1"}`, "invalid_type", "e1"},
		{`{"type":"what","event_id":"e2"}`, "invalid_value", "e2"},
		{`{"type":"input_audio_buffer.append","audio":"AAEC","event_id":"odd"}`, "invalid_value", "odd"},
		{`{"type":"input_audio_buffer.append","audio":"","event_id":"empty"}`, "missing_required_parameter", "empty"},
		{`{"type":"input_audio_buffer.append","audio":"AAECAwQFBgcICQ==","event_id":"long"}`, "audio_too_long", "long"},
		{`{"type":"session.update","session":{"audio":{"input":{"format":{"type":"audio/mp3"}}}},"event_id":"format"}`, "invalid_value", "format"},
		{`{"type":"session.update","session":{"audio":{"input":{"transcription":{"language":"klingon"}}}},"event_id":"tlh"}`, "invalid_value", "tlh"},
		{`{"type":"session.update","event_id":"bare"}`, "missing_required_parameter", "bare"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"boss","content":[]},"event_id":"role"}`, "invalid_value", "role"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[]},"event_id":"none"}`, "missing_required_parameter", "none"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_image"}]},"event_id":"image"}`, "invalid_value", "image"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAEC"}]},"event_id":"sound, odd"}`, "invalid_value", "sound, odd"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":""}]},"event_id":"sound, none"}`, "missing_required_parameter", "sound, none"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","transcript":"hi"}]},"event_id":"sound, words alone"}`, "missing_required_parameter", "sound, words alone"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAECAwQFBgcICQ=="}]},"event_id":"sound, long"}`, "audio_too_long", "sound, long"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAE?"}]},"event_id":"sound, no base64"}`, "invalid_value", "sound, no base64"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"assistant","content":[{"type":"input_audio","audio":"AAECAw=="}]},"event_id":"sound, role"}`, "invalid_value", "sound, role"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAECAw=="},{"type":"input_text","text":"x"}]},"event_id":"sound, and text"}`, "invalid_value", "sound, and text"},
		{`{"type":"response.create","response":{"input":[{"type":"message","role":"user","content":[{"type":"input_audio","audio":"AAECAw=="}]}]},"event_id":"sound, input"}`, "invalid_value", "sound, input"},
		{`{"type":"conversation.item.truncate","item_id":"i","audio_end_ms":-1,"event_id":"past"}`, "invalid_value", "past"},
		{`{"type":"conversation.item.truncate","item_id":"i","audio_end_ms":9223372036855,"event_id":"far"}`, "invalid_value", "far"},
		{`{"type":"conversation.item.truncate","item_id":"i","event_id":"when"}`, "missing_required_parameter", "when"},
		{`{"type":"conversation.item.retrieve","event_id":"which"}`, "missing_required_parameter", "which"},
		{`{"type":"conversation.item.delete","item_id":"","event_id":"nobody"}`, "missing_required_parameter", "nobody"},
		{`{"type":"response.create","response":{"conversation":"other"},"event_id":"aside"}`, "invalid_value", "aside"},
		{`{"type":"response.create","response":{"input":[{"type":"item_reference"}]},"event_id":"input"}`, "missing_required_parameter", "input"},
		{`{"type":"response.create","response":{"input":[{"type":"message","role":"user","content":[]}]},"event_id":"said"}`, "missing_required_parameter", "said"},
		{`{"type":"response.create","response":{"prompt":{"id":"p"}},"event_id":"prompt"}`, "invalid_value", "prompt"},
		{`{"type":"response.create","response":{"audio":{"output":{"voice":"bob"}}},"event_id":"bob"}`, "invalid_value", "bob"},
		{`{"type":"response.create","response":{"audio":{"output":{"format":{"type":"audio/pcm","rate":8000}}}},"event_id":"rate"}`, "invalid_value", "rate"},
		{`{"type":"response.create","response":{"temprature":1},"event_id":"typo"}`, "unknown_parameter", "typo"},
		{`{"type":"response.create","response":{"max_output_tokens":100000},"event_id":"endless"}`, "invalid_value", "endless"},
		{`{"type":"session.update","session":null,"event_id":"null"}`, "missing_required_parameter", "null"},
		{`{"type":"input_audio_buffer.append","audio":[1,2],"event_id":"numbers"}`, "invalid_type", "numbers"},
		{`{"type":"conversation.item.create","item":{"id":"root","type":"message","role":"user","content":[{"type":"input_text","text":"x"}]},"event_id":"root"}`, "invalid_value", "root"},
		{`{"type":"conversation.item.create","item":{"id":"` + strings.Repeat("x", 200) + `","type":"message","role":"user","content":[{"type":"input_text","text":"x"}]},"event_id":"id"}`, "invalid_value", "id"},
		{`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":" "}]},"event_id":"blank"}`, "missing_required_parameter", "blank"},
		{`{"type":"conversation.item.create","item":{"type":"mcp_call"},"event_id":"mcp"}`, "invalid_value", "mcp"},
		{`{"type":"conversation.item.create","item":{"type":"function_call","arguments":"{}"},"event_id":"nameless"}`, "invalid_value", "nameless"},
		{`{"type":"conversation.item.create","item":{"type":"function_call","name":"f","arguments":"[]"},"event_id":"list"}`, "invalid_value", "list"},
		{`{"type":"conversation.item.create","item":{"type":"function_call_output","output":"x"},"event_id":"whose"}`, "missing_required_parameter", "whose"},
		{`{"type":"conversation.item.create","item":{"type":"function_call_output","call_id":"c"},"event_id":"what"}`, "missing_required_parameter", "what"},
		{`{"type":"response.create","response":{"tool_choice":"required"},"event_id":"must"}`, "invalid_value", "must"},
		{`{"type":"response.create","response":{"tools":[{"type":"function","name":""}]},"event_id":"unnamed"}`, "invalid_value", "unnamed"},
	} {
		p.send(tt.event)
		if code, about := p.code(); code != tt.code || about != tt.about {
			t.Errorf("%s: got %s about %q, want %s about %q", tt.event, code, about, tt.code, tt.about)
		}
	}
	if err := p.ws.WriteMessage(websocket.BinaryMessage, []byte{1, 2}); err != nil {
		t.Fatal(err)
	}
	if code, _ := p.code(); code != "invalid_type" {
		t.Errorf("a binary message: %s", code)
	}
	p.send(`{"type":"input_audio_buffer.append","audio":"AAECAw=="}`)
	want := audio.PCM{0x0100, 0x0302}
	if in := (<-got).(transport.Sound); cmp.Diff(want, in.PCM) != "" || in.Rate != 24000 {
		t.Errorf("after all that the sound is %+v", in)
	}
}

// A change of the session is confirmed, and is heard by the pipeline.
func TestUpdate(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	p, _ := serve(t, Limits{}, listen(got))
	p.send(`{"type":"session.update","session":{"type":"realtime","instructions":"Shout.","audio":{"input":{"format":{"type":"audio/pcmu"}},"output":{"format":{"type":"audio/pcma"}}}}}`)
	e := p.read()
	if e["type"] != "session.updated" || e["session"].(map[string]any)["instructions"] != "Shout." {
		t.Errorf("confirmed with %v", e)
	}
	in := (<-got).(transport.Configure)
	if s := in.Settings; s.Instructions != "Shout." || s.Rate != 8000 || s.Encoding != "audio/pcma" || s.Detection == nil {
		t.Errorf("the pipeline was told %+v", s)
	}
	p.send(`{"type":"input_audio_buffer.append","audio":"AAECAw=="}`)
	if in := (<-got).(transport.Sound); len(in.PCM) != 4 || in.Rate != 8000 {
		t.Errorf("four bytes of mu-law became %+v", in)
	}
}

// An answer is told in the protocol's order, and its sound arrives whole.
func TestAnswer(t *testing.T) {
	r := transport.Response{ID: "resp_1", Item: "item_2", Encoding: "audio/pcm", Metadata: map[string]string{"k": "v"}}
	p, ended := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		for _, out := range []transport.Outbound{
			transport.SpeechStarted{Item: "item_1", At: 100 * time.Millisecond},
			transport.SpeechStopped{Item: "item_1", At: 900 * time.Millisecond},
			transport.Committed{Item: "item_1"},
			transport.Transcribed{Item: "item_1", Text: "hello", Speech: time.Second},
			transport.ResponseStarted{Response: r},
			transport.MessageStarted{Response: r, Previous: "item_1"},
			transport.Words{Response: r, Text: "Good "},
			transport.Voice{Response: r, PCM: audio.PCM{1, 2}},
			transport.Words{Response: r, Text: "day."},
			transport.Voice{Response: r, PCM: audio.PCM{3, -4}},
			transport.ResponseDone{Response: r, Status: transport.Completed, Text: "Good day."},
			transport.Hypothesis{Item: "item_2", Text: "well"}, // neither is included, so neither is sent
			transport.TurnReport{Response: "resp_1"},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		return transport.ErrShutdown
	})
	var types []string
	var sound []byte
	var done map[string]any
	for len(types) == 0 || types[len(types)-1] != "error" {
		e := p.read()
		kind := e["type"].(string)
		types = append(types, kind)
		switch kind {
		case "response.output_audio.delta":
			b, err := base64.StdEncoding.DecodeString(e["delta"].(string))
			if err != nil {
				t.Fatal(err)
			}
			sound = append(sound, b...)
		case "response.done":
			done = e["response"].(map[string]any)
		}
	}
	want := []string{
		"input_audio_buffer.speech_started", "input_audio_buffer.speech_stopped", "input_audio_buffer.committed",
		"conversation.item.added", "conversation.item.done", "conversation.item.input_audio_transcription.delta",
		"conversation.item.input_audio_transcription.completed",
		"response.created", "response.output_item.added", "conversation.item.added", "response.content_part.added",
		"response.output_audio_transcript.delta", "response.output_audio.delta",
		"response.output_audio_transcript.delta", "response.output_audio.delta",
		"response.output_audio.done", "response.output_audio_transcript.done", "response.content_part.done",
		"response.output_item.done", "conversation.item.done", "response.done", "error",
	}
	if diff := cmp.Diff(want, types); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(audio.PCM{1, 2, 3, -4}, audio.FromBytes(sound)); diff != "" {
		t.Errorf("sound (-want +got):\n%s", diff)
	}
	if done["status"] != "completed" || done["metadata"].(map[string]any)["k"] != "v" || done["usage"] == nil {
		t.Errorf("response.done says %v", done)
	}
	if code := p.closeCode(); code != websocket.CloseGoingAway {
		t.Errorf("closed with %d, want going away", code)
	}
	if err := <-ended; !errors.Is(err, transport.ErrShutdown) {
		t.Errorf("the call ended with %v", err)
	}
}

// A client that never reads is cut off, however much it goes on sending.
func TestNeverReads(t *testing.T) {
	p, ended := serve(t, Limits{Write: 300 * time.Millisecond, Queue: 4}, func(ctx context.Context, c transport.Call) error {
		r := transport.Response{ID: "resp", Item: "item", Encoding: "audio/pcm"}
		big := make(audio.PCM, 1<<18)
		for {
			if err := c.Send(ctx, transport.Voice{Response: r, PCM: big}); err != nil {
				return err
			}
		}
	})
	if err := <-ended; !errors.Is(err, transport.ErrSlowReader) {
		t.Errorf("the call ended with %v", err)
	}
	_ = p
}

// So is one that sends but never answers a ping.
func TestNoPong(t *testing.T) {
	got := make(chan transport.Inbound, 1000)
	p, ended := serve(t, Limits{Ping: 50 * time.Millisecond, Pong: 300 * time.Millisecond}, listen(got))
	go func() {
		for p.ws.WriteMessage(websocket.TextMessage, []byte(`{"type":"input_audio_buffer.clear"}`)) == nil {
			time.Sleep(20 * time.Millisecond)
		}
	}()
	if err := <-ended; !errors.Is(err, transport.ErrSlowReader) {
		t.Errorf("the call ended with %v", err)
	}
}

// A client that is gone in the middle of an answer frees the call at once.
func TestGoneInTheMiddle(t *testing.T) {
	p, ended := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		r := transport.Response{ID: "resp", Item: "item", Encoding: "audio/pcm"}
		for {
			if err := c.Send(ctx, transport.Voice{Response: r, PCM: make(audio.PCM, 480)}); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
		}
	})
	p.read()
	p.ws.UnderlyingConn().Close()
	if err := <-ended; !errors.Is(err, transport.ErrHungUp) {
		t.Errorf("the call ended with %v", err)
	}
}

// Each end of a call has its close code.
func TestCloseCodes(t *testing.T) {
	for _, tt := range []struct {
		why  error
		code int
	}{
		{transport.ErrShutdown, websocket.CloseGoingAway},
		{transport.ErrExpired, websocket.CloseNormalClosure},
		{errors.New("broken"), websocket.CloseInternalServerErr},
	} {
		p, _ := serve(t, Limits{}, func(context.Context, transport.Call) error { return tt.why })
		if code := p.closeCode(); code != tt.code {
			t.Errorf("%v closes with %d, want %d", tt.why, code, tt.code)
		}
	}
	t.Run("too big a message", func(t *testing.T) {
		p, ended := serve(t, Limits{Message: 1000}, listen(nil))
		p.send(strings.Repeat(" ", 2000))
		if code := p.closeCode(); code != websocket.CloseMessageTooBig {
			t.Errorf("closed with %d", code)
		}
		if err := <-ended; !errors.Is(err, ErrTooBig) {
			t.Errorf("the call ended with %v", err)
		}
	})
	t.Run("nothing comes", func(t *testing.T) {
		p, ended := serve(t, Limits{Idle: 50 * time.Millisecond}, listen(nil))
		if code, _ := p.code(); code != "session_idle" {
			t.Errorf("told of %s", code)
		}
		if err := <-ended; !errors.Is(err, transport.ErrIdle) {
			t.Errorf("the call ended with %v", err)
		}
	})
	t.Run("too long a call", func(t *testing.T) {
		p, ended := serve(t, Limits{Lifetime: 50 * time.Millisecond}, listen(nil))
		if code, _ := p.code(); code != "session_expired" {
			t.Errorf("told of %s", code)
		}
		if err := <-ended; !errors.Is(err, transport.ErrExpired) {
			t.Errorf("the call ended with %v", err)
		}
	})
}

// Who cannot be taken is told before the handshake, and when to come again.
func TestRefused(t *testing.T) {
	s := &Server{
		Admit: func() (func(), error) {
			return nil, &Refusal{Code: "too_many_calls", Message: `All 8 "places" are taken.`, Retry: 3 * time.Second}
		},
		Log: slog.New(slog.DiscardHandler),
	}
	server := httptest.NewServer(s)
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	_, r, err := websocket.DefaultDialer.Dial(url, nil)
	if err == nil || r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") != "3" {
		t.Fatalf("got %v, %+v", err, r)
	}
	var body struct {
		Error struct{ Code, Message string }
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Error.Code != "too_many_calls" || !strings.Contains(body.Error.Message, `"places"`) {
		t.Errorf("the body is %+v, %v", body, err)
	}
	plain, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	plain.Body.Close()
	if plain.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a plain request gets %d", plain.StatusCode)
	}
}

func TestOrigins(t *testing.T) {
	s := &Server{Origins: []string{"https://app.example"}}
	for origin, want := range map[string]bool{
		"": true, "http://127.0.0.1:8080": true, "https://127.0.0.1:8080": true, "https://app.example": true,
		"https://evil.example": false, "null": false, "https://app.example.evil": false, "http://127.0.0.1:9": false,
	} {
		r := httptest.NewRequest("GET", "http://127.0.0.1:8080/v1/realtime", nil)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		if got := s.originAllowed(r); got != want {
			t.Errorf("%q is let in: %v, want %v", origin, got, want)
		}
	}
	rebound := httptest.NewRequest("GET", "http://evil.example:8080/v1/realtime", nil)
	rebound.Header.Set("Origin", "http://evil.example:8080")
	if s.originAllowed(rebound) {
		t.Error("a page whose name leads here is let in")
	}
	name, err := os.Hostname()
	if err != nil {
		t.Skip(err)
	}
	own := httptest.NewRequest("GET", "https://"+name+":8080/v1/realtime", nil)
	own.Header.Set("Origin", "https://"+name+":8080")
	if !s.originAllowed(own) {
		t.Error("a page that was asked for by this machine's name is not let in")
	}
}

// What a client includes it is sent.
func TestIncluded(t *testing.T) {
	included := make(chan struct{})
	p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		if _, err := c.Receive(ctx); err != nil {
			return err
		}
		close(included)
		heard := transport.Transcribed{Item: "item_0", Text: "héy", Tokens: []transport.Token{{Text: "h\xc3", LogProb: -0.5}, {Text: "\xa9y", LogProb: -1}}}
		if err := c.Send(ctx, heard); err != nil {
			return err
		}
		if err := c.Send(ctx, transport.Hypothesis{Item: "item_1", Text: "ask not what", Stable: len("ask not"), Speech: 1200 * time.Millisecond}); err != nil {
			return err
		}
		return c.Send(ctx, transport.TurnReport{Response: "resp_1"})
	})
	p.send(`{"type":"session.update","session":{"type":"realtime","include":["riposte.hypothesis","riposte.turn","item.input_audio_transcription.logprobs"]}}`)
	<-included
	for e := p.read(); ; e = p.read() {
		if e["type"] == "conversation.item.input_audio_transcription.completed" {
			want := []any{
				map[string]any{"token": "h\uFFFD", "logprob": -0.5, "bytes": []any{104., 195.}}, map[string]any{"token": "\uFFFDy", "logprob": -1., "bytes": []any{169., 121.}},
			}
			if diff := cmp.Diff(want, e["logprobs"]); diff != "" {
				t.Errorf("how sure the recogniser was (-want +got):\n%s", diff)
			}
		}
		if e["type"] != "riposte.hypothesis" {
			continue
		}
		if e["item_id"] != "item_1" || e["text"] != "ask not what" || e["stable"] != "ask not" || e["audio_ms"] != 1200. {
			t.Errorf("the client was told %v", e)
		}
		break
	}
	if e := p.read(); e["type"] != "riposte.turn" {
		t.Errorf("after the hypothesis came %v", e)
	}
}

// A client that wants the model to speak up in silence is heard, and told when it does.
func TestIdleTimeout(t *testing.T) {
	settings := make(chan transport.Settings, 1)
	p, _ := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		in, err := c.Receive(ctx)
		if err != nil {
			return err
		}
		settings <- in.(transport.Configure).Settings
		for _, out := range []transport.Outbound{
			transport.TimedOut{Item: "item_1", From: 2 * time.Second, Until: 8 * time.Second},
			transport.Committed{Item: "item_1", Previous: "item_0"},
		} {
			if err := c.Send(ctx, out); err != nil {
				return err
			}
		}
		return transport.ErrHungUp
	})
	p.send(`{"type":"session.update","session":{"audio":{"input":{"turn_detection":{"type":"server_vad","idle_timeout_ms":6000}}}}}`)
	d := p.read()["session"].(map[string]any)["audio"].(map[string]any)["input"].(map[string]any)["turn_detection"].(map[string]any)
	if d["idle_timeout_ms"] != 6000. {
		t.Errorf("confirmed with %v", d)
	}
	if s := <-settings; s.Detection.Idle != 6*time.Second {
		t.Errorf("the pipeline was told %+v", s.Detection)
	}
	if e := p.read(); e["type"] != "input_audio_buffer.timeout_triggered" || e["audio_start_ms"] != 2000. || e["audio_end_ms"] != 8000. || e["item_id"] != "item_1" {
		t.Errorf("told %v", e)
	}
	if e := p.read(); e["type"] != "input_audio_buffer.committed" || e["item_id"] != "item_1" {
		t.Errorf("then told %v", e)
	}
}
