package remote

import (
	"encoding/json"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
)

// How likely tokens were, and that one call is enough, goes both ways.
func TestTokens(t *testing.T) {
	var asked map[string]any
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hé"},"logprobs":{"content":[{"token":"H","logprob":-0.5,"bytes":null,"top_logprobs":[{"token":"H","logprob":-0.5,"bytes":[72]}]},{"token":"?","logprob":-1,"bytes":[195,169],"top_logprobs":[]}]}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}, nil)
	r := hello
	r.Sampling.LogProbs, r.Sampling.Top, r.OneCall, r.Tools = true, 1, true, []llm.Tool{{Name: "f"}}
	var got []llm.Token
	for p, err := range e.Generate(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Tokens...)
	}
	want := []llm.Token{{Text: "H", LogProb: -0.5, Top: []llm.Token{{Text: "H", LogProb: -0.5}}}, {Text: "é", LogProb: -1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if asked["logprobs"] != true || asked["top_logprobs"] != 1. || asked["parallel_tool_calls"] != false {
		t.Errorf("asked %v", asked)
	}
}

// A server may say of its tokens what it likes: there are none, or as many as can be added up.
func TestUsage(t *testing.T) {
	e := open(t, func(w http.ResponseWriter, _ *http.Request) {
		events(w, says("Hi."), stops("stop"), `{"choices":[],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":-5,"total_tokens":3}}`)
	}, nil)
	if s := ask(t.Context(), e, hello); s.err != nil || s.usage == nil || s.usage.Prompt != math.MaxInt32 || s.usage.Output != 0 {
		t.Errorf("%+v, %v", s.usage, s.err)
	}
}
