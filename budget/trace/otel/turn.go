package otel

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	otel "go.opentelemetry.io/otel/trace"

	"riposte/budget"
	"riposte/budget/trace"
)

// turn makes the spans of a turn that has ended by now. ctx holds the conversation's span.
func (s *Sink) turn(ctx context.Context, t trace.Turn, now time.Time) {
	r := t.Report
	began := r.SpeechEnd
	if began.IsZero() {
		began = now
	}
	ended := began.Add(length(t))
	own := s.start(ctx, t, "", "turn", began, s.turnAttributes(t)...)
	inTurn := otel.ContextWithSpan(ctx, own)
	failed := t.Status == "failed" || r.Verdict == budget.Failed

	from, open := began, true
	for _, stage := range budget.Stages {
		took, done := r.Stages[stage]
		if !done && (!open || !failed && t.Status != "cancelled") {
			break
		}
		until := from.Add(took)
		if !done {
			// It was at work when the turn ended. Those behind it had not begun.
			until, open = later(from, ended), false
		}
		span := s.start(inTurn, t, stage, s.stageName(t, stage), from, s.stageAttributes(t, stage, done)...)
		if failed && (stage == r.Blame || r.Blame == "" && !done) {
			fail(span, t)
		}
		span.End(otel.WithTimestamp(until))
		from = until
	}
	s.events(own, t, began)
	if failed {
		fail(own, t)
	}
	own.End(otel.WithTimestamp(ended))
}

// start begins a span of a turn, in the place that it has.
func (s *Sink) start(ctx context.Context, t trace.Turn, stage budget.Stage, name string, from time.Time, about ...attribute.KeyValue) otel.Span {
	ctx = at(ctx, otel.TraceID{}, trace.SpanID(t.Call, t.ID, stage))
	_, span := s.tracer.Start(ctx, name, otel.WithTimestamp(from))
	span.SetAttributes(about...) // as an option of Start they would be copied once more
	return span
}

// length returns how long a turn lasted: until the last thing that is known of it.
func length(t trace.Turn) time.Duration {
	last := t.Report.Total
	for _, at := range t.Report.Marks {
		last = max(last, at)
	}
	for _, a := range t.Report.Actions {
		last = max(last, a.At)
	}
	for _, e := range t.Events {
		last = max(last, e.At)
	}
	return last
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fail marks a span as the one that went wrong.
func fail(span otel.Span, t trace.Turn) {
	span.SetStatus(codes.Error, t.Reason)
	span.SetAttributes(errorType.String(cmp.Or(t.Reason, "_OTHER")))
}

// stageName names a stage's span: what is done, and by which model.
func (s *Sink) stageName(t trace.Turn, stage budget.Stage) string {
	name := cmp.Or(operations[stage], string(stage))
	if m := t.Models[stage]; m != "" && operations[stage] != "" {
		name += " " + m
	}
	return name
}

func (s *Sink) turnAttributes(t trace.Turn) []attribute.KeyValue {
	r := t.Report
	about := append(make([]attribute.KeyValue, 0, 24),
		operation.String("invoke_agent"), agent.String("riposte"), agentVersion.String(t.Version), conversationID.String(t.Call),
		responseID.String(t.ID), outputType.String("speech"),
		riposteRoute.String(t.Route), riposteNumber.Int(t.Number), riposteStatus.String(t.Status), riposteBudget.Float64(ms(r.Plan.Total())),
		riposteTries.Int(t.Guesses.Tries), riposteStood.Bool(t.Guesses.Stood), riposteWasted.Int(t.Guesses.Wasted),
	)
	switch t.Status {
	case "completed":
		about = append(about, endReason.String("completed"))
	case "cancelled":
		about = append(about, endReason.String("interrupted"))
	}
	if r.Verdict != "" {
		about = append(about, riposteVerdict.String(string(r.Verdict)))
	}
	if r.Total > 0 {
		about = append(about, riposteGap.Float64(ms(r.Total)))
	}
	if r.Blame != "" {
		about = append(about, riposteBlame.String(string(r.Blame)))
	}
	if t.Reason != "" {
		about = append(about, riposteReason.String(t.Reason))
	}
	if len(t.Tools) > 0 {
		about = append(about, riposteTools.StringSlice(t.Tools))
	}
	if len(r.Actions) > 0 {
		var names []string
		for _, a := range r.Actions {
			names = append(names, string(a.Stage)+":"+string(a.Kind))
		}
		about = append(about, riposteActions.StringSlice(names))
	}
	if s.Text {
		about = append(about, inputMessages.String(messages("user", t.Said, "")), outputMessages.String(messages("assistant", t.Answer, finish(t))))
	}
	return about
}

func (s *Sink) stageAttributes(t trace.Turn, stage budget.Stage, done bool) []attribute.KeyValue {
	r, model := t.Report, t.Models[stage]
	about := append(make([]attribute.KeyValue, 0, 20),
		riposteStage.String(string(stage)), riposteShare.Float64(ms(r.Plan.Share(stage))), riposteEnded.Bool(done), conversationID.String(t.Call),
	)
	if over := r.Stages[stage] - r.Plan.Share(stage); over > 0 {
		about = append(about, riposteOver.Float64(ms(over)))
	}
	if w, ok := t.Work[stage]; ok {
		about = append(about, riposteRuns.Int(w.Runs), riposteWaited.Float64(ms(w.Waited)), riposteRan.Float64(ms(w.Ran)))
	}
	if operations[stage] == "" {
		return about
	}
	about = append(about, operation.String(operations[stage]), providerName.String(s.Provider(stage, model)))
	if model != "" {
		about = append(about, requestModel.String(model))
	}
	switch stage {
	case budget.LLM:
		about = append(about, outputType.String("text"), requestStream.Bool(true), responseID.String(t.ID),
			inputTokens.Int(t.Tokens.Input), cachedTokens.Int(t.Tokens.Cached), outputTokens.Int(t.Tokens.Output))
		final, ok := r.Marks[budget.Final]
		if first, began := r.Marks[budget.FirstToken]; ok && began && first >= final { // else it had been asked before the text was final
			about = append(about, firstChunk.Float64((first - final).Seconds()))
		}
		if s.Text {
			about = append(about, inputMessages.String(messages("user", t.Said, "")), outputMessages.String(messages("assistant", t.Answer, finish(t))))
		}
	case budget.TTS:
		about = append(about, outputType.String("speech"))
	}
	return about
}

// events notes what happened in a turn, and its marks.
func (s *Sink) events(span otel.Span, t trace.Turn, began time.Time) {
	add := func(name string, at time.Duration, about ...attribute.KeyValue) {
		span.AddEvent(name, otel.WithTimestamp(began.Add(at)), otel.WithAttributes(about...))
	}
	// Hypotheses come first: of too many events the SDK forgets the first ones.
	if s.Text {
		for _, w := range t.Words {
			add("hypothesis", w.At, riposteText.String(w.Text), riposteStable.Int(w.Stable))
		}
	}
	for _, e := range t.Events {
		if e.Detail != "" && (s.Text || harmless[e.Kind]) {
			add(e.Kind, e.At, riposteDetail.String(e.Detail))
		} else {
			add(e.Kind, e.At)
		}
	}
	if !slices.ContainsFunc(t.Events, func(e trace.Event) bool { return e.Kind == trace.KindAction }) {
		for _, a := range t.Report.Actions {
			add(trace.KindAction, a.At, riposteDetail.String(string(a.Kind)), riposteStage.String(string(a.Stage)))
		}
	}
	byTime := func(a, b budget.Mark) int {
		return cmp.Or(cmp.Compare(t.Report.Marks[a], t.Report.Marks[b]), cmp.Compare(a, b))
	}
	for _, m := range slices.SortedFunc(maps.Keys(t.Report.Marks), byTime) {
		add(string(m), t.Report.Marks[m])
	}
}
