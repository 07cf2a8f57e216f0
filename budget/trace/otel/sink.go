// Package otel sends calls and their turns to an OpenTelemetry collector, as spans over OTLP: a trace for each conversation, in
// it a span for each turn, in that one for each stage, with the times that were measured.
package otel

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"riposte/budget"
	"riposte/budget/trace"
)

// Sink makes spans and sends them. Its methods never wait for the collector: what that does not take is lost, and counted.
// Besides its fields, what OpenTelemetry defines in the environment holds: OTEL_EXPORTER_OTLP_*, OTEL_BSP_*,
// OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, OTEL_SERVICE_NAME and limits of spans.
type Sink struct {
	Endpoint string   // URL of the collector, such as http://localhost:4317. It defaults to what the environment says.
	Protocol Protocol // How to talk to it. It defaults to what the environment says, and that to gRPC.
	Text     bool     // Whether spans hold what was said.
	Version  string   // Of the service.
	// Provider names who runs a stage's model, for gen_ai.provider.name. It defaults to "riposte" for all.
	Provider func(s budget.Stage, model string) string
	Exporter sdk.SpanExporter // Where spans go. It defaults to OTLP.
	Log      *slog.Logger     // It defaults to slog.Default().

	provider *sdk.TracerProvider
	tracer   otel.Tracer
	delivery *delivery
	queue    *queue

	mu    sync.Mutex
	calls map[string]otel.Span // The conversations that go on.
}

var _ trace.Sink = (*Sink)(nil)

// Open makes the sink ready. It does not wait until the collector answers. The error says what is wrong with the settings.
func (s *Sink) Open(ctx context.Context) error {
	if s.Log == nil {
		s.Log = slog.Default()
	}
	if s.Provider == nil {
		s.Provider = func(budget.Stage, string) string { return "riposte" }
	}
	if s.Exporter == nil {
		var err error
		if s.Exporter, err = s.otlp(ctx); err != nil {
			return fmt.Errorf("otlp: %w", err)
		}
	}
	about, err := s.resource(ctx)
	if err != nil {
		return fmt.Errorf("otlp: what spans are of: %w", err)
	}
	s.queue = &queue{most: queueSize()}
	s.delivery = newDelivery(s.Exporter, s.queue, s.Log)
	s.queue.SpanProcessor = sdk.NewBatchSpanProcessor(s.delivery, sdk.WithMaxQueueSize(int(s.queue.most)))
	s.provider = sdk.NewTracerProvider(sdk.WithSpanProcessor(s.queue), sdk.WithIDGenerator(places{}), sdk.WithResource(about))
	s.tracer = s.provider.Tracer("riposte", otel.WithInstrumentationVersion(s.Version))
	s.calls = map[string]otel.Span{}
	return nil
}

// resource says what the spans are of. The environment goes before what we say.
func (s *Sink) resource(ctx context.Context) (*resource.Resource, error) {
	host, _ := os.Hostname() // a process without a name has its number
	return resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "riposte"), attribute.String("service.version", s.Version),
			attribute.String("service.instance.id", host+"/"+strconv.Itoa(os.Getpid())),
		),
		resource.WithTelemetrySDK(),
		resource.WithFromEnv(),
	)
}

// Lost is how many spans never arrived.
type Lost struct {
	Full   uint64 // There were too many to be sent.
	Failed uint64 // The collector did not take them, or only a part of those that were sent with them.
}

// Lost returns how many spans were lost so far.
func (s *Sink) Lost() Lost {
	return Lost{Full: s.queue.lost.Load(), Failed: s.delivery.lost.Load()}
}

// Close ends the conversations that still go on, sends what there is until ctx ends, and waits for its goroutines.
func (s *Sink) Close(ctx context.Context) error {
	s.mu.Lock()
	for _, span := range s.calls {
		span.End()
	}
	s.calls = map[string]otel.Span{}
	s.mu.Unlock()
	err := s.provider.Shutdown(ctx)
	s.delivery.abort()
	<-s.delivery.closed
	if err != nil {
		return fmt.Errorf("otlp: the last spans could not be sent: %w", err)
	}
	return nil
}

// CallBegan begins a conversation's span.
func (s *Sink) CallBegan(c trace.Call) {
	ctx := context.Background()
	if parent, ok := remote(c); ok {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	ctx = at(ctx, c.TraceID(), trace.SpanID(c.ID, "", ""))
	_, span := s.tracer.Start(ctx, "conversation", otel.WithTimestamp(c.Began), otel.WithSpanKind(otel.SpanKindServer),
		otel.WithAttributes(conversationID.String(c.ID), riposteRoute.String(c.Route), riposteWire.String(c.Wire)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[c.ID] = span
}

// CallEnded ends it. No turn of the call may come behind.
func (s *Sink) CallEnded(c trace.Call) {
	s.mu.Lock()
	span, ok := s.calls[c.ID]
	delete(s.calls, c.ID)
	s.mu.Unlock()
	if !ok {
		return
	}
	span.SetAttributes(riposteTurns.Int(c.Turns), riposteReason.String(c.Reason))
	span.End(otel.WithTimestamp(c.Ended))
}

// TurnEnded sends a turn's span and those of its stages.
func (s *Sink) TurnEnded(t trace.Turn) {
	s.mu.Lock()
	call, ok := s.calls[t.Call]
	s.mu.Unlock()
	ctx := context.Background()
	if ok {
		ctx = otel.ContextWithSpan(ctx, call)
	} else { // nobody said that the call began: the turn stands where it would
		ctx = otel.ContextWithRemoteSpanContext(ctx, otel.NewSpanContext(otel.SpanContextConfig{
			TraceID: trace.Call{ID: t.Call}.TraceID(), SpanID: trace.SpanID(t.Call, "", ""), TraceFlags: otel.FlagsSampled,
		}))
	}
	s.turn(ctx, t, time.Now())
}
