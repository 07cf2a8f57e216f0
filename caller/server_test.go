package caller

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"

	"riposte/audio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ms = time.Millisecond

// object is an event in the making.
type object = map[string]any

// server is a scripted server at the other end of a pipe. It takes what is louder than -40 dBFS for speech, and a turn to
// be over after 200 ms of anything else; then it does what turn says.
type server struct {
	t      *testing.T
	format Format
	// greet answers the n-th session.update, from 0; nil agrees with everything.
	greet func(p *peer, n int, update object)
	// turn answers the n-th turn, from 0.
	turn func(p *peer, n int)
	// refuse is what the server says instead of taking the call.
	refuse func(w http.ResponseWriter)

	listener *pipeListener
	http     http.Server
	work     sync.WaitGroup
}

// peer is the server's side of one call.
type peer struct {
	*server
	conn    *websocket.Conn
	updates []object
	frames  []time.Time // When each frame arrived.
	sound   audio.PCM
	quiet   time.Duration
	heard   bool
	turns   int
	gone    chan struct{} // Closed when the caller is.
	mu      sync.Mutex
}

// converse runs f with a caller of s, in fake time.
func (s *server) converse(t *testing.T, f func(t *testing.T, c *Caller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		if s.format == "" {
			s.format = PCM
		}
		s.listener = &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		s.http.Handler = http.HandlerFunc(s.serve)
		s.work.Go(func() { s.http.Serve(s.listener) })
		f(t, &Caller{URL: "ws://server", Format: s.format, Wait: 5 * time.Second, DialContext: s.listener.dial})
		s.http.Close()
		s.work.Wait()
	})
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if s.refuse != nil {
		s.refuse(w)
		return
	}
	var up websocket.Upgrader
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	p := &peer{server: s, conn: conn, gone: make(chan struct{})}
	var turns sync.WaitGroup
	defer turns.Wait()
	defer close(p.gone)
	p.send(object{"type": "session.created", "session": object{"id": "sess_1"}})
	for {
		var e object
		if err := conn.ReadJSON(&e); err != nil {
			return
		}
		switch e["type"] {
		case "session.update":
			p.updates = append(p.updates, e)
			if s.greet != nil {
				s.greet(p, len(p.updates)-1, e)
			} else {
				p.send(object{"type": "session.updated", "session": e["session"]})
			}
		case "input_audio_buffer.append":
			if p.listen(e["audio"].(string)) {
				n := p.turns
				p.turns++
				turns.Go(func() { s.turn(p, n) })
			}
		}
	}
}

// listen takes a frame and returns whether it ends a turn.
func (p *peer) listen(coded string) bool {
	b, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		p.t.Error(err)
	}
	pcm, err := p.format.decode(b)
	if err != nil {
		p.t.Error(err)
	}
	p.frames = append(p.frames, time.Now())
	p.sound = append(p.sound, pcm...)
	if pcm.Level() > -40 {
		if !p.heard {
			p.heard = true
			p.send(object{"type": "input_audio_buffer.speech_started"})
		}
		p.quiet = 0
		return false
	}
	p.quiet += pcm.Duration(p.format.Rate())
	if !p.heard || p.quiet < 200*ms {
		return false
	}
	p.heard = false
	p.send(object{"type": "input_audio_buffer.speech_stopped", "audio_end_ms": p.sound.Duration(p.format.Rate()).Milliseconds()})
	return true
}

// send writes one event. A caller who is gone is no fault here.
func (p *peer) send(e object) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.WriteJSON(e)
}

// raw writes what is perhaps no event.
func (p *peer) raw(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.WriteMessage(websocket.TextMessage, []byte(s))
}

// after sleeps, and returns whether the caller is still there.
func (p *peer) after(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-p.gone:
		return false
	}
}

// commit takes the turn as an item, and says what it heard unless that is empty.
func (p *peer) commit(item, transcript string) {
	p.send(object{"type": "input_audio_buffer.committed", "item_id": item})
	if transcript != "" {
		p.transcribe(item, transcript)
	}
}

func (p *peer) transcribe(item, transcript string) {
	p.send(object{"type": "conversation.item.input_audio_transcription.completed", "item_id": item, "transcript": transcript})
}

// begin, say and done are an answer.
func (p *peer) begin(response string) {
	p.send(object{"type": "response.created", "response": object{"id": response, "status": "in_progress"}})
}

func (p *peer) say(response, words string, pcm audio.PCM) {
	p.send(object{"type": "response.output_audio_transcript.delta", "response_id": response, "delta": words})
	p.send(object{"type": "response.output_audio.delta", "response_id": response, "delta": base64.StdEncoding.EncodeToString(p.format.encode(nil, pcm))})
}

func (p *peer) done(response, status string) {
	p.send(object{"type": "response.done", "response": object{"id": response, "status": status}})
}

// answer is a whole turn: it is answered after d with 100 ms of silence and 500 ms of sound, all at once.
func (p *peer) answer(d time.Duration, item, transcript, response, words string) {
	p.commit(item, transcript)
	p.begin(response)
	if p.after(d) {
		p.say(response, words, slices.Concat(loud(100*ms, p.format.Rate(), -90), loud(500*ms, p.format.Rate(), -20)))
		p.done(response, "completed")
	}
}

// accounted is a riposte.turn event.
func accounted(response, transcript, answer string, continued bool) object {
	return object{
		"type": "riposte.turn", "response_id": response, "transcript": transcript, "answer": answer, "continued": continued,
		"verdict": "over", "blame": "llm", "total_ms": 950.5,
		"stages_ms": object{"mic": 30.25, "stt": 250, "llm": 600, "tts": 70.25}, "shares_ms": object{"mic": 40},
		"marks_ms": object{"first token": 500},
	}
}

// loud returns d of sound at a level of db dBFS.
func loud(d time.Duration, rate int, db float64) audio.PCM {
	amplitude := map[float64]int16{-20: 3277, -90: 1}[db]
	p := make(audio.PCM, audio.Samples(d, rate))
	for i := range p {
		if p[i] = amplitude; i%2 == 1 {
			p[i] = -amplitude
		}
	}
	return p
}

// speech is d of voice.
func speech(d time.Duration, rate int) Speech {
	return Speech{Sound: loud(d, rate, -20), Rate: rate}
}

// pipeListener accepts connections that do not leave the process, so that time can be faked.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// dial makes a call, which the test must close.
func dial(t *testing.T, c *Caller) *Call {
	t.Helper()
	call, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return call
}

// wants reports an error that is not the wanted one.
func wants(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error = %v, want %v", err, want)
	}
}
