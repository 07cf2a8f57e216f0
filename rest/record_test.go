package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
)

// noted sends a request and returns the answer with what was noted of it.
func noted(t *testing.T, s *Server, r *http.Request) (*httptest.ResponseRecorder, trace.Request) {
	t.Helper()
	var all []trace.Request
	s.Ended = func(r trace.Request) { all = append(all, r) }
	w := httptest.NewRecorder()
	func() {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
		}()
		s.Handler().ServeHTTP(w, r)
	}()
	if len(all) != 1 {
		t.Fatalf("%d requests were noted", len(all))
	}
	if all[0].ID == "" || w.Header().Get("X-Request-Id") != all[0].ID {
		t.Errorf("its client knows it as %q, we as %q", w.Header().Get("X-Request-Id"), all[0].ID)
	}
	return w, all[0]
}

// posted is a request.
func posted(path, body string) *http.Request {
	return httptest.NewRequest("POST", path, strings.NewReader(body))
}

// What a request took, and for what, is noted to the millisecond.
func TestNoted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := answering(llm.FinishStop, "Hel", "lo.")
		slow.every = 100 * time.Millisecond
		began := time.Now()
		for _, tt := range []struct {
			name string
			e    Engines
			path string
			body string
			want trace.Request
		}{
			{"a chat", Engines{LLM: slow}, chats, chatBody(""), trace.Request{
				Endpoint: chats, Stage: budget.LLM, Model: "small", First: 100 * time.Millisecond, Tokens: trace.Tokens{Input: 10, Cached: 4, Output: 2}, Ended: began.Add(300 * time.Millisecond),
			}},
			{"a response by a route, streamed", Engines{LLM: slow}, "/v1/responses", `{"model":"sales","input":"Hi.","stream":true}`, trace.Request{
				Endpoint: "/v1/responses", Stage: budget.LLM, Route: "sales", Model: "sales", First: 100 * time.Millisecond, Tokens: trace.Tokens{Input: 10, Cached: 4, Output: 2}, Ended: began.Add(300 * time.Millisecond),
			}},
			{"speech", Engines{TTS: &mouth{parts: 2, every: 50 * time.Millisecond}}, speech, `{"model":"tts-1","input":"x","response_format":"pcm"}`, trace.Request{
				Endpoint: speech, Stage: budget.TTS, Model: "tts-1", First: 50 * time.Millisecond, Sound: 400 * time.Millisecond, Ended: began.Add(100 * time.Millisecond),
			}},
			{"speech that breaks off", Engines{TTS: &mouth{parts: 1, fail: errors.New("broken")}}, speech, `{"model":"joe","input":"x","response_format":"pcm"}`, trace.Request{
				Endpoint: speech, Stage: budget.TTS, Model: "joe", Sound: 200 * time.Millisecond, Status: 500, Code: "internal_error", Ended: began,
			}},
			{"a model that there is not", Engines{}, chats, `{"model":"gpt-9","messages":[{"role":"user","content":"Hi."}]}`, trace.Request{
				Endpoint: chats, Stage: budget.LLM, Status: 404, Code: "model_not_found", Ended: began,
			}},
			{"an address that there is not", Engines{}, "/v1/nothing", "", trace.Request{Endpoint: "other", Status: 404, Code: "unknown_url", Ended: began}},
		} {
			start := time.Now()
			_, got := noted(t, server(tt.e), posted(tt.path, tt.body))
			want := tt.want
			want.ID, want.Version, want.Began, want.Ended = got.ID, "test", start, want.Ended.Add(start.Sub(began))
			if want.Status == 0 {
				want.Status = 200
			}
			if want.Route == "" {
				want.Route = "default"
			}
			if got != want {
				t.Errorf("%s was noted as\n%+v, want\n%+v", tt.name, got, want)
			}
		}
	})
}

// A client that leaves is no failure of ours; the service's end is none of a client's.
func TestNotedLeft(t *testing.T) {
	for _, tt := range []struct {
		cause  error
		status int
		code   string
	}{{nil, trace.Left, "client_left"}, {errors.New("shutting down"), 503, "shutting_down"}} {
		ctx, leave := context.WithCancelCause(t.Context())
		leave(tt.cause)
		s := server(Engines{TTS: &mouth{parts: 1, every: time.Hour}})
		_, got := noted(t, s, posted(speech, `{"model":"joe","input":"x"}`).WithContext(ctx))
		if got.Status != tt.status || got.Code != tt.code {
			t.Errorf("%v was noted as %d %s", tt.cause, got.Status, got.Code)
		}
	}
}

// Who is not let in is counted.
func TestNotedAtTheDoor(t *testing.T) {
	s := server(Engines{})
	s.Enter = func(w http.ResponseWriter, _ *http.Request) (string, bool) {
		w.WriteHeader(http.StatusUnauthorized)
		return "", false
	}
	if w, got := noted(t, s, posted(chats, chatBody(""))); w.Code != 401 || got.Status != 401 || got.Code != "not_let_in" {
		t.Errorf("%d, noted as %+v", w.Code, got)
	}
}

// A line of the log has what is asked of it, and one that failed says why.
func TestLogged(t *testing.T) {
	var b bytes.Buffer
	s := server(Engines{LLM: answering(llm.FinishStop, "Hi."), TTS: &mouth{fail: errors.New("broken")}})
	s.Log = slog.New(slog.NewJSONHandler(&b, nil))
	ask(t, s, "POST", chats, chatBody(""))
	ask(t, s, "POST", speech, `{"model":"joe","input":"x"}`)
	ask(t, s, "GET", "/v1/models", "")
	ask(t, s, "POST", chats, chatBody(`"n":`+strings.Repeat("9", 1<<20)))
	var lines []map[string]any
	for d := json.NewDecoder(&b); d.More(); {
		var line map[string]any
		if err := d.Decode(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if len(lines) != 3 {
		t.Fatalf("the log has %v", lines)
	}
	if err, _ := lines[2]["err"].(string); err == "" || len(err) > 2*mostMessage {
		t.Errorf("what is wrong is said in %d bytes", len(err))
	}
	if l := lines[0]; l["level"] != "INFO" || l["endpoint"] != chats || l["model"] != "small" || l["status"] != 200. || l["request"] == "" || at(t, l, "tokens", "output") != 1. {
		t.Errorf("a chat: %v", l)
	}
	if l := lines[1]; l["level"] != "ERROR" || l["status"] != 500. || l["code"] != "internal_error" || l["err"] != "broken" {
		t.Errorf("what failed: %v", l)
	}
}

// Engines elsewhere are told that what they are asked for belongs to the request's span.
func TestSpans(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, spans := range []bool{false, true} {
		var told string
		s := server(Engines{LLM: answering(llm.FinishStop, "Hi.")})
		s.Spans = spans
		s.Admit = func() (func(), error) { return func() {}, nil }
		s.Follow = func(ctx context.Context, _ http.Header) (context.Context, error) {
			told = trace.Traceparent(ctx, budget.LLM)
			return ctx, nil
		}
		r := posted(chats, chatBody(""))
		if _, got := noted(t, s, r.WithContext(trace.WithParent(r.Context(), parent))); got.Parent != parent {
			t.Errorf("its client's span is %q", got.Parent)
		}
		if !strings.HasPrefix(told, parent[:36]) || (told == parent) == spans {
			t.Errorf("with spans %v: %s", spans, told)
		}
	}
}
