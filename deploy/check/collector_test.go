package check

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/otel"
)

// collector starts a collector's receiver, which hands on to next, and returns where it listens.
func collector(t *testing.T, next consumer.Traces, grpc, http string) {
	t.Helper()
	f := otlpreceiver.NewFactory()
	config := f.CreateDefaultConfig()
	err := confmap.NewFromStringMap(map[string]any{"protocols": map[string]any{
		"grpc": map[string]any{"endpoint": grpc}, "http": map[string]any{"endpoint": http},
	}}).Unmarshal(config)
	if err != nil {
		t.Fatal(err)
	}
	var r receiver.Traces
	if r, err = f.CreateTraces(t.Context(), receivertest.NewNopSettings(f.Type()), config, next); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// free returns an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// open opens a sink that logs to nobody.
func open(t *testing.T, s *otel.Sink) *otel.Sink {
	t.Helper()
	s.Version, s.Log = "v1", slog.New(slog.DiscardHandler)
	s.Provider = func(budget.Stage, string) string { return "llama.cpp" }
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// tell tells a sink of a conversation of two turns, the second of which fails, and closes the sink.
func tell(t *testing.T, s *otel.Sink) trace.Call {
	t.Helper()
	c := trace.Call{
		ID: "call_1", Route: "default", Wire: "websocket", Began: speechEnd.Add(-4 * time.Second),
		Parent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
	}
	s.CallBegan(c)
	s.TurnEnded(turn(c.ID, "resp_1", 20*msec, 250*msec, 300*msec, 100*msec))
	s.TurnEnded(failed(c.ID, "resp_2"))
	c.Ended, c.Reason, c.Turns = speechEnd.Add(9*time.Second), "hung_up", 2
	s.CallEnded(c)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	return c
}

// received are a collector's spans, by name and place.
func received(sink *consumertest.TracesSink) (spans map[string]ptrace.Span, about pcommon.Map) {
	spans = map[string]ptrace.Span{}
	for _, td := range sink.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			about = rs.Resource().Attributes()
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					id := span.SpanID()
					spans[hex.EncodeToString(id[:])] = span
				}
			}
		}
	}
	return spans, about
}

func at(spans map[string]ptrace.Span, call, turn string, s budget.Stage) (ptrace.Span, bool) {
	id := trace.SpanID(call, turn, s)
	span, ok := spans[hex.EncodeToString(id[:])]
	return span, ok
}

// A real collector's receiver takes the spans, over each of its protocols: the tree, the times, the names and the attributes arrive.
func TestCollector(t *testing.T) {
	for _, p := range []otel.Protocol{otel.GRPC, otel.HTTP, otel.HTTPJSON} {
		t.Run(string(p), func(t *testing.T) {
			var sink consumertest.TracesSink
			grpc, http := free(t), free(t)
			collector(t, &sink, grpc, http)
			endpoint := "http://" + http
			if p == otel.GRPC {
				endpoint = "http://" + grpc
			}
			s := open(t, &otel.Sink{Endpoint: endpoint, Protocol: p})
			c := tell(t, s)
			if lost := s.Lost(); lost != (otel.Lost{}) {
				t.Errorf("lost %+v", lost)
			}
			spans, about := received(&sink)
			if len(spans) != 10 {
				t.Errorf("%d spans arrived, want 10", len(spans))
			}
			if v, _ := about.Get("service.name"); v.AsString() != "riposte" {
				t.Errorf("they are of %v", about.AsRaw())
			}
			checkTree(t, spans, c)
			checkAttributes(t, spans)
		})
	}
}

// checkTree checks where the spans stand and how long they last.
func checkTree(t *testing.T, spans map[string]ptrace.Span, c trace.Call) {
	t.Helper()
	for _, tt := range []struct {
		turn     string
		stage    budget.Stage
		name     string
		from, to time.Duration
		failed   bool
	}{
		{"", "", "conversation", -4 * time.Second, 9 * time.Second, false},
		{"resp_1", "", "turn", 0, 2670 * msec, false},
		{"resp_1", budget.Mic, "mic", 0, 20 * msec, false},
		{"resp_1", budget.STT, "speech_to_text whisper-tiny", 20 * msec, 270 * msec, false},
		{"resp_1", budget.LLM, "chat smollm2", 270 * msec, 570 * msec, false},
		{"resp_1", budget.TTS, "text_to_speech joe", 570 * msec, 670 * msec, false},
		{"resp_2", "", "turn", 0, 3 * time.Second, true},
		{"resp_2", budget.Mic, "mic", 0, 20 * msec, false},
		{"resp_2", budget.STT, "speech_to_text whisper-tiny", 20 * msec, 270 * msec, false},
		{"resp_2", budget.LLM, "chat smollm2", 270 * msec, 3 * time.Second, true},
	} {
		span, ok := at(spans, c.ID, tt.turn, tt.stage)
		if !ok {
			t.Errorf("%s of %q did not arrive", tt.name, tt.turn)
			continue
		}
		if span.Name() != tt.name {
			t.Errorf("%s is called %q", tt.name, span.Name())
		}
		if span.TraceID() != pcommon.TraceID(c.TraceID()) || span.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" {
			t.Errorf("%s is in the trace %v", tt.name, span.TraceID())
		}
		from, to := span.StartTimestamp().AsTime().Sub(speechEnd), span.EndTimestamp().AsTime().Sub(speechEnd)
		if from != tt.from || to != tt.to {
			t.Errorf("%s of %s lasts from %v to %v, want %v to %v", tt.name, tt.turn, from, to, tt.from, tt.to)
		}
		if got := span.Status().Code() == ptrace.StatusCodeError; got != tt.failed {
			t.Errorf("%s of %s failed: %v", tt.name, tt.turn, got)
		}
		parent := pcommon.SpanID{0x00, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}
		if tt.stage != "" {
			parent = trace.SpanID(c.ID, tt.turn, "")
		} else if tt.turn != "" {
			parent = trace.SpanID(c.ID, "", "")
		}
		if span.ParentSpanID() != parent {
			t.Errorf("%s of %s is below %v, want %v", tt.name, tt.turn, span.ParentSpanID(), parent)
		}
	}
}

// checkAttributes checks what the spans say.
func checkAttributes(t *testing.T, spans map[string]ptrace.Span) {
	t.Helper()
	want := func(turn string, stage budget.Stage, attributes map[string]any) {
		span, ok := at(spans, "call_1", turn, stage)
		if !ok {
			t.Fatalf("the span of %q in %q did not arrive", stage, turn)
		}
		raw := span.Attributes().AsRaw()
		for k, v := range attributes {
			if fmt.Sprint(raw[k]) != fmt.Sprint(v) {
				t.Errorf("%s: %s is %v, want %v", span.Name(), k, raw[k], v)
			}
		}
	}
	want("", "", map[string]any{"gen_ai.conversation.id": "call_1", "riposte.route": "default", "riposte.wire": "websocket", "riposte.turns": 2, "riposte.reason": "hung_up"})
	want("resp_1", "", map[string]any{
		"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "riposte", "gen_ai.agent.invocation.end_reason": "completed",
		"gen_ai.response.id": "resp_1", "riposte.turn.verdict": "met", "riposte.turn.gap_ms": 670, "riposte.turn.budget_ms": 890,
		"riposte.guesses.tries": 2, "riposte.guesses.stood": true,
	})
	want("resp_1", budget.STT, map[string]any{
		"gen_ai.operation.name": "speech_to_text", "gen_ai.request.model": "whisper-tiny", "riposte.stage": "stt",
		"riposte.executor.runs": 4, "riposte.executor.waited_ms": 3, "riposte.executor.ran_ms": 200,
	})
	want("resp_1", budget.LLM, map[string]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "llama.cpp", "gen_ai.request.model": "smollm2", "gen_ai.usage.input_tokens": 120,
		"gen_ai.usage.cache_read.input_tokens": 100, "gen_ai.usage.output_tokens": 20, "gen_ai.response.time_to_first_chunk": 0.15,
		"gen_ai.conversation.id": "call_1", "riposte.stage.share_ms": 400,
	})
	want("resp_1", budget.TTS, map[string]any{"gen_ai.operation.name": "text_to_speech", "gen_ai.output.type": "speech"})
	want("resp_2", "", map[string]any{"error.type": "llm_timeout", "riposte.turn.status": "failed"})
	events := map[string]time.Duration{}
	span, _ := at(spans, "call_1", "resp_1", "")
	for _, e := range span.Events().All() {
		events[e.Name()] = e.Timestamp().AsTime().Sub(speechEnd)
		if _, said := e.Attributes().Get("riposte.detail"); said {
			t.Errorf("the event %s has a detail, which may be what somebody said", e.Name())
		}
	}
	for name, when := range map[string]time.Duration{"barge_in": 1500 * msec, "first_token": 420 * msec, "first_audible": 670 * msec, "speech_end": 0} {
		if got, ok := events[name]; !ok || got != when {
			t.Errorf("%s was at %v, want %v", name, got, when)
		}
	}
	for _, span := range spans {
		if text := fmt.Sprint(span.Attributes().AsRaw()); strings.Contains(text, "worth") || strings.Contains(text, "Nothing") {
			t.Errorf("%s holds what was said: %s", span.Name(), text)
		}
	}
}

// Nothing but the environment needs to name a collector, and it says more than that.
func TestCollectorOfEnvironment(t *testing.T) {
	for protocol, port := range map[string]int{"grpc": 0, "http/protobuf": 1} {
		t.Run(protocol, func(t *testing.T) {
			var sink consumertest.TracesSink
			addresses := []string{free(t), free(t)}
			collector(t, &sink, addresses[0], addresses[1])
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+addresses[port])
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			t.Setenv("OTEL_SERVICE_NAME", "front desk")
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			if !otel.Wanted("") {
				t.Fatal("no spans are wanted")
			}
			tell(t, open(t, &otel.Sink{}))
			spans, about := received(&sink)
			raw := about.AsRaw()
			if len(spans) != 10 || raw["service.name"] != "front desk" || raw["deployment.environment.name"] != "test" || raw["service.version"] != "v1" {
				t.Errorf("%d spans arrived, of %v", len(spans), raw)
			}
		})
	}
}

// A sampler of the environment decides over whole conversations.
func TestSampler(t *testing.T) {
	var sink consumertest.TracesSink
	grpc := free(t)
	collector(t, &sink, grpc, free(t))
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	tell(t, open(t, &otel.Sink{Endpoint: "http://" + grpc}))
	if n := sink.SpanCount(); n != 0 {
		t.Errorf("%d spans arrived", n)
	}
}

// Where there is no collector nobody waits, and what is lost is counted; once there is one, spans arrive.
func TestCollectorComesLate(t *testing.T) {
	grpc, http := free(t), free(t)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	s := open(t, &otel.Sink{Endpoint: "http://" + http, Protocol: otel.HTTP})
	began := time.Now()
	s.TurnEnded(turn("call_0", "resp_0", 20*msec, 250*msec, 300*msec, 100*msec))
	if took := time.Since(began); took > 500*msec {
		t.Errorf("a turn took %v", took)
	}
	for deadline := time.Now().Add(10 * time.Second); s.Lost().Failed == 0; time.Sleep(10 * msec) {
		if time.Now().After(deadline) {
			t.Fatal("nobody noticed that there is no collector")
		}
	}
	var sink consumertest.TracesSink
	collector(t, &sink, grpc, http)
	tell(t, s)
	if spans, _ := received(&sink); len(spans) != 10 || s.Lost().Failed != 5 {
		t.Errorf("%d spans arrived, lost %+v", len(spans), s.Lost())
	}
}

// refusing is behind a collector that can take nothing.
type refusing struct{ consumertest.Consumer }

func (refusing) ConsumeTraces(context.Context, ptrace.Traces) error {
	return consumererror.NewPermanent(errors.New("there is no place"))
}

// What a collector refuses is counted as lost.
func TestCollectorRefuses(t *testing.T) {
	for _, p := range []otel.Protocol{otel.GRPC, otel.HTTP} {
		grpc, http := free(t), free(t)
		collector(t, refusing{consumertest.NewNop()}, grpc, http)
		endpoint := map[otel.Protocol]string{otel.GRPC: grpc, otel.HTTP: http}[p]
		s := open(t, &otel.Sink{Endpoint: "http://" + endpoint, Protocol: p})
		tell(t, s)
		if lost := s.Lost(); lost.Failed != 10 {
			t.Errorf("%s: lost %+v", p, lost)
		}
	}
}
