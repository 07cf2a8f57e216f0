package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"riposte/budget"
	"riposte/llm"
	"riposte/remote"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-very-secret-key"

// open returns an engine of a server that answers chat completions so. Every log goes to t, and must not hold the key.
func open(t *testing.T, answer http.HandlerFunc, change func(*Engine)) *Engine {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", answer)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return at(t, server.URL, change)
}

// at returns an engine for an address.
func at(t *testing.T, url string, change func(*Engine)) *Engine {
	t.Helper()
	address, err := remote.Parse(url + "/v1#tiny")
	if err != nil {
		t.Fatal(err)
	}
	logged := &quietly{t: t}
	e := &Engine{Server: &remote.Server{
		Address: address, Stage: budget.LLM, Key: key, Log: slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Limits: remote.Limits{Idle: 300 * time.Millisecond, Rest: time.Hour},
	}}
	if change != nil {
		change(e)
	}
	if err := e.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// quietly is a log without secrets in it.
type quietly struct {
	t  *testing.T
	mu sync.Mutex
}

func (q *quietly) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if strings.Contains(string(b), key) {
		q.t.Errorf("the log has the key: %s", b)
	}
	return len(b), nil
}

// events answers with the data of events, each flushed.
func events(w http.ResponseWriter, data ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, d := range data {
		fmt.Fprintf(w, "data: %s\n\n", d)
		w.(http.Flusher).Flush()
	}
}

// says returns a chunk with words.
func says(text string) string {
	b, _ := json.Marshal(text)
	return `{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":` + string(b) + `},"finish_reason":null}]}`
}

// stops returns a chunk with a reason for the end, and usage what follows it.
func stops(why string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + why + `"}]}`
}

const usage = `{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":8}}}`

var hello = llm.Request{Messages: []llm.Message{{Role: llm.System, Text: "Be short."}, {Role: llm.User, Text: "Hello?"}}, MaxTokens: 20, Sampling: llm.Sampling{Temperature: 0.3}}

// said is what came of an answer.
type said struct {
	text  string
	calls []llm.ToolCall
	usage *llm.Usage
	err   error
}

func ask(ctx context.Context, e *Engine, r llm.Request) (s said) {
	for p, err := range e.Generate(ctx, r) {
		s.text += p.Text
		s.err = err
		if p.Call != nil {
			s.calls = append(s.calls, *p.Call)
		}
		s.usage = cmp.Or(p.Usage, s.usage)
	}
	return s
}

func TestGenerate(t *testing.T) {
	var got struct {
		Model    string
		Stream   bool
		Messages []struct{ Role, Content string }
		Max      int      `json:"max_tokens"`
		Heat     float64  `json:"temperature"`
		Penalty  *float64 `json:"repeat_penalty"`
		TopK     int      `json:"top_k"`
		Options  any      `json:"stream_options"`
	}
	var header http.Header
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		events(w, `{"choices":[{"index":0,"delta":{"role":"assistant","content":null}}]}`, says("Hello"), says(" thére."), stops("stop"), usage, "[DONE]")
	}, func(e *Engine) {
		e.Extra = map[string]any{"top_k": 40, "stream_options": nil}
		e.Server.Headers = http.Header{"X-Team": {"a"}}
	})
	s := ask(t.Context(), e, hello)
	if s.err != nil || s.text != "Hello thére." {
		t.Fatalf("%q, %v", s.text, s.err)
	}
	if want := (llm.Usage{Prompt: 12, Cached: 8, Output: 3, Finish: llm.FinishStop}); s.usage == nil || *s.usage != want {
		t.Errorf("usage %+v, want %+v", s.usage, want)
	}
	if got.Model != "tiny" || !got.Stream || len(got.Messages) != 2 || got.Messages[1].Content != "Hello?" || got.Max != 20 || got.Heat != 0.3 || got.Penalty != nil || got.TopK != 40 || got.Options != nil {
		t.Errorf("it was asked %+v", got)
	}
	if header.Get("Authorization") != "Bearer "+key || header.Get("X-Team") != "a" || header.Get("X-Stainless-Os") != "" {
		t.Errorf("the headers were %v", header)
	}
	if st := e.Server.Status(); st.Done != 1 || st.Failed != 0 || st.State != remote.Closed {
		t.Errorf("the server's status is %+v", st)
	}
}

// Calls come in parts, in every way that servers are known to send them.
func TestGenerateCalls(t *testing.T) {
	part := func(index int, id, name, arguments string) string {
		b, _ := json.Marshal(arguments)
		return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}}]}`, index, id, name, b)
	}
	for _, tt := range []struct {
		name string
		data []string
		want string
	}{
		{"in parts", []string{part(0, "a", "light", ""), part(0, "", "", `{"on":`), part(0, "", "", `true}`), part(1, "b", "door", "{}"), stops("tool_calls")}, `light{"on":true} door{}`},
		{"whole, and not counted", []string{part(0, "a", "light", `{"on":true}`), part(0, "b", "light", `{"on":false}`), stops("tool_calls")}, `light{"on":true} light{"on":false}`},
		{"with another reason, without arguments", []string{says("Well."), part(0, "a", "door", ""), stops("stop")}, `Well. door{}`},
		{"cut", []string{says("Well."), part(0, "a", "light", `{"on`), stops("length")}, `Well.`},
		{"no JSON", []string{part(0, "a", "light", `on`), stops("tool_calls")}, "garbage"},
		{"a name without end", []string{part(0, "a", strings.Repeat("l", mostName+1), "{}"), stops("tool_calls")}, "garbage"},
		{"no object", []string{part(0, "a", "light", `[1]`), stops("tool_calls")}, "garbage"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := open(t, func(w http.ResponseWriter, _ *http.Request) { events(w, append(tt.data, "[DONE]")...) }, nil)
			s := ask(t.Context(), e, hello)
			got := s.text
			for _, c := range s.calls {
				got += " " + c.Name + string(c.Arguments)
				if !strings.HasPrefix(c.ID, "call_") {
					t.Errorf("the ID %q is the server's", c.ID)
				}
			}
			if errors.Is(s.err, remote.ErrGarbage) {
				got = "garbage"
			} else if s.err != nil {
				t.Error(s.err)
			}
			if strings.TrimSpace(got) != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if len(s.calls) > 0 && s.usage.Finish != llm.FinishTools {
				t.Errorf("it ended with %s", s.usage.Finish)
			}
		})
	}
}

func TestBodyTools(t *testing.T) {
	e := &Engine{Server: &remote.Server{}}
	e.Server.Address, _ = remote.Parse("http://h/v1#m")
	r := llm.Request{
		Messages: []llm.Message{
			{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "call_1", Name: "light", Arguments: json.RawMessage(`{"on":true}`)}}},
			{Role: llm.ToolRole, Call: "call_1", Text: "done"},
		},
		Tools:  []llm.Tool{{Name: "light", Description: "Switches it.", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Choice: "light", Format: llm.Format{Schema: json.RawMessage(`{"type":"object"}`)},
	}
	p, err := e.body(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"tool_calls":[{"id":"call_1","function":{"arguments":"{\"on\":true}","name":"light"},"type":"function"}]`, `"tool_call_id":"call_1"`,
		`"parameters":{"type":"object"}`, `"tool_choice":{"function":{"name":"light"},"type":"function"}`, `"json_schema":{"name":"answer","schema":{"type":"object"}}`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
	r.Format = llm.Format{Grammar: "root ::= \"a\""}
	if _, err := e.body(r); !errors.Is(err, llm.ErrFormat) {
		t.Errorf("a grammar: %v", err)
	}
}

// What a server thinks is not said.
func TestThoughts(t *testing.T) {
	for _, tt := range []struct {
		parts []string
		want  string
	}{
		{[]string{"<think>", "Hm.", "</think>", "\n\nYes."}, "Yes."},
		{[]string{"\n<th", "ink>Hm</th", "ink>Yes", "."}, "Yes."},
		{[]string{"<", "b>Yes"}, "<b>Yes"},
		{[]string{"Yes", " <think>no"}, "Yes <think>no"},
		{[]string{"<thi"}, "<thi"},
		{[]string{"<think>for", " ever"}, ""},
	} {
		var th thoughts
		got := ""
		for _, p := range tt.parts {
			got += th.leave(p)
		}
		if got += th.rest(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.parts, got, tt.want)
		}
	}
}

// A server does what it should not. The error says what, without the key; nothing hangs, and nothing grows without end.
func TestFaults(t *testing.T) {
	forever := func(w http.ResponseWriter, r *http.Request, data string, pause time.Duration) {
		for r.Context().Err() == nil {
			events(w, data)
			time.Sleep(pause)
		}
	}
	for _, tt := range []struct {
		name   string
		answer http.HandlerFunc
		want   error
		text   string // What is said before that.
	}{
		{"garbage", func(w http.ResponseWriter, _ *http.Request) { events(w, "<html>"+key) }, remote.ErrGarbage, ""},
		{"garbage in the middle", func(w http.ResponseWriter, _ *http.Request) { events(w, says("Well."), `{"choices":[`) }, remote.ErrGarbage, "Well."},
		{"an error in the stream", func(w http.ResponseWriter, _ *http.Request) {
			events(w, says("Well."), `{"error":{"message":"`+key+` is broke"}}`)
		}, remote.ErrCut, "Well."},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { events(w) }, remote.ErrCut, ""},
		{"no end", func(w http.ResponseWriter, _ *http.Request) { events(w, says("Well.")) }, remote.ErrCut, "Well."},
		{"a death", func(w http.ResponseWriter, _ *http.Request) { events(w, says("Well.")); panic(http.ErrAbortHandler) }, remote.ErrCut, "Well."},
		{"another type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "hello")
		}, remote.ErrGarbage, ""},
		{"a huge event", func(w http.ResponseWriter, r *http.Request) {
			events(w)
			for block := "data: " + strings.Repeat("x", 1<<20); r.Context().Err() == nil; {
				if _, err := io.WriteString(w, block); err != nil {
					return
				}
			}
		}, remote.ErrBig, ""},
		{"endless comments", func(w http.ResponseWriter, r *http.Request) {
			events(w)
			for r.Context().Err() == nil {
				fmt.Fprint(w, ": still here\n\n")
			}
		}, nil, ""},
		{"signs of life", func(w http.ResponseWriter, r *http.Request) {
			events(w, says("Well."))
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, ": still here\n\n")
				w.(http.Flusher).Flush()
				time.Sleep(20 * time.Millisecond)
			}
		}, remote.ErrStalled, "Well."},
		{"a hang", func(w http.ResponseWriter, r *http.Request) { events(w, says("Well.")); <-r.Context().Done() }, remote.ErrStalled, "Well."},
		{"nothing at all", func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() }, remote.ErrLate, ""},
		{"a drip before the first word", func(w http.ResponseWriter, r *http.Request) { forever(w, r, says(""), 20*time.Millisecond) }, remote.ErrLate, ""},
		{"another address", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/"+key, http.StatusTemporaryRedirect)
		}, &remote.Refused{Status: 307}, ""},
		{"a wrong key", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s"}}`, key)
		}, &remote.Refused{Status: 401}, ""},
		{"no such model", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":"model 'tiny' not found"}`, http.StatusNotFound)
		}, &remote.Refused{Status: 404}, ""},
		{"too long", func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"This model's maximum context length is 2048 tokens"}}`, http.StatusBadRequest)
		}, llm.ErrTooLong, ""},
		{"too much", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3")
			http.Error(w, "{}", http.StatusTooManyRequests)
		}, llm.ErrBusy, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := open(t, tt.answer, func(e *Engine) { e.First, e.Server.Limits.Bytes = 2*time.Second, 4<<20 })
			s := ask(t.Context(), e, hello)
			if s.err == nil || s.text != tt.text || strings.Contains(s.err.Error(), key) || s.usage != nil {
				t.Fatalf("%q, %v", s.text, s.err)
			}
			if r, ok := tt.want.(*remote.Refused); ok {
				if got, ok := errors.AsType[*remote.Refused](s.err); !ok || got.Status != r.Status {
					t.Errorf("%v, want a refusal with %d", s.err, r.Status)
				}
			} else if tt.want != nil && !errors.Is(s.err, tt.want) {
				t.Errorf("%v, want %v", s.err, tt.want)
			}
		})
	}
}

// A stream without end is cut where the answer may be that long.
func TestEndless(t *testing.T) {
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			events(w, says("word "))
		}
	}, nil)
	s := ask(t.Context(), e, hello)
	if s.err != nil || s.usage.Finish != llm.FinishLength || len(s.text) != 2*hello.MaxTokens*len("word ") {
		t.Errorf("%d bytes, %+v, %v", len(s.text), s.usage, s.err)
	}
}

// Who is interrupted, or has heard enough, ends the stream at once.
func TestCancel(t *testing.T) {
	gone := make(chan struct{}, 2)
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		events(w, says("Well."))
		<-r.Context().Done()
		gone <- struct{}{}
	}, func(e *Engine) { e.Server.Limits.Idle = time.Minute })
	why := errors.New("a barge-in")
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	for p, err := range e.Generate(ctx, hello) {
		if p.Text != "" {
			end(why)
		} else if !errors.Is(err, why) {
			t.Errorf("it ended with %v", err)
		}
	}
	<-gone
	for range e.Generate(t.Context(), hello) {
		break
	}
	<-gone
	if st := e.Server.Status(); st.State != remote.Closed || st.Failed != 0 {
		t.Errorf("that was held against the server: %+v", st)
	}
}

// A server that dies before it has said anything is asked again, and the turn's bill says so; one that says no is not.
func TestRedial(t *testing.T) {
	var asked atomic.Int32
	e := open(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			panic(http.ErrAbortHandler)
		}
		events(w, says("Yes."), stops("stop"), "[DONE]")
	}, nil)
	var bill budget.Bill
	s := ask(budget.WithBill(t.Context(), &bill), e, hello)
	if s.err != nil || s.text != "Yes." || asked.Load() != 2 {
		t.Fatalf("%q, %v, asked %d times", s.text, s.err, asked.Load())
	}
	if d := bill.Detours(); len(d) != 1 || d[0].Act != "" || d[0].Stage != budget.LLM {
		t.Errorf("the bill has %+v", d)
	}
	asked.Store(0)
	e = open(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); http.Error(w, "no", http.StatusForbidden) }, nil)
	if s := ask(t.Context(), e, hello); s.err == nil || asked.Load() != 1 {
		t.Errorf("%v, asked %d times", s.err, asked.Load())
	}
}

// A server that fails three times is left alone: the fourth answer fails at once. What is wrong with a request says nothing of the server.
func TestRests(t *testing.T) {
	status := http.StatusBadRequest
	var asked atomic.Int32
	e := open(t, func(w http.ResponseWriter, _ *http.Request) { asked.Add(1); http.Error(w, "no", status) }, func(e *Engine) { e.Server.Limits.Redials = -1 })
	for range 5 {
		ask(t.Context(), e, hello)
	}
	if e.Server.Status().State != remote.Closed {
		t.Error("five requests that it does not understand opened the breaker")
	}
	status = http.StatusInternalServerError
	for range 3 {
		ask(t.Context(), e, hello)
	}
	asked.Store(0)
	if s := ask(t.Context(), e, hello); !errors.Is(s.err, remote.ErrResting) || asked.Load() != 0 {
		t.Errorf("%v, asked %d times", s.err, asked.Load())
	}
	if st := e.Server.Status(); st.State != remote.Open || st.Refused != 1 {
		t.Errorf("its status is %+v", st)
	}
}

func TestUnreachable(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	plain.Close()
	for name, url := range map[string]string{"nobody": plain.URL} {
		if s := ask(t.Context(), at(t, url, nil), hello); !errors.Is(s.err, remote.ErrUnreachable) {
			t.Errorf("%s: %v", name, s.err)
		}
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { events(w, says("Yes."), stops("stop"), "[DONE]") }))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	defer secure.Close()
	s := ask(t.Context(), at(t, secure.URL, nil), hello)
	if !errors.Is(s.err, remote.ErrUnreachable) || !strings.Contains(s.err.Error(), "certificate") {
		t.Errorf("a certificate of nobody: %v", s.err)
	}
	trusting := at(t, secure.URL, func(e *Engine) {
		e.Server.Roots = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	})
	if s := ask(t.Context(), trusting, hello); s.err != nil || s.text != "Yes." {
		t.Errorf("a certificate that is known: %q, %v", s.text, s.err)
	}
}

func TestRead(t *testing.T) {
	var got map[string]any
	e := open(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&got)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"index":0,"message":{"role":"assistant","content":"Y"},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":4}}}`)
	}, func(e *Engine) { e.ReadAhead = true })
	r, err := e.Read(t.Context(), hello)
	if err != nil || r != (llm.Reading{Prompt: 9, Cached: 4}) || got["max_tokens"] != 1.0 || got["stream"] != nil {
		t.Errorf("%+v, %v, asked %v", r, err, got)
	}
	e.ReadAhead, got = false, nil
	if r, err := e.Read(t.Context(), hello); err != nil || r != (llm.Reading{}) || got != nil {
		t.Errorf("%+v, %v, asked %v", r, err, got)
	}
}
