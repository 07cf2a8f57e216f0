// Package metrics counts calls and their turns for Prometheus. It is a trace.Sink for what happens, and reads what is at the
// moment when it is asked.
package metrics

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"riposte/budget"
	"riposte/budget/trace"
)

// Metrics are the service's. The fields say where to read what is at the moment; where one is nil, what it would tell is
// not there.
type Metrics struct {
	Version string
	Plan    budget.Plan        // It defaults to budget.DefaultPlan.
	Load    func() budget.Load // Of the native executor.
	Calls   func() int         // Calls that are held.
	Places  int                // Calls that can be held at once.
	Lost    func() []Lost      // What became of traces that should have been kept.
	Packets func() []Packets   // What became of the packets of callers' sound.
	Pieces  func() []Packets   // What became of the sound of calls by telephone that have ended.
	Remotes func() []Remote    // How engines on other machines do.
	Queues  []*budget.Queue    // Where calls, the executor and the store let things wait.
	Log     *slog.Logger       // It defaults to slog.Default().

	registry *prometheus.Registry

	routes, wires, models, reasons, refusals, acts names
	tools, endpoints, requested                    names

	gap, stages, ears, toolTimes *prometheus.HistogramVec
	turns, calls, ends, refused  *prometheus.CounterVec
	events, actions, guesses     *prometheus.CounterVec
	wasted                       prometheus.Counter
	tokens, runs, waited, ran    *prometheus.CounterVec

	restTook, restFirst, restQueued *prometheus.HistogramVec
	requests, restTokens, restSound *prometheus.CounterVec
	asides, asideTokens             *prometheus.CounterVec
}

// Lost is how much was not kept by one that keeps traces.
type Lost struct {
	Sink   string // Such as "otlp".
	Reason string // Such as "queue_full".
	Count  uint64
}

// Packets is how many packets of callers' sound fared alike.
type Packets struct {
	Fate  string // Such as "late".
	Count uint64
}

// Remote is how an engine on another machine does.
type Remote struct {
	Stage, Server string
	State         string // Of its breaker: "closed", "half_open" or "open".
	Requests      []RemoteRequests
}

// RemoteRequests is how many requests to such an engine fared alike.
type RemoteRequests struct {
	Fate  string // Such as "done".
	Count uint64
}

var _ trace.Sink = (*Metrics)(nil)

// buckets are those of the classic histograms, in seconds, for who does not collect native ones. One ends at the default budget.
var buckets = []float64{.1, .2, .3, .4, .5, .6, .7, .8, .89, 1, 1.2, 1.5, 2, 3, 5, 10}

// shares are the same for a stage: they end at the default shares too.
var shares = []float64{.01, .02, .04, .08, .15, .2, .3, .4, .6, .89, 1.5, 3, 10}

// toolTimes are the same for a tool.
var toolTimes = []float64{.01, .05, .1, .25, .5, 1, 2, 3, 5, 10, 20, 60}

// requestTimes are the same for requests over REST, which may take as long as a client waits.
var requestTimes = []float64{.05, .1, .2, .4, .8, 1.5, 3, 6, 12, 25, 60, 120, 300, 600}

// Open makes the metrics ready.
func (m *Metrics) Open() {
	if m.Plan == (budget.Plan{}) {
		m.Plan = budget.DefaultPlan
	}
	if m.Log == nil {
		m.Log = slog.Default()
	}
	m.registry = prometheus.NewRegistry()
	m.gap = m.histogram("riposte_turn_gap_seconds", "From the last voiced sample of the caller to the first audible one of the answer, of turns that have a verdict.", buckets, "route", "model")
	m.stages = m.histogram("riposte_stage_duration_seconds", "What a stage took of the gap, of turns that have a verdict.", shares, "stage", "route", "model")
	m.ears = m.histogram("riposte_mouth_to_ear_seconds", "From the last voiced sample at the caller's microphone to the first audible one of the answer at the caller's ear, as callers' sides measured it.", buckets, "route")
	m.toolTimes = m.histogram("riposte_tool_duration_seconds", "What calls of tools took that the service ran, by what became of them.", toolTimes, "tool", "outcome")
	m.turns = m.counter("riposte_turns_total", "Turns, by what became of them and the stage to blame. The verdict none is of what was not answered aloud, and of greetings, prompts and answers to what was written, which are not judged: shares are shares of the others.", "route", "verdict", "blame")
	m.calls = m.counter("riposte_calls_begun_total", "Calls that were taken.", "route", "wire")
	m.ends = m.counter("riposte_calls_ended_total", "Calls that ended, by why.", "route", "reason")
	m.refused = m.counter("riposte_calls_refused_total", "Calls that were not taken, by why.", "reason")
	m.events = m.counter("riposte_turn_events_total", "What happened in turns besides their answer, such as barge_in and dropped; docs/design.md lists the kinds.", "route", "kind")
	m.actions = m.counter("riposte_budget_actions_total", "What was done because a share of the budget ran out.", "route", "stage", "action")
	m.guesses = m.counter("riposte_guesses_total", "Answers that were begun before their turn was decided, by whether they were given.", "route", "outcome")
	m.wasted = prometheus.NewCounter(prometheus.CounterOpts{Name: "riposte_guess_wasted_tokens_total", Help: "Tokens of answers that were begun too early and not given."})
	m.tokens = m.counter("riposte_model_tokens_total", "Tokens, by how the model came to them: read, cached (read before) or written.", "model", "kind")
	m.runs = m.counter("riposte_stage_executor_jobs_total", "Jobs that ran on the executor for turns.", "stage")
	m.waited = m.counter("riposte_stage_executor_waited_seconds_total", "How long jobs for turns waited in the executor's queue.", "stage")
	m.ran = m.counter("riposte_stage_executor_ran_seconds_total", "How long jobs for turns ran on the executor.", "stage")
	m.restTook = m.histogram("riposte_rest_duration_seconds", "What requests over REST took that were answered, from their beginning to the last of their answer.", requestTimes, "endpoint", "model")
	m.restFirst = m.histogram("riposte_rest_first_output_seconds", "From the beginning of a request over REST to the first token, sentence or sound that the engine brought.", requestTimes, "endpoint", "model")
	m.restQueued = m.histogram("riposte_rest_queued_seconds", "How long the jobs of a request over REST waited in the executor's queue, all together.", requestTimes, "endpoint")
	m.requests = m.counter("riposte_rest_requests_total", "Requests over REST, by the status of HTTP that they were answered with; 499 is of clients that left before.", "endpoint", "model", "status")
	m.restTokens = m.counter("riposte_rest_tokens_total", "Tokens of requests over REST, by how the model came to them: read, cached (read before) or written.", "endpoint", "model", "kind")
	m.restSound = m.counter("riposte_rest_sound_seconds_total", "Sound of requests over REST: of recordings that were listened to, or of speech that was made.", "endpoint", "model")
	m.asides = m.counter("riposte_asides_total", "Answers beside the conversations of calls, by how they ended.", "route", "status")
	m.asideTokens = m.counter("riposte_aside_tokens_total", "Tokens of answers beside the conversations of calls, by how the model came to them: read, cached (read before) or written.", "model", "kind")
	m.registry.MustRegister(m.wasted, moment{m}, queues{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.constant("riposte_build_info", "Always 1: the labels say which build this is.", 1, prometheus.Labels{"version": m.Version, "goversion": runtime.Version()})
	m.constant("riposte_turn_budget_seconds", "What a turn's gap may be.", m.Plan.Total().Seconds(), nil)
	for _, s := range budget.Stages {
		m.constant("riposte_stage_budget_seconds", "What a stage may take of the gap.", m.Plan.Share(s).Seconds(), prometheus.Labels{"stage": string(s)})
	}
}

// histogram makes one that is native, and classic for who does not collect native ones.
func (m *Metrics) histogram(name, help string, classic []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: name, Help: help, Buckets: classic,
		NativeHistogramBucketFactor:     1.1, // Each bucket is a tenth wider than the one before.
		NativeHistogramMaxBucketNumber:  160,
		NativeHistogramMinResetDuration: time.Hour,
	}, labels)
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) constant(name, help string, value float64, labels prometheus.Labels) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels}, func() float64 { return value }))
}

// Handler answers Prometheus, in whichever of its formats it asks for. Native histograms come with protobuf only.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.Log.Handler(), slog.LevelWarn), MaxRequestsInFlight: 4, Timeout: 10 * time.Second, EnableOpenMetrics: true,
	})
}
