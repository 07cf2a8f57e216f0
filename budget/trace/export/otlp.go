package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"riposte/budget/trace"
	"riposte/budget/trace/otel"
)

// Conversation is a call and those of its turns that are wanted.
type Conversation struct {
	Call  trace.Call
	Turns []trace.Turn
}

// atOnce is how many turns are made into spans together: their five spans each have to fit into the queue of the sink.
const atOnce = 200

// OTLP writes conversations as OpenTelemetry spans in OTLP's JSON, a line for each batch, as collectors' file receivers read it. sink
// says how spans are made: only its fields count that do not say where they go. It ends with the first error.
func OTLP(ctx context.Context, out io.Writer, sink func() *otel.Sink, conversations iter.Seq2[Conversation, error]) error {
	w := &lines{out: out}
	var batch []Conversation
	n := 0
	flush := func() error {
		err := w.spans(ctx, sink(), batch)
		batch, n = nil, 0
		return err
	}
	for c, err := range conversations {
		if err != nil {
			return err
		}
		if c.Call.Ended.IsZero() { // it goes on, or nobody saw its end: it reaches to the last that is known
			c.Call.Ended = c.Call.Began
			for _, t := range c.Turns {
				if end := t.Report.SpeechEnd.Add(max(t.Report.Total, t.Report.Marks["done"])); end.After(c.Call.Ended) {
					c.Call.Ended = end
				}
			}
		}
		for part := range slices.Chunk(c.Turns, atOnce) {
			if n+len(part) > atOnce {
				if err := flush(); err != nil {
					return err
				}
			}
			batch, n = append(batch, Conversation{c.Call, part}), n+len(part)
		}
	}
	if len(batch) == 0 {
		return nil
	}
	return flush()
}

// lines writes spans as they come out of a sink.
type lines struct {
	out io.Writer

	mu   sync.Mutex
	told map[string]bool // Conversations whose span is written already: one that is long comes in parts.
	err  error
}

// spans makes the spans of some conversations and writes them.
func (l *lines) spans(ctx context.Context, s *otel.Sink, batch []Conversation) error {
	s.Exporter = l
	if err := s.Open(ctx); err != nil {
		return err
	}
	for _, c := range batch {
		s.CallBegan(c.Call)
		for _, t := range c.Turns {
			s.TurnEnded(t)
		}
		s.CallEnded(c.Call)
	}
	err := s.Close(ctx)
	if lost := s.Lost(); err == nil && l.err == nil && lost != (otel.Lost{}) {
		err = fmt.Errorf("%d spans were lost: OTEL_BSP_MAX_QUEUE_SIZE is too small", lost.Full+lost.Failed)
	}
	return errors.Join(l.err, err)
}

// ExportSpans writes a line.
func (l *lines) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.told == nil {
		l.told = map[string]bool{}
	}
	var made []otlpSpan
	for _, s := range spans {
		o := otlpSpanOf(s)
		if s.Name() == "conversation" {
			if l.told[o.SpanID] {
				continue
			}
			l.told[o.SpanID] = true
		}
		made = append(made, o)
	}
	if len(made) == 0 {
		return nil
	}
	about := otlpAttributes(spans[0].Resource().Attributes())
	line := otlpLine{ResourceSpans: []otlpResource{{
		Resource:   map[string][]otlpAttribute{"attributes": about},
		ScopeSpans: []otlpScope{{Scope: spans[0].InstrumentationScope(), Spans: made}},
	}}}
	if err := json.NewEncoder(l.out).Encode(line); err != nil {
		l.err = fmt.Errorf("writing spans: %w", err)
	}
	return l.err
}

// Shutdown does nothing: whoever gave the writer closes it.
func (l *lines) Shutdown(context.Context) error { return nil }

// What follows is OTLP's JSON: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding. IDs are hexadecimal, numbers of 64 bits are strings.
type otlpLine struct {
	ResourceSpans []otlpResource `json:"resourceSpans"`
}

type otlpResource struct {
	Resource   map[string][]otlpAttribute `json:"resource"`
	ScopeSpans []otlpScope                `json:"scopeSpans"`
}

type otlpScope struct {
	Scope instrumentation.Scope
	Spans []otlpSpan
}

// MarshalJSON leaves out what a scope has beside its name and version.
func (s otlpScope) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"scope": map[string]string{"name": s.Scope.Name, "version": s.Scope.Version}, "spans": s.Spans})
}

type otlpSpan struct {
	TraceID      string          `json:"traceId"`
	SpanID       string          `json:"spanId"`
	ParentSpanID string          `json:"parentSpanId,omitempty"`
	Name         string          `json:"name"`
	Kind         int             `json:"kind"`
	Start        string          `json:"startTimeUnixNano"`
	End          string          `json:"endTimeUnixNano"`
	Attributes   []otlpAttribute `json:"attributes,omitempty"`
	Events       []otlpEvent     `json:"events,omitempty"`
	Status       *otlpStatus     `json:"status,omitempty"`
}

type otlpEvent struct {
	Time       string          `json:"timeUnixNano"`
	Name       string          `json:"name"`
	Attributes []otlpAttribute `json:"attributes,omitempty"`
}

type otlpStatus struct {
	Code    int    `json:"code"` // 1 is fine, 2 an error.
	Message string `json:"message,omitempty"`
}

type otlpAttribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

func otlpSpanOf(s sdk.ReadOnlySpan) otlpSpan {
	o := otlpSpan{
		TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
		Start: nanos(s.StartTime().UnixNano()), End: nanos(s.EndTime().UnixNano()), Attributes: otlpAttributes(s.Attributes()),
	}
	if s.Parent().HasSpanID() {
		o.ParentSpanID = s.Parent().SpanID().String()
	}
	for _, e := range s.Events() {
		o.Events = append(o.Events, otlpEvent{nanos(e.Time.UnixNano()), e.Name, otlpAttributes(e.Attributes)})
	}
	switch s.Status().Code {
	case codes.Error:
		o.Status = &otlpStatus{2, s.Status().Description}
	case codes.Ok:
		o.Status = &otlpStatus{Code: 1}
	}
	return o
}

func nanos(n int64) string { return strconv.FormatInt(n, 10) }

func otlpAttributes(list []attribute.KeyValue) []otlpAttribute {
	out := make([]otlpAttribute, 0, len(list))
	for _, kv := range list {
		out = append(out, otlpAttribute{string(kv.Key), otlpValue(kv.Value)})
	}
	return out
}

// otlpValue returns a value with its kind.
func otlpValue(v attribute.Value) map[string]any {
	switch v.Type() {
	case attribute.BOOL:
		return map[string]any{"boolValue": v.AsBool()}
	case attribute.INT64:
		return map[string]any{"intValue": nanos(v.AsInt64())}
	case attribute.FLOAT64:
		return map[string]any{"doubleValue": v.AsFloat64()}
	case attribute.STRINGSLICE:
		values := []map[string]any{}
		for _, s := range v.AsStringSlice() {
			values = append(values, map[string]any{"stringValue": s})
		}
		return map[string]any{"arrayValue": map[string]any{"values": values}}
	}
	return map[string]any{"stringValue": v.String()}
}
