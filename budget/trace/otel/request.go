package otel

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otel "go.opentelemetry.io/otel/trace"

	"riposte/budget"
	"riposte/budget/trace"
)

// RequestEnded sends the span of a request over REST: its client's span is above it, if it has sent one, and those of engines elsewhere are
// below. What needed no engine has none.
func (s *Sink) RequestEnded(r trace.Request) {
	if r.Stage == "" {
		return
	}
	as := trace.Call{ID: r.ID, Parent: r.Parent}
	ctx := context.Background()
	if parent, ok := remote(as); ok {
		ctx = otel.ContextWithRemoteSpanContext(ctx, parent)
	}
	ctx = at(ctx, as.TraceID(), trace.SpanID(r.ID, "", ""))
	_, span := s.tracer.Start(ctx, named(r.Stage, r.Model), otel.WithTimestamp(r.Began), otel.WithSpanKind(otel.SpanKindServer))
	span.SetAttributes(append(spent(r.Stage, r.Model, r.Tokens, r.Sound),
		responseID.String(r.ID), httpMethod.String("POST"), httpRoute.String(r.Endpoint), httpStatus.Int(r.Status), riposteRoute.String(r.Route),
		riposteRuns.Int(r.Work.Runs), riposteWaited.Float64(ms(r.Work.Waited)), riposteRan.Float64(ms(r.Work.Ran)))...)
	if r.First > 0 {
		span.SetAttributes(firstChunk.Float64(r.First.Seconds()))
	}
	if r.Code != "" {
		span.SetAttributes(errorType.String(r.Code))
	}
	if r.Status >= 500 {
		span.SetStatus(codes.Error, strconv.Itoa(r.Status)+" "+r.Code)
	}
	span.End(otel.WithTimestamp(r.Ended))
}

// AsideEnded sends the span of an answer beside a conversation, in which it stands.
func (s *Sink) AsideEnded(a trace.Aside) {
	s.mu.Lock()
	call, ok := s.calls[a.Call]
	s.mu.Unlock()
	if !ok { // it has ended
		return
	}
	ctx := at(otel.ContextWithSpan(context.Background(), call), otel.TraceID{}, trace.SpanID(a.Call, a.ID, ""))
	_, span := s.tracer.Start(ctx, named(budget.LLM, a.Model), otel.WithTimestamp(a.Began))
	span.SetAttributes(append(spent(budget.LLM, a.Model, a.Tokens, a.Sound),
		providerName.String(s.Provider(budget.LLM, a.Model)), responseID.String(a.ID), conversationID.String(a.Call), riposteRoute.String(a.Route), riposteStatus.String(a.Status))...)
	if a.Status == "failed" {
		span.SetStatus(codes.Error, a.Reason)
		span.SetAttributes(errorType.String(cmp.Or(a.Reason, "_OTHER")))
	}
	span.End(otel.WithTimestamp(a.Ended))
}

// named names the span of what a model does.
func named(stage budget.Stage, model string) string {
	if model == "" {
		return operations[stage]
	}
	return operations[stage] + " " + model
}

// spent says what a model was asked for, and what that took.
func spent(stage budget.Stage, model string, t trace.Tokens, sound time.Duration) []attribute.KeyValue {
	about := []attribute.KeyValue{operation.String(operations[stage])}
	if model != "" {
		about = append(about, requestModel.String(model))
	}
	if t != (trace.Tokens{}) {
		about = append(about, inputTokens.Int(t.Input), cachedTokens.Int(t.Cached), outputTokens.Int(t.Output))
	}
	if sound > 0 {
		about = append(about, riposteSound.Float64(ms(sound)))
	}
	return about
}
