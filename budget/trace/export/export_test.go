package export

import (
	"bytes"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/otel"
	"riposte/budget/trace/sample"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// all goes through a list, and then fails with err if there is one.
func all[T any](list []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range list {
			if !yield(v, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func TestCSV(t *testing.T) {
	turns := sample.New(1, noon).Turns(50)
	turns[3] = trace.Turn{ID: "resp_bare", Said: "a \"quoted\", long\nline"}
	var out bytes.Buffer
	if err := CSV(&out, all(turns, nil)); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 51 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	field := func(row int, name string) string { return rows[row+1][slices.Index(rows[0], name)] }
	if field(3, "said") != turns[3].Said || field(3, "gap_ms") != "" || field(3, "speech_end") != "" {
		t.Errorf("the bare turn is %q", rows[4])
	}
	r := turns[7].Report
	for name, want := range map[string]string{
		"id": turns[7].ID, "gap_ms": millis(r.Total), "llm_ms": millis(r.Stages[budget.LLM]), "final_at_ms": millis(r.Marks[budget.Final]),
		"stt_model": "whisper-tiny.en-q8_0", "plan_ms": "890", "speech_end": r.SpeechEnd.Format("2006-01-02T15:04:05.000000Z"),
	} {
		if got := field(7, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// In each thread spans lie within each other, as viewers want it.
func TestPerfetto(t *testing.T) {
	turns := sample.New(2, noon).Turns(50)
	var out bytes.Buffer
	if err := Perfetto(&out, all(turns, nil)); err != nil {
		t.Fatal(err)
	}
	var file struct {
		TraceEvents []event `json:"traceEvents"`
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	type thread struct{ call, turn int }
	whole := map[thread]event{}
	stages := map[thread]time.Duration{}
	for _, e := range file.TraceEvents {
		at := thread{e.Call, e.Turn}
		if e.Phase != span {
			continue
		}
		if e.Name == "turn" {
			whole[at] = e
			continue
		}
		turn := whole[at]
		if e.Time < turn.Time || e.Time+e.Took > turn.Time+turn.Took {
			t.Errorf("%s of %v is not within its turn", e.Name, at)
		}
		stages[at] += time.Duration(e.Took) * time.Microsecond
	}
	if len(whole) != 50 {
		t.Fatalf("there are %d turns", len(whole))
	}
	for i, turn := range turns {
		at := thread{i/10 + 1, turn.Number}
		if answered := turn.Report.Marks[budget.Answered]; (stages[at] - answered).Abs() > 4*time.Microsecond {
			t.Errorf("turn %d has stages of %v, want %v", i, stages[at], answered)
		}
	}
}

// Each conversation, turn and stage is one span, in the place that it has, however long the conversation is.
func TestOTLP(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	turns := sample.New(3, noon).Turns(700)
	conversations := []Conversation{
		{trace.Call{ID: "sess_long", Parent: parent, Began: noon, Ended: noon.Add(time.Hour), Reason: "hung_up", Turns: 500}, turns[:500]},
		{trace.Call{ID: "sess_open", Began: noon.Add(time.Hour)}, turns[500:]},
	}
	for i := range turns {
		turns[i].Call = "sess_long"
		if i >= 500 {
			turns[i].Call = "sess_open"
		}
	}
	var out bytes.Buffer
	sink := func() *otel.Sink { return &otel.Sink{Text: true, Version: "v1"} }
	if err := OTLP(t.Context(), &out, sink, all(conversations, nil)); err != nil {
		t.Fatal(err)
	}
	spans := map[string]otlpSpan{}
	names := map[string]int{}
	for decoder := json.NewDecoder(&out); ; {
		var line struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []otlpSpan }
			}
		}
		if err := decoder.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, r := range line.ResourceSpans {
			for _, s := range r.ScopeSpans {
				for _, span := range s.Spans {
					if _, twice := spans[span.SpanID]; twice {
						t.Errorf("span %s comes twice", span.Name)
					}
					spans[span.SpanID] = span
					kind, _, _ := strings.Cut(span.Name, " ")
					names[kind]++
				}
			}
		}
	}
	if names["conversation"] != 2 || names["turn"] != 700 || len(spans) < 702+4*690 {
		t.Errorf("there are %d spans: %v", len(spans), names)
	}
	for _, s := range spans {
		switch above := spans[s.ParentSpanID]; {
		case s.Name == "turn" && above.Name != "conversation", s.Name != "turn" && s.Name != "conversation" && above.Name != "turn":
			t.Fatalf("%s stands below %q", s.Name, above.Name)
		case s.ParentSpanID != "" && above.TraceID != "" && above.TraceID != s.TraceID:
			t.Fatalf("%s is in another trace than what is above it", s.Name)
		case len(s.TraceID) != 32 || len(s.SpanID) != 16 || s.End < s.Start:
			t.Fatalf("%+v", s)
		}
	}
	long := spans[spanID("sess_long")]
	if long.TraceID != parent[3:35] || long.ParentSpanID != parent[36:52] {
		t.Errorf("the conversation is not in its caller's trace: %+v", long)
	}
	open := spans[spanID("sess_open")]
	last := turns[699].Report
	if want := nanos(last.SpeechEnd.Add(max(last.Total, last.Marks[budget.Done])).UnixNano()); open.End != want {
		t.Errorf("a call that goes on ends at %s, want its last turn's end, %s", open.End, want)
	}
}

// An error in the middle ends all of them, and is told.
func TestErrors(t *testing.T) {
	failed := errors.New("the file is gone")
	turns := sample.New(4, noon).Turns(3)
	sink := func() *otel.Sink { return &otel.Sink{} }
	for name, err := range map[string]error{
		"csv":      CSV(io.Discard, all(turns, failed)),
		"perfetto": Perfetto(io.Discard, all(turns, failed)),
		"otlp":     OTLP(t.Context(), io.Discard, sink, all([]Conversation{{Turns: turns}}, failed)),
	} {
		if !errors.Is(err, failed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	full := writer{errors.New("no space left")}
	for name, err := range map[string]error{
		"csv":      CSV(full, all(turns, nil)),
		"perfetto": Perfetto(full, all(turns, nil)),
		"otlp":     OTLP(t.Context(), full, sink, all([]Conversation{{Turns: turns}}, nil)),
	} {
		if !errors.Is(err, full.err) {
			t.Errorf("%s to a full disk: got %v", name, err)
		}
	}
}

// writer fails.
type writer struct{ err error }

func (w writer) Write([]byte) (int, error) { return 0, w.err }

// spanID returns the ID of a conversation's span.
func spanID(call string) string {
	id := trace.SpanID(call, "", "")
	return hex.EncodeToString(id[:])
}
