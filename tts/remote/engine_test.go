package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/budget"
	"riposte/remote"
	"riposte/tts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns an engine of a server that answers so.
func open(t *testing.T, answer http.HandlerFunc, change ...func(*Engine)) *Engine {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/speech", answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	a, err := remote.Parse(server.URL + "/v1#kokoro")
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{
		Server: &remote.Server{Address: a, Stage: budget.TTS, Limits: remote.Limits{Idle: 300 * time.Millisecond, Bytes: 1 << 20, Redials: -1}},
		Voice:  "af", Language: "en", First: 400 * time.Millisecond,
	}
	for _, c := range change {
		c(e)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// tone returns so much of a tone.
func tone(length time.Duration, rate int) audio.PCM {
	p := make(audio.PCM, audio.Samples(length, rate))
	for i := range p {
		p[i] = int16(8000 * math.Sin(2*math.Pi*440*float64(i)/float64(rate)))
	}
	return p
}

// hear collects what is said.
func hear(ctx context.Context, e *Engine, text string) (all audio.PCM, first int, err error) {
	for pcm, err := range e.Speak(ctx, text, tts.Options{Speed: 1.5}) {
		if err != nil {
			return all, first, err
		}
		if first == 0 {
			first = len(pcm)
		}
		all = append(all, pcm...)
	}
	return all, first, nil
}

// header returns that of a WAV file which comes through a pipe.
func header(rate int) []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF\xff\xff\xff\xffWAVEfmt "), 16, 0, 0, 0, 1, 0, 1, 0)
	b = le.AppendUint32(le.AppendUint32(b, uint32(rate)), uint32(2*rate))
	return append(b, "\x02\x00\x10\x00data\xff\xff\xff\xff"...)
}

// Whatever form sound comes in, it is heard, from its first bytes on, and as much of it.
func TestSpeak(t *testing.T) {
	mp3, err := os.ReadFile("../../audio/testdata/tone_24k_mono.mp3")
	if err != nil {
		t.Fatal(err)
	}
	spoken, rate, err := audio.Decode(bytes.NewReader(mp3), "tone")
	if err != nil || rate != Rate {
		t.Fatal(rate, err)
	}
	var ogg bytes.Buffer
	w := opus.Writer{Out: &ogg, Rate: Rate}
	if err := errors.Join(w.Open(), w.Write(tone(time.Second, Rate)), w.Close()); err != nil {
		t.Fatal(err)
	}
	second := tone(time.Second, Rate).AppendBytes(nil)
	for _, tt := range []struct {
		name, kind string
		body       []byte
		want       time.Duration
	}{
		{"raw", "audio/pcm", second, time.Second},
		{"raw of another rate", "audio/pcm;rate=16000", tone(time.Second, 16000).AppendBytes(nil), time.Second},
		{"raw that nobody names", "application/octet-stream", second, time.Second},
		{"WAV", "audio/wav", append(header(22050), tone(time.Second, 22050).AppendBytes(nil)...), time.Second},
		{"WAV in the wrong name", "audio/pcm", append(header(Rate), second...), time.Second},
		{"MP3", "audio/mpeg", mp3, spoken.Duration(Rate)},
		{"Opus", "audio/ogg", ogg.Bytes(), time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := make(chan map[string]any, 1)
			heard := make(chan struct{})
			e := open(t, func(w http.ResponseWriter, r *http.Request) {
				var body map[string]any
				_ = json.NewDecoder(r.Body).Decode(&body)
				asked <- body
				w.Header().Set("Content-Type", tt.kind)
				at := len(tt.body)*2/3 | 1 // in the middle of a sample
				_, _ = w.Write(tt.body[:at])
				w.(http.Flusher).Flush()
				<-heard // what came until now can be heard before the rest comes
				_, _ = w.Write(tt.body[at:])
			})
			var all audio.PCM
			for pcm, err := range e.Speak(t.Context(), "**Hello**, 5 people!", tts.Options{Speed: 1.5}) {
				if err != nil {
					t.Fatal(err)
				}
				if all == nil {
					if got := len(pcm); got > 2*nextChunk {
						t.Errorf("the first part is of %d samples", got)
					}
					close(heard)
				}
				all = append(all, pcm...)
			}
			if off := all.Duration(Rate) - tt.want; off.Abs() > 20*time.Millisecond {
				t.Errorf("%v of sound, want %v", all.Duration(Rate), tt.want)
			}
			if level := all[len(all)/4 : len(all)/2].Level(); level < -30 || level > -6 {
				t.Errorf("it is of %.1f dB", level)
			}
			got := <-asked
			if got["model"] != "kokoro" || got["voice"] != "af" || got["input"] != "Hello, five people!" || got["response_format"] != "pcm" || got["speed"] != 1.5 {
				t.Errorf("it was asked %v", got)
			}
		})
	}
}

// Nobody is asked to say nothing.
func TestSpeakNothing(t *testing.T) {
	e := open(t, func(http.ResponseWriter, *http.Request) { t.Error("it was asked") })
	if all, _, err := hear(t.Context(), e, " 🙂 … "); err != nil || len(all) > 0 {
		t.Errorf("%d samples, %v", len(all), err)
	}
}

// A server does what it should not: what was sound until then is heard, and the error says what is wrong.
func TestSpeakFaults(t *testing.T) {
	part := tone(200*time.Millisecond, Rate).AppendBytes(nil)
	send := func(w http.ResponseWriter, b []byte) { _, _ = w.Write(b); w.(http.Flusher).Flush() }
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
		heard  time.Duration
	}{
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, remote.ErrGarbage, 0},
		{"an error in place of sound", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"error":"no"}`)
		}, remote.ErrGarbage, 0},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "audio/pcm") }, remote.ErrCut, 0},
		{"no MP3", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "audio/mpeg")
			fmt.Fprint(w, strings.Repeat("no", 1000))
		}, remote.ErrGarbage, 0},
		{"no Opus", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "audio/ogg")
			fmt.Fprint(w, "OggS"+strings.Repeat("\x00", 100))
		}, remote.ErrGarbage, 0},
		{"a death", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "audio/pcm")
			send(w, part)
			panic(http.ErrAbortHandler)
		}, remote.ErrCut, 200 * time.Millisecond},
		{"a hang", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "audio/pcm")
			send(w, part)
			<-r.Context().Done()
		}, remote.ErrStalled, 200 * time.Millisecond},
		{"no answer", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, remote.ErrLate, 0},
		{"sound without end", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "audio/pcm")
			for r.Context().Err() == nil {
				send(w, part)
			}
		}, remote.ErrBig, audio.Duration(1<<19, Rate)},
		{"a refusal", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"detail":"no such voice"}`, http.StatusUnprocessableEntity)
		}, nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			all, _, err := hear(t.Context(), open(t, tt.answer), "Hello.")
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if off := tt.heard - all.Duration(Rate); off < 0 || off > 110*time.Millisecond { // what does not fill a part is not handed on
				t.Errorf("%v were heard of %v", all.Duration(Rate), tt.heard)
			}
		})
	}
}

// A server that dies before its first sound is asked again, and the turn's bill says so; one that dies behind that is not, since what was heard
// would be heard twice.
func TestSpeakRedial(t *testing.T) {
	for _, tt := range []struct {
		before time.Duration // What sounds before it dies.
		asked  int32
		heard  time.Duration
		want   error
	}{{0, 2, 400 * time.Millisecond, nil}, {300 * time.Millisecond, 1, 300 * time.Millisecond, remote.ErrCut}} {
		var times atomic.Int32
		e := open(t, func(w http.ResponseWriter, _ *http.Request) {
			if times.Add(1) == 1 {
				if tt.before > 0 {
					w.Header().Set("Content-Type", "audio/pcm")
					_, _ = w.Write(tone(tt.before, Rate).AppendBytes(nil))
					w.(http.Flusher).Flush()
				}
				panic(http.ErrAbortHandler)
			}
			w.Header().Set("Content-Type", "audio/pcm")
			_, _ = w.Write(tone(400*time.Millisecond, Rate).AppendBytes(nil))
		}, func(e *Engine) { e.Server.Limits.Redials = 1 })
		var bill budget.Bill
		all, _, err := hear(budget.WithBill(t.Context(), &bill), e, "Hello.")
		if !errors.Is(err, tt.want) || times.Load() != tt.asked || len(bill.Detours()) != int(tt.asked)-1 {
			t.Errorf("dead after %v: %v, asked %d times, %+v", tt.before, err, times.Load(), bill.Detours())
		}
		if off := tt.heard - all.Duration(Rate); off < 0 || off > 110*time.Millisecond { // what does not fill a part is not handed on
			t.Errorf("dead after %v: %v were heard of %v", tt.before, all.Duration(Rate), tt.heard)
		}
	}
}

// Who is interrupted, or has heard enough, ends the stream at once.
func TestSpeakStops(t *testing.T) {
	gone := make(chan struct{}, 2)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write(tone(time.Second, Rate).AppendBytes(nil))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	why := errors.New("a barge-in")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	for _, err := range e.Speak(ctx, "Hello.", tts.Options{}) {
		if end(why); err != nil && !errors.Is(err, why) {
			t.Error(err)
		}
	}
	<-gone
	for range e.Speak(t.Context(), "Hello.", tts.Options{}) {
		break
	}
	<-gone
}
