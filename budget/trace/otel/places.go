package otel

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"riposte/budget/trace"
)

// places gives spans the IDs that package trace has for them, by which remote engines may know them already.
type places struct{}

var _ sdk.IDGenerator = places{}

// placeKey is what a context holds the IDs of the next span by.
type placeKey struct{}

type place struct {
	trace otel.TraceID
	span  otel.SpanID
}

// at returns a context in which the next span has these IDs.
func at(ctx context.Context, trace otel.TraceID, span otel.SpanID) context.Context {
	return context.WithValue(ctx, placeKey{}, place{trace, span})
}

// NewIDs returns the IDs of a span that begins a trace.
func (places) NewIDs(ctx context.Context) (otel.TraceID, otel.SpanID) {
	p := ctx.Value(placeKey{}).(place)
	return p.trace, p.span
}

// NewSpanID returns the ID of any other span.
func (places) NewSpanID(ctx context.Context, _ otel.TraceID) otel.SpanID {
	return ctx.Value(placeKey{}).(place).span
}

// remote returns the span of the caller's side that a call is part of.
func remote(c trace.Call) (otel.SpanContext, bool) {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{"traceparent": c.Parent})
	sc := otel.SpanContextFromContext(ctx)
	return sc, sc.IsValid()
}
