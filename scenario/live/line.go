package live

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
)

// line is a call to the service: a socket with a microphone and a loudspeaker at its end.
type line struct {
	conn    *websocket.Conn
	writing sync.Mutex

	mu      sync.Mutex // Guards what follows.
	told    []told
	phone   phone
	mic     microphone
	sent    int  // Frames.
	holds   bool // The loudspeaker pauses while an answer is held.
	yields  bool // It throws away what it has in hand when it is told that the caller speaks.
	endedAt time.Time
	err     error         // Why it ended.
	changed chan struct{} // Closed, and replaced, whenever anything here changes.

	over context.CancelFunc
	ctx  context.Context
	work sync.WaitGroup
}

// told is something that the service said, and when.
type told struct {
	at time.Time
	message
	pcm   audio.PCM // Of a piece of sound, which is not in message,
	plays time.Time // and when it begins to be played; zero while the phone pauses.
}

const (
	// setupWait is how long the service may take to let a caller in.
	setupWait = 10 * time.Second
	// writeWait is how long it may take to read a frame.
	writeWait = 10 * time.Second
)

// errHungUp is why a line ended that this side has closed.
var errHungUp = errors.New("hung up")

// dial calls the service, and waits until it says that there is a session.
func dial(ctx context.Context, url string) (*line, error) {
	dialing, cancel := context.WithTimeout(ctx, setupWait)
	defer cancel()
	conn, _, err := websocket.DefaultDialer.DialContext(dialing, url, nil)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", url, err)
	}
	l := &line{conn: conn, changed: make(chan struct{})}
	l.ctx, l.over = context.WithCancel(ctx)
	l.work.Go(l.listen)
	if err := l.agree("session.created"); err != nil {
		l.close()
		return nil, fmt.Errorf("call %s: %w", url, err)
	}
	return l, nil
}

// agree waits until the service has said one more of a kind than it had when it was asked something.
func (l *line) agree(kind string, asked ...object) error {
	count := func() (n int) {
		for _, t := range l.told {
			if t.Type == kind {
				n++
			}
		}
		return n
	}
	l.mu.Lock()
	n := count()
	l.mu.Unlock()
	if kind == "session.created" {
		n = 0
	}
	for _, o := range asked {
		if err := l.send(o); err != nil {
			return err
		}
	}
	want := n + max(1, len(asked))
	var refused string
	if l.await(time.Now().Add(setupWait), func() bool {
		for _, t := range l.told {
			if t.Type == "error" {
				refused = t.Error.Message
			}
		}
		return refused != "" || count() >= want
	}); refused != "" {
		return errors.New(refused)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if count() < want {
		return fmt.Errorf("the service did not say %s: %w", kind, l.err)
	}
	return nil
}

// await waits until something is so, or a time is over, or the line. fits is called with the lock held.
func (l *line) await(until time.Time, fits func() bool) bool {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		l.mu.Lock()
		ok, changed, ended := fits(), l.changed, l.err != nil
		l.mu.Unlock()
		if ok || ended {
			return ok
		}
		select {
		case <-changed:
		case <-timer.C:
			return false
		}
	}
}

// wake tells those who wait that something has changed. The lock is held.
func (l *line) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// listen takes what the service says until the line is over.
func (l *line) listen() {
	for {
		_, b, err := l.conn.ReadMessage()
		now := time.Now()
		if err == nil {
			var m message
			if m, err = read(b); err == nil {
				err = l.take(m, now)
			}
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

// take notes what the service says, and does what a client does.
func (l *line) take(m message, now time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := told{at: now, message: m}
	switch m.Type {
	case "response.output_audio.delta":
		b, err := base64.StdEncoding.DecodeString(m.Delta)
		if err != nil {
			return fmt.Errorf("sound in broken base64: %w", err)
		}
		t.Delta, t.pcm = "", decode(b)
		t.plays = l.phone.take(chunk{answer: m.ResponseID, pcm: t.pcm}, now)
	case "riposte.hold":
		if l.holds {
			l.phone.pause(now)
		}
	case "riposte.release":
		l.phone.resume(now)
	case "input_audio_buffer.speech_started":
		if l.yields {
			l.phone.empty(now)
		}
	case "response.done":
		if m.Response.Status == "cancelled" {
			l.phone.empty(now)
		}
	}
	l.told = append(l.told, t)
	l.wake()
	return nil
}

// talk begins to send what the microphone hears.
func (l *line) talk() {
	l.mu.Lock()
	l.mic.start = time.Now()
	l.told = nil // what was agreed on before the call is none of it
	l.mu.Unlock()
	l.work.Go(func() {
		for {
			l.mu.Lock()
			pcm, due := l.mic.next()
			l.mu.Unlock()
			select {
			case <-time.After(time.Until(due)):
			case <-l.ctx.Done():
				return
			}
			l.mu.Lock()
			l.mic.hear(pcm, l.phone.between(due.Add(-frame), due))
			dead := !due.After(l.mic.dead)
			l.mu.Unlock()
			if !dead {
				if err := l.sound(pcm); err != nil {
					l.end(err)
					return
				}
			}
			l.mu.Lock()
			l.sent = l.mic.taken
			l.wake()
			l.mu.Unlock()
		}
	})
}

// sound sends sound.
func (l *line) sound(pcm audio.PCM) error {
	return l.send(object{"type": "input_audio_buffer.append", "audio": encode(pcm)})
}

// send sends something.
func (l *line) send(o object) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.conn.SetWriteDeadline(time.Now().Add(writeWait)) // It never fails.
	return l.conn.WriteJSON(o)
}

// end notes why the line is over.
func (l *line) end(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err, l.endedAt = why, time.Now()
		l.wake()
	}
	l.over()
}

// close hangs up, and waits until nothing is left of the line on this side.
func (l *line) close() {
	l.end(errHungUp)
	l.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	l.conn.Close()
	l.work.Wait()
}

// ended reports whether the line is over.
func (l *line) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err != nil
}

func encode(pcm audio.PCM) []byte {
	b := make([]byte, 0, 2*len(pcm))
	for _, s := range pcm {
		b = binary.LittleEndian.AppendUint16(b, uint16(s))
	}
	return b
}

func decode(b []byte) audio.PCM {
	pcm := make(audio.PCM, len(b)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return pcm
}
