package rest

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"riposte/audio"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
)

// brain is a model that answers with pieces, each after a time, and notes what it was asked.
type brain struct {
	pieces []llm.Piece
	every  time.Duration
	fail   error // After the pieces.
	asked  llm.Request
	ended  error // Why it stopped before its end.
}

func (b *brain) Generate(ctx context.Context, r llm.Request) iter.Seq2[llm.Piece, error] {
	b.asked = r
	return func(yield func(llm.Piece, error) bool) {
		for _, p := range b.pieces {
			select {
			case <-time.After(b.every):
			case <-ctx.Done():
				b.ended = context.Cause(ctx)
				yield(llm.Piece{}, b.ended)
				return
			}
			if !yield(p, nil) {
				b.ended = context.Canceled
				return
			}
		}
		if b.fail != nil {
			yield(llm.Piece{}, b.fail)
		}
	}
}

func (b *brain) Read(context.Context, llm.Request) (llm.Reading, error) { return llm.Reading{}, nil }

// answering is a brain that says words and ends.
func answering(finish llm.Finish, words ...string) *brain {
	b := &brain{}
	for _, w := range words {
		b.pieces = append(b.pieces, llm.Piece{Text: w})
	}
	b.pieces = append(b.pieces, llm.Piece{Usage: &llm.Usage{Prompt: 10, Cached: 4, Output: len(words), Finish: finish}})
	return b
}

// ear is a recogniser that writes down segments, each after a time.
type ear struct {
	segments []stt.Segment
	every    time.Duration
	fail     error
	asked    stt.Recording
	heard    int // Samples.
}

func (e *ear) Listen(stt.Options) stt.Stream { panic("recordings are not listened to") }

func (e *ear) Scribe(ctx context.Context, speech audio.PCM, o stt.Recording) iter.Seq2[stt.Segment, error] {
	e.asked, e.heard = o, len(speech)
	return func(yield func(stt.Segment, error) bool) {
		for _, s := range e.segments {
			select {
			case <-time.After(e.every):
			case <-ctx.Done():
				yield(stt.Segment{}, context.Cause(ctx))
				return
			}
			if !yield(s, nil) {
				return
			}
		}
		if e.fail != nil {
			yield(stt.Segment{}, e.fail)
		}
	}
}

// mouth is a voice that makes parts of a tone, each after a time.
type mouth struct {
	parts int
	every time.Duration
	fail  error
	asked tts.Options
	text  string
}

func (*mouth) Rate() int { return 24000 }

func (m *mouth) Speak(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	m.asked, m.text = o, text
	return func(yield func(audio.PCM, error) bool) {
		for range m.parts {
			select {
			case <-time.After(m.every):
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			}
			part := make(audio.PCM, 4800)
			for i := range part {
				part[i] = int16(i % 100 * 100)
			}
			if !yield(part, nil) {
				return
			}
		}
		if m.fail != nil {
			yield(nil, m.fail)
		}
	}
}

// server returns one with these engines.
func server(e Engines) *Server {
	return &Server{
		Enter:   func(http.ResponseWriter, *http.Request) (string, bool) { return "", true },
		Admit:   func() (func(), error) { return func() {}, nil },
		Engines: func(string) Engines { return e },
		Default: Route{Sampling: llm.Sampling{Temperature: 0.3, TopP: 0.9}, Language: "en", Speed: 1},
		Routes:  map[string]Route{"sales": {Instructions: "You sell coffee.", Sampling: llm.Sampling{Temperature: 0.7}, Speed: 1.5}},
		Models:  Models{LLM: "small", STT: "whisper", TTS: "joe", Aliases: []string{"whisper-1", "tts-1"}},
		Voices:  []string{"joe", "alloy"}, Language: func(_, code string) bool { return code == "en" },
		Created: time.Unix(1000, 0), Version: "test",
	}
}

// ask sends a request and returns the answer.
func ask(t testing.TB, s *Server, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequest(method, path, r))
	return w
}

// object reads an answer as JSON.
func object(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var o map[string]any
	if err := json.Unmarshal(b, &o); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return o
}

// at walks into JSON by keys and indices.
func at(t testing.TB, v any, path ...any) any {
	t.Helper()
	for i, step := range path {
		switch s := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				t.Fatalf("at %v there is %v", path[:i], v)
			}
			v = m[s]
		case int:
			l, ok := v.([]any)
			if !ok || s >= len(l) {
				t.Fatalf("at %v there is %v", path[:i], v)
			}
			v = l[s]
		}
	}
	return v
}

// events reads a stream: the names of events, where they have any, and their data.
func events(t testing.TB, body string) (names []string, data []string) {
	t.Helper()
	for _, block := range strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		name := ""
		for line := range strings.Lines(block + "\n") {
			line = strings.TrimSuffix(line, "\n")
			if n, ok := strings.CutPrefix(line, "event: "); ok {
				name = n
			} else if d, ok := strings.CutPrefix(line, "data: "); ok {
				names, data = append(names, name), append(data, d)
			} else {
				t.Errorf("a line of a stream is %q", line)
			}
		}
	}
	return names, data
}

// refused checks that an answer is an error in OpenAI's form.
func refused(t testing.TB, w *httptest.ResponseRecorder, status int, code, param string) {
	t.Helper()
	o := object(t, w.Body.Bytes())
	got, _ := at(t, o, "error", "param").(string)
	message, _ := at(t, o, "error", "message").(string)
	if w.Code != status || at(t, o, "error", "code") != code || got != param || message == "" || at(t, o, "error", "type") == "" {
		t.Errorf("%d %s, want %d %s %s", w.Code, w.Body, status, code, param)
	}
}
