package main

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/alecthomas/kong"

	"riposte/budget/trace"
	"riposte/budget/trace/export"
	"riposte/budget/trace/otel"
	"riposte/budget/trace/store"
)

// traceExportCmd writes turns for other programs.
type traceExportCmd struct {
	Format string `required:"" enum:"otlp,csv,perfetto" help:"otlp (OpenTelemetry spans as OTLP JSON, a line for each batch), csv, or perfetto (Chrome trace events, for ui.perfetto.dev)."`
	NoText bool   `help:"Leave out what was said and answered."`
	exporting
}

// Run writes.
func (c *traceExportCmd) Run(ctx context.Context, k *kong.Context) error {
	return c.export(ctx, k, c.write)
}

func (c *traceExportCmd) write(ctx context.Context, out io.Writer, s *store.Store, f store.Filter) error {
	switch c.Format {
	case "csv":
		return export.CSV(out, c.wordless(s.Each(ctx, f)))
	case "perfetto":
		return export.Perfetto(out, c.wordless(s.Each(ctx, f)))
	}
	sink := func() *otel.Sink { return &otel.Sink{Text: !c.NoText, Version: version, Provider: provider} }
	return export.OTLP(ctx, out, sink, conversations(ctx, s, f))
}

// wordless takes the words out of turns, where that is wanted.
func (c *traceExportCmd) wordless(turns iter.Seq2[trace.Turn, error]) iter.Seq2[trace.Turn, error] {
	if !c.NoText {
		return turns
	}
	return func(yield func(trace.Turn, error) bool) {
		for t, err := range turns {
			t.Said, t.Answer, t.Words = "", "", nil
			for i := range t.Events {
				t.Events[i].Detail = "" // of a guess it is what was understood
			}
			if !yield(t, err) {
				return
			}
		}
	}
}

// conversations goes through the calls of the turns that f takes, the newest first, with these turns.
func conversations(ctx context.Context, s *store.Store, f store.Filter) iter.Seq2[export.Conversation, error] {
	const page = 200
	return func(yield func(export.Conversation, error) bool) {
		for next, first := store.Cursor(0), true; first || next != 0; first = false {
			calls, err := s.CallsOf(ctx, f, next, page)
			if err != nil {
				yield(export.Conversation{}, err)
				return
			}
			for _, call := range calls.Calls {
				c := export.Conversation{Call: call.Call}
				of := f
				of.Call = call.ID
				for t, err := range s.Each(ctx, of) {
					if err != nil {
						yield(c, fmt.Errorf("call %s: %w", call.ID, err))
						return
					}
					if t.Call == call.ID { // the filter takes calls whose IDs begin like this one's as well
						c.Turns = append(c.Turns, t)
					}
				}
				if len(c.Turns) > 0 && !yield(c, nil) {
					return
				}
			}
			next = calls.Next
		}
	}
}
