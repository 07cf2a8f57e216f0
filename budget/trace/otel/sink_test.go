package otel

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"riposte/budget"
	"riposte/budget/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const msec = time.Millisecond

var speechEnd = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// answered is a turn that took 700 ms.
func answered() trace.Turn {
	clock := budget.NewTurn(speechEnd)
	for m, at := range map[budget.Mark]time.Duration{
		budget.Received: 30 * msec, budget.Decided: 280 * msec, budget.Final: 300 * msec, budget.FirstToken: 380 * msec,
		budget.FirstClause: 600 * msec, budget.FirstAudio: 690 * msec, budget.FirstAudible: 700 * msec, budget.Answered: 700 * msec, budget.Done: 2100 * msec,
	} {
		clock.Mark(m, speechEnd.Add(at))
	}
	return trace.Turn{
		ID: "resp_1", Call: "call_1", Number: 1, Route: "default", Version: "v1", Report: clock.Report(budget.DefaultPlan),
		Said: "a secret question", Answer: "a secret answer", Words: []trace.Heard{{At: -200 * msec, Text: "a secret", Stable: 1}},
		Models: map[budget.Stage]string{budget.STT: "whisper", budget.LLM: "llama", budget.TTS: "piper"},
		Tokens: trace.Tokens{Input: 100, Cached: 90, Output: 20}, Status: "completed",
		Work:    map[budget.Stage]trace.Work{budget.STT: {Runs: 3, Waited: 4 * msec, Ran: 150 * msec}},
		Guesses: trace.Guesses{Tries: 2, Stood: true, Wasted: 7},
		Events: []trace.Event{
			{At: -50 * msec, Kind: trace.KindGuess, Detail: "a secret"}, {At: 650 * msec, Kind: trace.KindFault, Detail: "the voice failed once"},
		},
	}
}

// sent opens a sink that keeps its spans, lets it be used, closes it and returns them by name.
func sent(t *testing.T, s *Sink, use func(*Sink)) map[string]tracetest.SpanStub {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	s.Exporter = keep{kept}
	if err := s.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	use(s)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if lost := s.Lost(); lost != (Lost{}) {
		t.Errorf("lost %+v", lost)
	}
	spans := map[string]tracetest.SpanStub{}
	for _, span := range kept.GetSpans() {
		if _, twice := spans[span.Name]; twice {
			t.Errorf("there are two spans %q", span.Name)
		}
		spans[span.Name] = span
	}
	return spans
}

// keep is an exporter that still has its spans after it was closed.
type keep struct{ *tracetest.InMemoryExporter }

func (keep) Shutdown(context.Context) error { return nil }

func value(s tracetest.SpanStub, k attribute.Key) attribute.Value {
	set := attribute.NewSet(s.Attributes...)
	v, _ := set.Value(k)
	return v
}

// A conversation is one trace, with the times that were measured.
func TestTree(t *testing.T) {
	call := trace.Call{ID: "call_1", Route: "default", Wire: "websocket", Began: speechEnd.Add(-3 * time.Second)}
	spans := sent(t, &Sink{}, func(s *Sink) {
		s.CallBegan(call)
		s.TurnEnded(answered())
		call.Ended, call.Reason, call.Turns = speechEnd.Add(5*time.Second), "hung_up", 1
		s.CallEnded(call)
	})
	for _, tt := range []struct {
		name, parent string
		from, to     time.Duration
		stage        budget.Stage
		turn         string
	}{
		{"conversation", "", -3 * time.Second, 5 * time.Second, "", ""},
		{"turn", "conversation", 0, 2100 * msec, "", "resp_1"},
		{"mic", "turn", 0, 30 * msec, budget.Mic, "resp_1"},
		{"speech_to_text whisper", "turn", 30 * msec, 300 * msec, budget.STT, "resp_1"},
		{"chat llama", "turn", 300 * msec, 600 * msec, budget.LLM, "resp_1"},
		{"text_to_speech piper", "turn", 600 * msec, 700 * msec, budget.TTS, "resp_1"},
	} {
		span, ok := spans[tt.name]
		if !ok {
			t.Fatalf("there is no span %q among %v", tt.name, spans)
		}
		if from, to := span.StartTime.Sub(speechEnd), span.EndTime.Sub(speechEnd); from != tt.from || to != tt.to {
			t.Errorf("%s lasts from %v to %v, want %v to %v", tt.name, from, to, tt.from, tt.to)
		}
		if span.Parent.SpanID() != spans[tt.parent].SpanContext.SpanID() {
			t.Errorf("%s is not below %q", tt.name, tt.parent)
		}
		if span.SpanContext.TraceID() != call.TraceID() || span.SpanContext.SpanID() != trace.SpanID("call_1", tt.turn, tt.stage) {
			t.Errorf("%s is %v, not where package trace has it", tt.name, span.SpanContext)
		}
		if span.Status.Code != codes.Unset {
			t.Errorf("%s has the status %v", tt.name, span.Status)
		}
		for _, a := range span.Attributes {
			if strings.Contains(a.Value.String(), "secret") {
				t.Errorf("%s says %v, and text was not asked for", tt.name, a)
			}
		}
		for _, e := range span.Events {
			for _, a := range e.Attributes {
				if strings.Contains(a.Value.String(), "secret") {
					t.Errorf("%s says %v, and text was not asked for", tt.name, a)
				}
			}
		}
	}
	llm := spans["chat llama"]
	for k, want := range map[attribute.Key]any{
		"gen_ai.operation.name": "chat", "gen_ai.provider.name": "riposte", "gen_ai.request.model": "llama",
		"gen_ai.usage.input_tokens": int64(100), "gen_ai.usage.cache_read.input_tokens": int64(90), "gen_ai.usage.output_tokens": int64(20),
		"gen_ai.response.time_to_first_chunk": 0.08, "gen_ai.conversation.id": "call_1", "riposte.stage": "llm", "riposte.stage.share_ms": 400.0,
	} {
		if got := value(llm, k).AsInterface(); got != want {
			t.Errorf("%s of the model is %v, want %v", k, got, want)
		}
	}
	if stt := spans["speech_to_text whisper"]; value(stt, riposteWaited).AsFloat64() != 4 || value(stt, riposteRuns).AsInt64() != 3 {
		t.Errorf("the recogniser's work is %v", stt.Attributes)
	}
	for _, e := range spans["turn"].Events {
		if e.Name == "first_token" && e.Time.Sub(speechEnd) == 380*msec {
			return
		}
	}
	t.Errorf("the turn's marks are not there: %v", spans["turn"].Events)
}

// What was said is in the spans where that is asked for.
func TestText(t *testing.T) {
	spans := sent(t, &Sink{Text: true}, func(s *Sink) { s.TurnEnded(answered()) })
	for _, name := range []string{"turn", "chat llama"} {
		if got, want := value(spans[name], inputMessages).AsString(), `[{"role":"user","parts":[{"type":"text","content":"a secret question"}]}]`; got != want {
			t.Errorf("%s: the input is %s, want %s", name, got, want)
		}
		if got, want := value(spans[name], outputMessages).AsString(), `[{"role":"assistant","parts":[{"type":"text","content":"a secret answer"}],"finish_reason":"stop"}]`; got != want {
			t.Errorf("%s: the output is %s, want %s", name, got, want)
		}
	}
	if e := spans["turn"].Events[0]; e.Name != "hypothesis" || !e.Time.Equal(speechEnd.Add(-200*msec)) {
		t.Errorf("the first event is %v", e)
	}
}

// A turn that failed says so, at the stage that was at work.
func TestFailed(t *testing.T) {
	clock := budget.NewTurn(speechEnd)
	clock.Mark(budget.Received, speechEnd.Add(20*msec))
	clock.Mark(budget.Final, speechEnd.Add(200*msec))
	turn := answered()
	turn.Report, turn.Status, turn.Reason = clock.Report(budget.DefaultPlan), "failed", "llm_timeout"
	turn.Events = []trace.Event{{At: 900 * msec, Kind: trace.KindFault}}
	spans := sent(t, &Sink{}, func(s *Sink) { s.TurnEnded(turn) })
	for name, code := range map[string]codes.Code{"turn": codes.Error, "mic": codes.Unset, "speech_to_text whisper": codes.Unset, "chat llama": codes.Error} {
		if got := spans[name].Status.Code; got != code {
			t.Errorf("%s has the status %v, want %v", name, got, code)
		}
	}
	llm := spans["chat llama"]
	if llm.EndTime.Sub(speechEnd) != 900*msec || value(llm, errorType).AsString() != "llm_timeout" || value(llm, riposteEnded).AsBool() {
		t.Errorf("the stage at work is %+v", llm)
	}
	if _, ok := spans["text_to_speech piper"]; ok {
		t.Error("the voice has a span, and never began")
	}
}

// The trace goes on from the caller's side, also to where it is not recorded.
func TestParentOfCall(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-"
	run := func(flags string) map[string]tracetest.SpanStub {
		call := trace.Call{ID: "call_1", Parent: parent + flags, Began: speechEnd}
		return sent(t, &Sink{}, func(s *Sink) {
			s.CallBegan(call)
			s.TurnEnded(answered())
			s.CallEnded(call)
		})
	}
	recorded := run("01")
	if top := recorded["conversation"]; top.Parent.SpanID().String() != "00f067aa0ba902b7" || !top.Parent.IsRemote() {
		t.Errorf("the conversation is below %v", top.Parent)
	}
	out := trace.Traceparent(trace.InTurn(trace.InCall(t.Context(), trace.Call{ID: "call_1", Parent: parent + "01"}), "resp_1"), budget.LLM)
	sc := recorded["chat llama"].SpanContext
	if want := "00-" + sc.TraceID().String() + "-" + sc.SpanID().String() + "-01"; out != want {
		t.Errorf("a remote model is told %s, and its span is %s", out, want)
	}
	if spans := run("00"); len(spans) != 0 {
		t.Errorf("the caller's side records nothing, and %d spans were sent", len(spans))
	}
}

// hang is a collector that takes connections and never answers.
type hang struct{}

func (hang) ExportSpans(ctx context.Context, _ []sdk.ReadOnlySpan) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func (hang) Shutdown(context.Context) error { return nil }

// A collector that hangs delays nobody; what it does not take is counted, and told once.
func TestCollectorHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &Sink{Exporter: hang{}, Log: slog.New(slog.NewTextHandler(&out, nil))}
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		const turns = 2000
		for range turns {
			s.TurnEnded(answered())
		}
		if took := time.Since(began); took != 0 { // nothing slept
			t.Errorf("%d turns took %v", turns, took)
		}
		time.Sleep(10 * time.Minute)
		if lost := s.Lost(); lost.Full != 5*turns-sdk.DefaultMaxQueueSize || lost.Failed != sdk.DefaultMaxQueueSize {
			t.Errorf("lost %+v of %d spans", lost, 5*turns)
		}
		if n := strings.Count(out.String(), "\n"); n != 1 {
			t.Errorf("the log has %d lines:\n%s", n, out.String())
		}
		s.TurnEnded(answered()) // there is place again
		began = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := s.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("closing took %v", took)
		}
	})
}

// flaky is a collector that can be down.
type flaky struct {
	mu   sync.Mutex
	down bool
	got  int
}

func (f *flaky) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return errors.New("connection refused")
	}
	f.got += len(spans)
	return nil
}

func (*flaky) Shutdown(context.Context) error { return nil }

func (f *flaky) set(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Each time that the collector goes and comes is told once.
func TestCollectorComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		f := &flaky{}
		s := &Sink{Exporter: f, Log: slog.New(slog.NewTextHandler(&out, nil))}
		if err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, down := range []bool{false, true, false, true} {
			f.set(down)
			for range 10 {
				s.TurnEnded(answered())
				time.Sleep(time.Minute)
			}
		}
		f.set(false)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if lost := s.Lost(); lost.Failed != 100 || lost.Full != 0 || f.got != 100 {
			t.Errorf("got %d spans, lost %+v", f.got, lost)
		}
		if n := strings.Count(out.String(), "\n"); n != 3 {
			t.Errorf("the log has %d lines, want gone, back, gone:\n%s", n, out.String())
		}
	})
}

func TestWanted(t *testing.T) {
	for _, tt := range []struct {
		endpoint string
		env      []string
		want     bool
	}{
		{"", nil, false},
		{"http://localhost:4317", nil, true},
		{"", []string{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4317"}, true},
		{"", []string{"OTEL_TRACES_EXPORTER", "otlp"}, true},
		{"http://localhost:4317", []string{"OTEL_TRACES_EXPORTER", "none"}, false},
		{"http://localhost:4317", []string{"OTEL_SDK_DISABLED", "true"}, false},
	} {
		t.Run(tt.endpoint+strings.Join(tt.env, "="), func(t *testing.T) {
			if tt.env != nil {
				t.Setenv(tt.env[0], tt.env[1])
			}
			if got := Wanted(tt.endpoint); got != tt.want {
				t.Errorf("wanted: %v", got)
			}
		})
	}
}

func TestBadSettings(t *testing.T) {
	for want, s := range map[string]*Sink{
		"no address":  {Endpoint: "localhost:4317"},
		"no protocol": {Endpoint: "http://localhost:4317", Protocol: "carrier pigeon"},
	} {
		if err := s.Open(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want something with %q", err, want)
		}
	}
}

// What a turn costs whoever ends it.
func BenchmarkTurn(b *testing.B) {
	s := &Sink{Exporter: &flaky{}, Log: slog.New(slog.DiscardHandler)}
	if err := s.Open(b.Context()); err != nil {
		b.Fatal(err)
	}
	turn := answered()
	b.ReportAllocs()
	for b.Loop() {
		s.TurnEnded(turn)
	}
	if err := s.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}
