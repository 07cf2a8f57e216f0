package otel

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"riposte/budget"
	"riposte/budget/trace"
)

// A request is a span below its client's, and what it asked engines elsewhere is below it. What needed no engine has none.
func TestRequest(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := trace.Request{
		ID: "req_1", Endpoint: "/v1/chat/completions", Stage: budget.LLM, Route: "sales", Model: "small", Parent: parent, Began: speechEnd, Ended: speechEnd.Add(time.Second),
		Status: 200, First: 250 * msec, Tokens: trace.Tokens{Input: 100, Cached: 90, Output: 20}, Work: trace.Work{Runs: 3, Waited: 4 * msec, Ran: 150 * msec},
	}
	spans := sent(t, &Sink{}, func(s *Sink) {
		s.RequestEnded(r)
		s.RequestEnded(trace.Request{ID: "req_2", Endpoint: "/v1/audio/speech", Stage: budget.TTS, Model: "joe", Status: 502, Code: "engine_failed", Sound: 300 * msec})
		s.RequestEnded(trace.Request{ID: "req_3", Endpoint: "/v1/models", Status: 200})
	})
	chat, speech := spans["chat small"], spans["text_to_speech joe"]
	if len(spans) != 2 || chat.EndTime.Sub(chat.StartTime) != time.Second || chat.SpanContext.TraceID().String() != parent[3:35] || chat.Parent.SpanID().String() != parent[36:52] {
		t.Fatalf("%d spans, the chat's is %+v", len(spans), chat)
	}
	if below := trace.Traceparent(r.Context(t.Context()), budget.LLM); below[36:52] != chat.SpanContext.SpanID().String() || below[3:35] != parent[3:35] {
		t.Errorf("engines elsewhere are told %s, and the span is %s", below, chat.SpanContext.SpanID())
	}
	for k, want := range map[attribute.Key]any{
		httpRoute: r.Endpoint, httpStatus: int64(200), inputTokens: int64(100), cachedTokens: int64(90), outputTokens: int64(20), firstChunk: 0.25, riposteWaited: 4., riposteRoute: "sales",
	} {
		if got := value(chat, k).AsInterface(); got != want {
			t.Errorf("%s is %v, want %v", k, got, want)
		}
	}
	if speech.Status.Code != codes.Error || value(speech, errorType).AsString() != "engine_failed" || value(speech, riposteSound).AsFloat64() != 300 {
		t.Errorf("what failed: %+v", speech)
	}
}

// An answer beside a conversation is a span in it.
func TestAside(t *testing.T) {
	call := trace.Call{ID: "call_1", Began: speechEnd}
	spans := sent(t, &Sink{}, func(s *Sink) {
		s.CallBegan(call)
		s.AsideEnded(trace.Aside{ID: "resp_2", Call: call.ID, Model: "llama", Status: "failed", Began: speechEnd, Ended: speechEnd.Add(time.Second)})
		s.CallEnded(call)
		s.AsideEnded(trace.Aside{ID: "resp_3", Call: call.ID, Model: "late"})
	})
	aside := spans["chat llama"]
	if len(spans) != 2 || aside.Parent.SpanID() != spans["conversation"].SpanContext.SpanID() || aside.Status.Code != codes.Error || value(aside, responseID).AsString() != "resp_2" {
		t.Errorf("%d spans, %+v", len(spans), aside)
	}
}
