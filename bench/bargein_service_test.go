package bench

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/caller"
	"riposte/tts"
)

const (
	wireRate  = 24000
	wireFrame = wireRate / 50
)

// object is an event in the making.
type object = map[string]any

// service is a small service at the other end of a pipe. What is louder than deafness is a voice to it; 200 ms of anything else end a
// turn. Voice over an answer holds it, as much of it as commit without a break takes the word, and what is shorter gives it back.
type service struct {
	deafness float64       // dBFS. It defaults to -40.
	commit   time.Duration // It defaults to 500 ms.
	ignores  bool          // It does not listen while it speaks.
	unheld   bool          // It does not hold answers, but ends them.
	sloppy   int           // So many words more than were heard, it believes, were.
	drops    int           // Frames that it loses when an answer goes on.
	slow     time.Duration // How long a hold takes.
	full     int           // So many calls it refuses first.
	voice    tts.Synthesizer

	listener *pipe
	http     http.Server
	calls    int
}

// answerText is what it always answers.
const answerText = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"

// wordLength is how long a word of the fake voice is, and how long of that it is silent.
const wordLength, wordRest = 400 * time.Millisecond, 50 * time.Millisecond

// newFakeVoice returns a voice of which every word is a noise of its own.
func newFakeVoice() *Overheard {
	rnd := rand.New(rand.NewPCG(1, 2))
	return &Overheard{Synthesizer: tts.SynthesizerFunc{Hz: wireRate, Fn: func(_ context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
		return func(yield func(audio.PCM, error) bool) {
			end, made := 0, 0
			for _, w := range strings.Fields(text) {
				end += strings.Index(text[end:], w) + len(w)
				pcm := make(audio.PCM, audio.Samples(wordLength, wireRate))
				n := len(pcm) - audio.Samples(wordRest, wireRate)
				hum := 0.0
				for i := range n {
					hum += 0.1 * (rnd.NormFloat64()*3000 - hum) // mostly low frequencies, as voices have them
					pcm[i] = int16(hum)
				}
				if o.Words != nil {
					o.Words(tts.Word{End: end, Heard: made + n})
				}
				made += len(pcm)
				if !yield(pcm, nil) {
					return
				}
			}
		}
	}}}
}

// run runs f with the service, in fake time.
func (s *service) run(t *testing.T, f func(t *testing.T, c caller.Caller)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.listener = &pipe{conns: make(chan net.Conn), done: make(chan struct{})}
		s.http.Handler = http.HandlerFunc(s.serve)
		var work sync.WaitGroup
		work.Go(func() { s.http.Serve(s.listener) })
		f(t, caller.Caller{URL: "ws://service", Wait: 5 * time.Second, DialContext: s.listener.dial, Holds: !s.unheld})
		s.http.Close()
		work.Wait()
	})
}

// serve holds one call.
func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	if s.full > 0 {
		s.full--
		http.Error(w, "full", http.StatusServiceUnavailable)
		return
	}
	var up websocket.Upgrader
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	s.calls++
	c := &serviceCall{service: s, conn: conn, gone: make(chan struct{})}
	defer c.work.Wait()
	defer close(c.gone)
	c.send(object{"type": "session.created"})
	for {
		var e object
		if err := conn.ReadJSON(&e); err != nil {
			return
		}
		switch e["type"] {
		case "session.update":
			c.send(object{"type": "session.updated", "session": e["session"]})
		case "input_audio_buffer.append":
			b, _ := base64.StdEncoding.DecodeString(e["audio"].(string))
			c.listen(audio.FromBytes(b))
		}
	}
}

// serviceCall is the service's side of a call.
type serviceCall struct {
	*service
	conn *websocket.Conn
	gone chan struct{}
	work sync.WaitGroup

	mu       sync.Mutex
	talking  bool          // The caller has the word,
	voiced   time.Duration // has made a voice for so long,
	quiet    time.Duration // and has been quiet since.
	turns    int
	stop     chan struct{} // Ends the answer; nil between answers.
	speaking bool
	held     bool
}

func (c *serviceCall) send(e object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn.WriteJSON(e)
}

// listen takes a frame.
func (c *serviceCall) listen(frame audio.PCM) {
	const length = 20 * time.Millisecond
	if frame.Level() > cmp.Or(c.deafness, -40) {
		c.quiet = 0
		c.voiced += length
		switch over := c.over(); {
		case c.talking || over && c.ignores:
		case over && c.voiced < cmp.Or(c.commit, 500*time.Millisecond):
			if !c.unheld {
				c.hold(true)
			}
		default:
			c.talking = true
			c.cut()
			c.send(object{"type": "input_audio_buffer.speech_started"})
		}
		return
	}
	if c.quiet += length; c.quiet >= 40*time.Millisecond {
		c.voiced = 0
	}
	if c.quiet < 200*time.Millisecond {
		return
	}
	c.hold(false)
	if c.talking {
		c.talking = false
		c.turns++
		c.send(object{"type": "input_audio_buffer.committed", "item_id": fmt.Sprint("item_", c.turns)})
		c.send(object{"type": "conversation.item.input_audio_transcription.completed", "item_id": fmt.Sprint("item_", c.turns), "transcript": "hello there"})
		c.answer(c.turns)
	}
}

// over reports whether an answer is being given.
func (c *serviceCall) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.speaking
}

// hold holds an answer, or lets it go on.
func (c *serviceCall) hold(held bool) {
	c.mu.Lock()
	was := c.held
	c.held = held && c.speaking
	now := c.held
	c.mu.Unlock()
	switch {
	case now && !was:
		if c.slow > 0 {
			time.Sleep(c.slow)
		}
		c.send(object{"type": "riposte.hold"})
	case was && !now:
		c.send(object{"type": "riposte.release"})
	}
}

// cut ends the answer.
func (c *serviceCall) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.speaking {
		c.speaking, c.held = false, false
		close(c.stop)
	}
}

// answer gives an answer after 300 ms, a frame every 20 ms, 100 ms ahead of its playing.
func (c *serviceCall) answer(n int) {
	stop := make(chan struct{})
	c.mu.Lock()
	c.stop = stop
	c.mu.Unlock()
	id := fmt.Sprint("resp_", n)
	c.work.Go(func() {
		if !c.sleep(300*time.Millisecond, nil) {
			return
		}
		var sound audio.PCM
		var words []tts.Word
		for pcm := range c.voice.Speak(context.Background(), answerText, tts.Options{Words: func(w tts.Word) { words = append(words, w) }}) {
			sound = append(sound, pcm...)
		}
		c.mu.Lock()
		c.speaking = true
		c.mu.Unlock()
		c.send(object{"type": "response.created", "response": object{"id": id}})
		c.send(object{"type": "response.output_audio_transcript.delta", "response_id": id, "delta": answerText})
		status, played := c.play(id, sound, stop)
		c.mu.Lock()
		if status == "completed" {
			c.speaking = false
		}
		c.mu.Unlock()
		end, count := 0, 0
		for _, w := range words {
			if w.Heard <= played {
				end, count = w.End, count+1
			}
		}
		heard := answerText[:end]
		if status == "cancelled" {
			heard = strings.Join(strings.Fields(answerText)[:min(count+c.sloppy, 16)], " ")
		}
		c.send(object{"type": "response.done", "response": object{"id": id, "status": status}})
		c.send(object{"type": "riposte.turn", "response_id": id, "answer": heard})
	})
}

// play sends a sound, and returns how much of it was heard.
func (c *serviceCall) play(id string, sound audio.PCM, stop chan struct{}) (status string, played int) {
	const lead = 5 // frames
	sent := 0
	for k := 0; ; k++ { // k frames have been played
		for sent < min(k+lead, (len(sound)+wireFrame-1)/wireFrame) {
			frame := sound[sent*wireFrame : min((sent+1)*wireFrame, len(sound))]
			c.send(object{"type": "response.output_audio.delta", "response_id": id, "delta": base64.StdEncoding.EncodeToString(frame.AppendBytes(nil))})
			sent++
		}
		if k*wireFrame >= len(sound) {
			return "completed", len(sound)
		}
		paused := false
		for {
			if !c.sleep(20*time.Millisecond, stop) {
				return "cancelled", k * wireFrame
			}
			c.mu.Lock()
			held, speaking := c.held, c.speaking
			c.mu.Unlock()
			if !speaking {
				return "cancelled", k * wireFrame
			}
			if !held {
				break
			}
			paused = true
		}
		if paused {
			sent += c.drops
		}
	}
}

// sleep reports false when it is woken by stop or by the caller's hanging up.
func (c *serviceCall) sleep(d time.Duration, stop <-chan struct{}) bool {
	select {
	case <-time.After(d):
		return true
	case <-stop:
		return false
	case <-c.gone:
		return false
	}
}

// pipe accepts connections that do not leave the process, so that time can be faked.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

func (l *pipe) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipe) Close() error { l.once.Do(func() { close(l.done) }); return nil }

func (l *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// said are clips of a second of voice behind a tenth of silence.
func said(t *testing.T) []Clip {
	t.Helper()
	path := t.TempDir() + "/clip.wav"
	rnd := rand.New(rand.NewPCG(3, 4))
	pcm := make(audio.PCM, audio.SpeechRate/10, 2*audio.SpeechRate)
	for range audio.SpeechRate {
		pcm = append(pcm, int16(3000*rnd.NormFloat64()))
	}
	if err := audio.WriteWAV(path, pcm, audio.SpeechRate); err != nil {
		t.Fatal(err)
	}
	return []Clip{{File: path, Kinds: []string{"read"}, Language: "en", Transcript: "Hello there.", SpeechStart: 100 * time.Millisecond, SpeechEnd: 1100 * time.Millisecond}}
}

// loud finds the voice by level.
func loud(pcm audio.PCM, rate int) (from, to int, ok bool) {
	to = audio.LastVoiced(pcm, rate)
	return firstVoiced(pcm, rate), to, to > 0
}
