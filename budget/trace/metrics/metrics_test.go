package metrics

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"riposte/budget"
	"riposte/budget/trace"
)

const msec = time.Millisecond

// turn is one that took as long as this, all of it in the model beyond 300 ms.
func turn(total time.Duration) trace.Turn {
	clock := budget.NewTurn(time.Unix(0, 0))
	for m, at := range map[budget.Mark]time.Duration{
		budget.Received: 20 * msec, budget.Final: 200 * msec, budget.FirstClause: total - 100*msec, budget.FirstAudible: total, budget.Answered: total,
	} {
		clock.Mark(m, time.Unix(0, 0).Add(at))
	}
	return trace.Turn{
		ID: "resp", Call: "call", Route: "default", Status: "completed", Report: clock.Report(budget.DefaultPlan),
		Models:  map[budget.Stage]string{budget.STT: "whisper", budget.LLM: "llama", budget.TTS: "piper"},
		Tokens:  trace.Tokens{Input: 100, Cached: 90, Output: 20},
		Work:    map[budget.Stage]trace.Work{budget.LLM: {Runs: 21, Waited: 5 * msec, Ran: 250 * msec}},
		Guesses: trace.Guesses{Tries: 3, Stood: true, Wasted: 12},
	}
}

// busy are metrics of a service that has done a little of everything.
func busy() *Metrics {
	m := &Metrics{
		Version: "v1", Places: 8, Calls: func() int { return 2 },
		Load: func() budget.Load {
			l := budget.Load{Queue: 120 * msec}
			l.Waiting[budget.Partial], l.Counts[budget.Speculative].Preempted = 3, 4
			return l
		},
		Lost:    func() []Lost { return []Lost{{"otlp", "queue_full", 7}, {"otlp", "failed", 0}} },
		Packets: func() []Packets { return []Packets{{"received", 500}, {"late", 5}} },
		Queues: []*budget.Queue{
			{Name: "events", Limit: 256}, {Name: "sound", Limit: int64(400 * msec), Timed: true},
		},
	}
	events, sound := m.Queues[0], m.Queues[1]
	events.Hold(17)
	events.Hold(3)
	events.Refuse(2)
	sound.Hold(int64(380 * msec))
	sound.Discard(int64(1500 * msec))
	m.Open()
	call := trace.Call{ID: "call", Route: "default", Wire: "websocket"}
	m.CallBegan(call)
	m.TurnEnded(turn(700 * msec))
	over := turn(1900 * msec)
	over.Events = []trace.Event{{Kind: trace.KindBargeIn}, {Kind: trace.KindBargeIn}, {Kind: trace.KindDropped}, {Kind: "news"}, {Kind: trace.KindGuess}}
	over.Report.Actions = []budget.Action{{Stage: budget.LLM, Kind: budget.Opener}}
	m.TurnEnded(over)
	failed := turn(700 * msec)
	failed.Status, failed.Report.Blame = "failed", budget.LLM
	m.TurnEnded(failed)
	silent := turn(700 * msec)
	silent.Report = budget.NewTurn(time.Unix(0, 0)).Report(budget.DefaultPlan)
	m.TurnEnded(silent)
	call.Reason = "hung_up"
	m.CallEnded(call)
	m.Refused("too_many_calls")
	request := trace.Request{
		Endpoint: "/v1/chat/completions", Stage: budget.LLM, Model: "small", Status: 200, Ended: time.Time{}.Add(2 * time.Second), First: 300 * msec,
		Tokens: trace.Tokens{Input: 100, Cached: 60, Output: 20}, Work: trace.Work{Runs: 5, Waited: 250 * msec},
	}
	m.RequestEnded(request)
	request.Status, request.First, request.Tokens, request.Work = 503, 0, trace.Tokens{}, trace.Work{}
	m.RequestEnded(request)
	m.RequestEnded(trace.Request{Endpoint: "/v1/audio/speech", Stage: budget.TTS, Model: "joe", Status: 200, Sound: 1500 * msec})
	m.RequestEnded(trace.Request{Endpoint: "/v1/models", Status: 200})
	m.AsideEnded(trace.Aside{Route: "default", Model: "llama", Status: "completed", Tokens: trace.Tokens{Input: 30, Output: 8}})
	return m
}

// scrape asks for metrics in a format and lets Prometheus' own parser read them.
func scrape(t *testing.T, m *Metrics, format expfmt.Format) map[string]*dto.MetricFamily {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept", string(format))
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("answered %d: %s", w.Code, w.Body)
	}
	all := map[string]*dto.MetricFamily{}
	d := expfmt.NewDecoder(w.Body, expfmt.ResponseFormat(w.Result().Header))
	for {
		var f dto.MetricFamily
		if err := d.Decode(&f); err != nil {
			if err.Error() == "EOF" {
				return all
			}
			t.Fatal(err)
		}
		all[f.GetName()] = &f
	}
}

// find returns the metric of a family that has these labels, as k=v.
func find(f *dto.MetricFamily, labels ...string) *dto.Metric {
	for _, m := range f.GetMetric() {
		var has []string
		for _, l := range m.GetLabel() {
			if l.GetValue() != "" {
				has = append(has, l.GetName()+"="+l.GetValue())
			}
		}
		if slices.Sort(has); slices.Equal(has, labels) {
			return m
		}
	}
	return nil
}

var formats = map[string]expfmt.Format{
	"text":     expfmt.NewFormat(expfmt.TypeTextPlain),
	"protobuf": expfmt.NewFormat(expfmt.TypeProtoDelim),
}

func TestValues(t *testing.T) {
	for name, format := range formats {
		t.Run(name, func(t *testing.T) {
			all := scrape(t, busy(), format)
			for _, tt := range []struct {
				name   string
				labels []string
				want   float64
			}{
				{"riposte_turns_total", []string{"route=default", "verdict=met"}, 1},
				{"riposte_turns_total", []string{"blame=llm", "route=default", "verdict=over"}, 1},
				{"riposte_turns_total", []string{"blame=tts", "route=default", "verdict=over"}, 0},
				{"riposte_turns_total", []string{"blame=llm", "route=default", "verdict=failed"}, 1},
				{"riposte_turns_total", []string{"route=default", "verdict=none"}, 1},
				{"riposte_turns_total", []string{"route=default", "verdict=masked"}, 0},
				{"riposte_turn_events_total", []string{"kind=barge_in", "route=default"}, 2},
				{"riposte_turn_events_total", []string{"kind=dropped", "route=default"}, 1},
				{"riposte_turn_events_total", []string{"kind=held", "route=default"}, 0},
				{"riposte_turn_events_total", []string{"kind=other", "route=default"}, 1},
				{"riposte_budget_actions_total", []string{"action=opener", "route=default", "stage=llm"}, 1},
				{"riposte_guesses_total", []string{"outcome=given", "route=default"}, 4},
				{"riposte_guesses_total", []string{"outcome=dropped", "route=default"}, 8},
				{"riposte_guess_wasted_tokens_total", nil, 48},
				{"riposte_model_tokens_total", []string{"kind=read", "model=llama"}, 40},
				{"riposte_model_tokens_total", []string{"kind=cached", "model=llama"}, 360},
				{"riposte_model_tokens_total", []string{"kind=written", "model=llama"}, 80},
				{"riposte_stage_executor_jobs_total", []string{"stage=llm"}, 84},
				{"riposte_stage_executor_waited_seconds_total", []string{"stage=llm"}, 0.02},
				{"riposte_stage_executor_ran_seconds_total", []string{"stage=llm"}, 1},
				{"riposte_calls", nil, 2},
				{"riposte_calls_limit", nil, 8},
				{"riposte_calls_begun_total", []string{"route=default", "wire=websocket"}, 1},
				{"riposte_calls_ended_total", []string{"reason=hung_up", "route=default"}, 1},
				{"riposte_calls_refused_total", []string{"reason=too_many_calls"}, 1},
				{"riposte_executor_queue_seconds", nil, 0.12},
				{"riposte_executor_waiting_jobs", []string{"class=partial"}, 3},
				{"riposte_executor_jobs_total", []string{"class=speculative", "outcome=preempted"}, 4},
				{"riposte_trace_drops_total", []string{"reason=queue_full", "sink=otlp"}, 7},
				{"riposte_webrtc_packets_total", []string{"fate=late"}, 5},
				{"riposte_queue_limit_items", []string{"queue=events"}, 256},
				{"riposte_queue_high_items", []string{"queue=events"}, 17},
				{"riposte_queue_dropped_items_total", []string{"queue=events", "reason=full"}, 2},
				{"riposte_queue_dropped_items_total", []string{"queue=events", "reason=stale"}, 0},
				{"riposte_queue_limit_seconds", []string{"queue=sound"}, 0.4},
				{"riposte_queue_high_seconds", []string{"queue=sound"}, 0.38},
				{"riposte_queue_dropped_seconds_total", []string{"queue=sound", "reason=full"}, 0},
				{"riposte_queue_dropped_seconds_total", []string{"queue=sound", "reason=stale"}, 1.5},
				{"riposte_rest_requests_total", []string{"endpoint=/v1/chat/completions", "model=small", "status=200"}, 1},
				{"riposte_rest_requests_total", []string{"endpoint=/v1/chat/completions", "model=small", "status=503"}, 1},
				{"riposte_rest_requests_total", []string{"endpoint=/v1/models", "status=200"}, 1},
				{"riposte_rest_tokens_total", []string{"endpoint=/v1/chat/completions", "kind=read", "model=small"}, 40},
				{"riposte_rest_tokens_total", []string{"endpoint=/v1/chat/completions", "kind=cached", "model=small"}, 60},
				{"riposte_rest_tokens_total", []string{"endpoint=/v1/chat/completions", "kind=written", "model=small"}, 20},
				{"riposte_rest_sound_seconds_total", []string{"endpoint=/v1/audio/speech", "model=joe"}, 1.5},
				{"riposte_asides_total", []string{"route=default", "status=completed"}, 1},
				{"riposte_asides_total", []string{"route=default", "status=failed"}, 0},
				{"riposte_aside_tokens_total", []string{"kind=written", "model=llama"}, 8},
				{"riposte_turn_budget_seconds", nil, 0.89},
				{"riposte_stage_budget_seconds", []string{"stage=llm"}, 0.4},
			} {
				m := find(all[tt.name], tt.labels...)
				if m == nil {
					t.Errorf("there is no %s%v", tt.name, tt.labels)
					continue
				}
				if got := m.GetCounter().GetValue() + m.GetGauge().GetValue(); math.Abs(got-tt.want) > 1e-9 {
					t.Errorf("%s%v is %v, want %v", tt.name, tt.labels, got, tt.want)
				}
			}
			gap := find(all["riposte_turn_gap_seconds"], "model=llama", "route=default").GetHistogram()
			if gap.GetSampleCount() != 3 || math.Abs(gap.GetSampleSum()-3.3) > 1e-9 {
				t.Errorf("gaps: %v", gap)
			}
			for _, b := range gap.GetBucket() {
				if b.GetUpperBound() == 0.89 && b.GetCumulativeCount() != 2 {
					t.Errorf("%d gaps are within the budget, want 2", b.GetCumulativeCount())
				}
			}
			if name == "protobuf" && (gap.GetSchema() != 3 || len(gap.GetPositiveSpan()) == 0) {
				t.Errorf("the gap's histogram is not native: %v", gap)
			}
			for family, labels := range map[string][]string{
				"riposte_rest_duration_seconds": {"endpoint=/v1/chat/completions", "model=small"}, "riposte_rest_first_output_seconds": {"endpoint=/v1/chat/completions", "model=small"},
				"riposte_rest_queued_seconds": {"endpoint=/v1/chat/completions"},
			} {
				want := map[string]float64{"riposte_rest_duration_seconds": 2, "riposte_rest_first_output_seconds": 0.3, "riposte_rest_queued_seconds": 0.25}[family]
				if h := find(all[family], labels...).GetHistogram(); h.GetSampleCount() != 1 || h.GetSampleSum() != want {
					t.Errorf("%s: %v", family, h)
				}
			}
			llm := find(all["riposte_stage_duration_seconds"], "model=llama", "route=default", "stage=llm").GetHistogram()
			if llm.GetSampleCount() != 3 { // a turn without an answer has no stages
				t.Errorf("stages: %v", llm)
			}
			if find(all["riposte_build_info"], "goversion="+goVersion(all), "version=v1").GetGauge().GetValue() != 1 {
				t.Errorf("the build is %v", all["riposte_build_info"])
			}
		})
	}
}

func goVersion(all map[string]*dto.MetricFamily) string {
	for _, l := range all["go_info"].GetMetric()[0].GetLabel() {
		if l.GetName() == "version" {
			return l.GetValue()
		}
	}
	return ""
}

// Names and help are as Prometheus wants them.
func TestLint(t *testing.T) {
	all := scrape(t, busy(), formats["text"])
	problems, err := promlint.NewWithMetricFamilies(slices.Collect(maps.Values(all))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Whoever makes up names makes no more series than there are places.
func TestCardinality(t *testing.T) {
	m := busy()
	series := func() (n int) {
		for name, f := range scrape(t, m, formats["text"]) {
			if strings.HasPrefix(name, "riposte_") {
				n += len(f.GetMetric())
			}
		}
		return n
	}
	flood := func(from, to int) {
		for i := from; i < to; i++ {
			v := fmt.Sprint("made up ", i)
			turn := turn(700 * msec)
			turn.Models[budget.LLM] = v
			turn.Events = []trace.Event{{Kind: v}}
			turn.Report.Actions = []budget.Action{{Stage: budget.LLM, Kind: budget.ActionKind(v)}}
			m.CallBegan(trace.Call{Route: "default", Wire: v})
			m.CallEnded(trace.Call{Route: "default", Reason: v})
			m.Refused(v)
			m.TurnEnded(turn)
			m.RequestEnded(trace.Request{Endpoint: "/v1/chat/completions", Stage: budget.LLM, Model: v, Status: 200, First: msec, Work: trace.Work{Runs: 1}})
			m.AsideEnded(trace.Aside{Route: "default", Model: v, Status: "completed"})
		}
	}
	flood(0, 100)
	before := series()
	flood(100, 1000)
	if after := series(); after != before || before > 600 {
		t.Errorf("there were %d series, then %d", before, after)
	}
}

// What is not known is not told.
func TestNothingToRead(t *testing.T) {
	m := &Metrics{}
	m.Open()
	all := scrape(t, m, formats["text"])
	for _, name := range []string{"riposte_calls", "riposte_executor_queue_seconds", "riposte_trace_drops_total", "riposte_webrtc_packets_total", "riposte_queue_limit_items", "riposte_queue_limit_seconds"} {
		if all[name] != nil {
			t.Errorf("%s is %v", name, all[name])
		}
	}
	if all["riposte_build_info"] == nil {
		t.Error("the build is not told")
	}
}

// What a turn costs whoever ends it.
func BenchmarkTurn(b *testing.B) {
	m := busy()
	turn := turn(700 * msec)
	b.ReportAllocs()
	for b.Loop() {
		m.TurnEnded(turn)
	}
}
