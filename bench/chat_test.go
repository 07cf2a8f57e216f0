package bench

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"riposte/llm"
)

// steady answers each question after the same time.
type steady time.Duration

func (s steady) Generate(context.Context, llm.Request) iter.Seq2[llm.Piece, error] {
	return func(yield func(llm.Piece, error) bool) {
		time.Sleep(time.Duration(s))
		_ = yield(llm.Piece{Text: "Yes."}, nil) && yield(llm.Piece{Usage: &llm.Usage{}}, nil)
	}
}

func (steady) Read(context.Context, llm.Request) (llm.Reading, error) { return llm.Reading{}, nil }

// What the endpoint takes beyond the model is found, whatever the model takes; what fails is counted and in no figure.
func TestChat(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		if asked++; asked == 30 { // behind what warms up
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer key" || !strings.Contains(string(b), `"max_tokens":8`) {
			t.Errorf("asked %s %s", r.URL, b)
		}
		time.Sleep(30 * time.Millisecond)
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"Yes.\"}}]}\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	r, err := Chat{Model: steady(10 * time.Millisecond), Request: llm.Request{MaxTokens: 8}, URL: s.URL, Key: "key", Pairs: 40}.Run(t.Context())
	if err != nil || r.Failed != 1 || r.Pairs != 40 || r.Engine.P50 < 10 || r.REST.P50 < 30 || r.Over.P50 < 5 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := (Chat{Model: steady(0), URL: "http://127.0.0.1:1", Pairs: 1}).Run(t.Context()); err == nil {
		t.Error("it measures where there is no service")
	}
}
