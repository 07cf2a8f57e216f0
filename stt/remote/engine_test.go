package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"riposte/audio"
	"riposte/budget"
	"riposte/remote"
	"riposte/stt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// asked is an upload as the server got it.
type asked struct {
	model, language, prompt, format string
	sound                           time.Duration
}

// open returns an engine of a server that answers so.
func open(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, a asked), change func(*Engine)) *Engine {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		pcm, rate, err := audio.Decode(file, head.Filename)
		if err != nil || rate != audio.SpeechRate {
			t.Error(rate, err)
		}
		answer(w, r, asked{r.FormValue("model"), r.FormValue("language"), r.FormValue("prompt"), r.FormValue("response_format"), pcm.Duration(rate)})
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	a, err := remote.Parse(server.URL + "/v1#whisper")
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Server: &remote.Server{Address: a, Stage: budget.STT, Limits: remote.Limits{Redials: -1, Bytes: 1 << 16}}, First: 400 * time.Millisecond}
	if change != nil {
		change(e)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// text answers with a transcript.
func text(w http.ResponseWriter, words string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"text": words})
}

// voiced and quiet are sound in which somebody speaks, or nobody.
func voiced(length time.Duration) audio.PCM {
	p := make(audio.PCM, audio.Samples(length, audio.SpeechRate))
	for i := range p {
		p[i] = int16(8000 * math.Sin(float64(i)/5))
	}
	return p
}

func quiet(length time.Duration) audio.PCM {
	return make(audio.PCM, audio.Samples(length, audio.SpeechRate))
}

func TestTranscribe(t *testing.T) {
	var got asked
	e := open(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
		got = a
		text(w, " [BLANK_AUDIO] Should I get (coughs) a dog? \n")
	}, nil)
	tr, err := stt.Transcribe(t.Context(), e, voiced(time.Second), stt.Options{Language: "en", Prompt: "dog"})
	if err != nil || tr.Text != "Should I get a dog?" || tr.Speech != time.Second || tr.Language != "en" || tr.Closed != 0 {
		t.Errorf("%+v, %v", tr, err)
	}
	if want := (asked{"whisper", "en", "dog", "json", time.Second}); got != want {
		t.Errorf("it was asked %+v, want %+v", got, want)
	}
	if !e.Knows("de") || e.Knows("") {
		t.Error("it does not know what it knows")
	}
}

// The silence that may end a turn has all of it sent, once; what is said after that has it sent again. On the way there are as many hypotheses
// as are wanted.
func TestStream(t *testing.T) {
	var uploads atomic.Int32
	e := open(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
		n := uploads.Add(1)
		text(w, fmt.Sprintf("one two three%.*s", min(int(n-1), 1)*5, " four"))
	}, func(e *Engine) { e.Every = time.Second })
	var mu sync.Mutex
	var heard []stt.Hypothesis
	hypotheses := func() int { mu.Lock(); defer mu.Unlock(); return len(heard) }
	s := e.Listen(stt.Options{Heard: func(h stt.Hypothesis) { mu.Lock(); heard = append(heard, h); mu.Unlock() }})
	defer s.Close()
	for range 10 {
		s.Write(voiced(100 * time.Millisecond))
	}
	until(t, func() bool { return hypotheses() == 1 })
	s.Write(voiced(300 * time.Millisecond))
	s.Write(quiet(20 * time.Millisecond))
	s.Hasten(budget.Urgency{})
	s.Hasten(budget.Urgency{}) // what is under way is not begun again
	s.Write(quiet(200 * time.Millisecond))
	tr, err := s.Finish(t.Context(), budget.Urgency{})
	if err != nil || tr.Text != "one two three four" || uploads.Load() != 2 {
		t.Errorf("%+v, %v after %d uploads", tr, err, uploads.Load())
	}
	until(t, func() bool { return hypotheses() == 2 })
	if h := heard[1]; h.Text[:h.Stable] != "one two" && h.Text[:h.Stable] != "one two three" || h.Speech != 1320*time.Millisecond {
		t.Errorf("the second hypothesis is %+v", h)
	}
	if tr, err := s.Finish(t.Context(), budget.Urgency{}); err != nil || tr.Text != "one two three four" || uploads.Load() != 2 {
		t.Errorf("finished again: %+v, %v after %d uploads", tr, err, uploads.Load())
	}
	s.Write(voiced(100 * time.Millisecond))
	if tr, err := s.Finish(t.Context(), budget.Urgency{}); err != nil || tr.Speech != 1620*time.Millisecond || uploads.Load() != 3 {
		t.Errorf("finished after more: %+v, %v after %d uploads", tr, err, uploads.Load())
	}
}

// A hypothesis that failed, or that was made without the end, is no transcript.
func TestFinishAgain(t *testing.T) {
	var uploads atomic.Int32
	e := open(t, func(w http.ResponseWriter, _ *http.Request, _ asked) {
		if uploads.Add(1) == 1 {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		text(w, "yes")
	}, nil)
	s := e.Listen(stt.Options{Heard: func(stt.Hypothesis) {}})
	defer s.Close()
	s.Write(voiced(time.Second))
	s.Hasten(budget.Urgency{})
	if tr, err := s.Finish(t.Context(), budget.Urgency{}); err != nil || tr.Text != "yes" || uploads.Load() != 2 {
		t.Errorf("%+v, %v after %d uploads", tr, err, uploads.Load())
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(w http.ResponseWriter, r *http.Request)
		want   error
	}{
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		}, remote.ErrGarbage},
		{"no text", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"error":"oh"}`)
		}, remote.ErrGarbage},
		{"no JSON", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"text":`)
		}, nil},
		{"too much", func(w http.ResponseWriter, _ *http.Request) { text(w, string(bytes.Repeat([]byte("word "), 1<<16))) }, remote.ErrBig},
		{"more than can be said", func(w http.ResponseWriter, _ *http.Request) { text(w, string(bytes.Repeat([]byte("word "), 400))) }, remote.ErrBig},
		{"a death", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"text":"he`)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, remote.ErrCut},
		{"no answer", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, remote.ErrLate},
		{"a drip", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				w.(http.Flusher).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, remote.ErrLate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, func(w http.ResponseWriter, r *http.Request, _ asked) { tt.answer(w, r) }, nil)
			tr, err := stt.Transcribe(t.Context(), e, voiced(time.Second), stt.Options{})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || tr.Text != "" {
				t.Errorf("%q, %v, want %v", tr.Text, err, tt.want)
			}
		})
	}
}

// A server that dies while it answers is asked again, with all that was said, and the turn's bill says so. So is one that was there for the turn
// before and has closed the connection since.
func TestRedial(t *testing.T) {
	var times atomic.Int32
	e := open(t, func(w http.ResponseWriter, _ *http.Request, a asked) {
		if times.Add(1) == 2 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Connection", "close")
		text(w, fmt.Sprint("heard ", a.sound))
	}, func(e *Engine) { e.Server.Limits.Redials = 1 })
	for turn, detours := range []int{0, 1, 0} {
		var bill budget.Bill
		tr, err := stt.Transcribe(budget.WithBill(t.Context(), &bill), e, voiced(time.Second), stt.Options{})
		if err != nil || tr.Text != "heard 1s" {
			t.Fatalf("turn %d: %q, %v", turn, tr.Text, err)
		}
		if d := bill.Detours(); len(d) != detours || detours > 0 && d[0].Stage != budget.STT {
			t.Errorf("turn %d: the bill has %+v", turn, d)
		}
	}
	if times.Load() != 4 {
		t.Errorf("asked %d times", times.Load())
	}
}

// Who is interrupted does not wait, and nothing is delivered of a stream that is closed.
func TestStops(t *testing.T) {
	e := open(t, func(_ http.ResponseWriter, r *http.Request, _ asked) { <-r.Context().Done() }, func(e *Engine) { e.First = time.Minute })
	s := e.Listen(stt.Options{Heard: func(stt.Hypothesis) { t.Error("something was delivered") }})
	s.Write(voiced(time.Second))
	s.Hasten(budget.Urgency{})
	why := errors.New("a barge-in")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	time.AfterFunc(50*time.Millisecond, func() { end(why) })
	if _, err := s.Finish(ctx, budget.Urgency{}); !errors.Is(err, why) {
		t.Errorf("it ended with %v", err)
	}
	s.Close()
	if st := e.Server.Status(); st.Failed != 0 || st.State != remote.Closed {
		t.Errorf("that was held against the server: %+v", st)
	}
}

// until waits for something, generously.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain")
		}
	}
}
