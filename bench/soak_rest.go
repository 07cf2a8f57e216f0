package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"riposte/audio"
)

// SoakREST is where requests are made beside the calls, one after the other.
type SoakREST struct {
	URL   string // Of the protocol's root, such as http://127.0.0.1:8080/v1.
	Model string // That chats are asked of.
}

const (
	// requestWait is how long a request may take: longer than an engine may hang.
	requestWait = time.Minute
	// longestRest is how long nothing may be asked, and latestCancel when a request is given up that is.
	longestRest, latestCancel = 6 * time.Second, 800 * time.Millisecond
)

// asked is a request.
type asked struct {
	kind   string
	path   string
	form   string // What the body is.
	body   []byte
	wanted int           // The status of the answer.
	cancel time.Duration // When it is given up; 0 is not.
}

// request makes requests until ctx ends.
func (s *soaking) request(ctx context.Context) {
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	rnd := rand.New(rand.NewPCG(s.Seed, 1<<32)) // no caller's number
	upload, kind, err := s.upload()
	if err != nil {
		s.fail(-1, "rest", "making a recording", time.Now(), err)
		return
	}
	for rest(ctx, upTo(rnd, longestRest)) == nil {
		q := s.REST.draw(rnd)
		if q.kind == "transcription" {
			q.body, q.form = upload, kind
		}
		s.post(ctx, client, q)
	}
}

// draw draws a request. One in four is given up.
func (r *SoakREST) draw(rnd *rand.Rand) asked {
	chat := func(stream bool) []byte {
		b, _ := json.Marshal(map[string]any{ // it never fails
			"model": r.Model, "stream": stream, "max_tokens": 40, "messages": []map[string]string{{"role": "user", "content": "What is on the list for today?"}},
		})
		return b
	}
	all := []asked{
		{kind: "chat", path: "/chat/completions", body: chat(false)},
		{kind: "chat streamed", path: "/chat/completions", body: chat(true)},
		{kind: "speech", path: "/audio/speech", body: []byte(`{"model": "tts-1", "input": "All of it was put on the list.", "response_format": "wav"}`)},
		{kind: "speech as MP3", path: "/audio/speech", body: []byte(`{"model": "tts-1", "input": "You will get a message.", "response_format": "mp3"}`)},
		{kind: "transcription", path: "/audio/transcriptions"},
		{kind: "models", path: "/models"},
		{kind: "nonsense", path: "/chat/completions", body: []byte(`{"model": `), wanted: http.StatusBadRequest},
	}
	q := all[rnd.IntN(len(all))]
	if q.form == "" {
		q.form = "application/json"
	}
	if q.wanted == 0 {
		q.wanted = http.StatusOK
	}
	if rnd.IntN(4) == 0 {
		q.cancel = upTo(rnd, latestCancel)
	}
	return q
}

// upload returns a recording that is to be written down, as a form, and what kind of form that is.
func (s *soaking) upload() (body []byte, kind string, err error) {
	dir, err := os.MkdirTemp("", "riposte-soak-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "said.wav")
	if err := audio.WriteWAV(path, s.speeches[0].Sound, s.speeches[0].Rate); err != nil {
		return nil, "", err
	}
	wav, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.WriteField("model", "whisper-1") // nothing fails in memory
	f, _ := w.CreateFormFile("file", "said.wav")
	_, _ = f.Write(wav)
	_ = w.Close()
	return b.Bytes(), w.FormDataContentType(), nil
}

// post makes a request and counts what came of it.
func (s *soaking) post(ctx context.Context, client *http.Client, q asked) {
	from := time.Now()
	limit := requestWait
	if q.cancel > 0 {
		limit = q.cancel
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	what, err := q.send(limited, client, s.REST.URL)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil && q.cancel > 0 && limited.Err() != nil:
		what = "given up"
	case err != nil:
		s.fail(-1, "rest", q.kind, from, err)
		what = "failed"
	}
	s.count(func(r *SoakResult) { r.REST[q.kind+": "+what]++ })
}

// send makes a request and says what came of it.
func (q asked) send(ctx context.Context, client *http.Client, url string) (what string, err error) {
	method := http.MethodPost
	if q.path == "/models" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(ctx, method, url+q.path, bytes.NewReader(q.body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", q.form)
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		return "refused", nil
	case err != nil:
		return "", err
	case resp.StatusCode != q.wanted:
		return "", fmt.Errorf("the service says %s: %.300s", resp.Status, strings.Join(strings.Fields(string(said)), " "))
	case len(said) == 0:
		return "", fmt.Errorf("the service says %s, and nothing else", resp.Status)
	}
	return "answered", nil
}
