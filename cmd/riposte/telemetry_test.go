package main

import (
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/transport"
	"riposte/web"
)

// told is a sink that keeps what it is told.
type told struct {
	began, ended []trace.Call
	turns        []trace.Turn
}

func (t *told) CallBegan(c trace.Call) { t.began = append(t.began, c) }
func (t *told) CallEnded(c trace.Call) { t.ended = append(t.ended, c) }
func (t *told) TurnEnded(u trace.Turn) { t.turns = append(t.turns, u) }

// line is a call that only has a name.
type line struct{ transport.Call }

func (line) ID() string { return "call_1" }

// telling returns a service with telemetry, without engines, and a function that gets one of its pages.
func telling(t *testing.T, args ...string) (*service, func(path string) string) {
	t.Helper()
	s := newService(testSettings(t, args...), slog.New(slog.DiscardHandler))
	flush, err := s.openTelemetry(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(flush)
	pages := s.telling(web.Routes(&s.status, http.NotFoundHandler()))
	return s, func(path string) string {
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Body.String()
	}
}

// Sinks are told of a call and its turns, with what the session does not know of them.
func TestCallsAreTold(t *testing.T) {
	s, get := telling(t)
	var sink told
	s.traces = append(s.traces, &sink)
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	ctx, r := s.begin(trace.WithParent(t.Context(), parent), line{}, "sales", s.settings)
	r.TurnEnded(trace.Turn{ID: "resp_1", Status: "completed"})
	r.TurnEnded(trace.Turn{ID: "resp_2", Status: "completed"})
	r.end(transport.ErrSilent)

	if got := trace.Traceparent(ctx, budget.LLM); got != parent {
		t.Errorf("without spans of our own, remote engines are told %q, want what the caller's side sent", got)
	}
	if len(sink.began) != 1 || sink.began[0].Parent != parent || sink.began[0].ID != "call_1" {
		t.Errorf("began: %+v", sink.began)
	}
	if len(sink.turns) != 2 || sink.turns[0].Call != "call_1" || sink.turns[0].Route != "sales" || sink.turns[0].Version != version {
		t.Errorf("turns: %+v", sink.turns)
	}
	if len(sink.ended) != 1 || sink.ended[0].Turns != 2 || sink.ended[0].Reason != "silent" || sink.ended[0].Ended.Before(sink.ended[0].Began) {
		t.Errorf("ended: %+v", sink.ended)
	}
	if _, err := s.admitCounted(); err == nil {
		t.Fatal("a call was taken while loading")
	}
	page := get("/metrics")
	for _, want := range []string{
		`riposte_calls_begun_total{route="sales",wire="websocket"} 1`,
		`riposte_calls_ended_total{reason="silent",route="sales"} 1`,
		`riposte_calls_refused_total{reason="loading"} 1`,
		`riposte_turns_total{blame="",route="sales",verdict="none"} 2`,
		"riposte_calls 0", "riposte_calls_limit 8", "riposte_executor_queue_seconds 0", "riposte_turn_budget_seconds 0.89",
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

// Where spans are sent, remote engines are told ours, and what is lost is in the metrics.
func TestSpansAreSent(t *testing.T) {
	s, get := telling(t, "--telemetry-otlp=http://127.0.0.1:1", "--telemetry-protocol=http", "--budget-llm=500ms")
	ctx, r := s.begin(t.Context(), line{}, defaultRoute, s.settings)
	defer r.end(nil)
	tp := trace.Traceparent(trace.InTurn(ctx, "resp_1"), budget.LLM)
	if id := r.call.TraceID(); len(tp) != 55 || tp[3:35] != hex.EncodeToString(id[:]) {
		t.Errorf("remote engines are told %q", tp)
	}
	page := get("/metrics")
	for _, want := range []string{`riposte_trace_drops_total{reason="not_taken",sink="otlp"} 0`, "riposte_turn_budget_seconds 0.99"} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}

func TestNoMetrics(t *testing.T) {
	_, get := telling(t, "--no-telemetry-metrics")
	if page := get("/metrics"); !strings.Contains(page, "not found") {
		t.Errorf("/metrics answers %.100q", page)
	}
	if page := get("/healthz"); !strings.Contains(page, "alive") {
		t.Errorf("/healthz answers %.100q", page)
	}
}

func TestBadCollector(t *testing.T) {
	s := newService(testSettings(t, "--telemetry-otlp=localhost:4317"), slog.New(slog.DiscardHandler))
	if _, err := s.openTelemetry(t.Context()); err == nil || !strings.Contains(err.Error(), "no address") {
		t.Errorf("got %v", err)
	}
}

// The running service answers Prometheus: it knows what its cores do, and counts the turns of real calls.
func TestMetricsOfService(t *testing.T) {
	url := sharedService(t)
	if _, err := call(t, url).Say(t.Context(), brief(t)); err != nil {
		t.Fatal(err)
	}
	get := func() string {
		r, err := http.Get("http" + strings.TrimPrefix(url, "ws") + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// A turn is told when its last sound has been played, which is after the caller has all of it.
	var page string
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(page, "riposte_turn_gap_seconds_count{"); page = get() {
		if time.Now().After(deadline) {
			t.Fatalf("the turn is not counted:\n%s", page)
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, want := range []string{
		`riposte_executor_jobs_total{class="awaited",outcome="done"} `, `riposte_turns_total{blame="",route="default",verdict="met"} `,
		`riposte_stage_duration_seconds_count{model="whisper-tiny.en-q8_0",route="default",stage="stt"} `, `riposte_model_tokens_total{kind="written",model=`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
