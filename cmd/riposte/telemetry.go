package main

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	otelapi "go.opentelemetry.io/otel"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/metrics"
	"riposte/budget/trace/otel"
	"riposte/budget/trace/store"
	"riposte/remote"
	"riposte/transport/phone"
	"riposte/transport/realtime"
	"riposte/transport/webrtc"
	"riposte/web"
)

// telemetry tells other programs how the service does: Prometheus, and a collector of spans.
type telemetry struct {
	metrics metrics.Metrics
	spans   *otel.Sink // nil where no collector is named.
	cores   atomic.Pointer[budget.Executor]
	servers atomic.Pointer[[]*remote.Server]
	tracks  atomic.Pointer[webrtc.Server] // nil where there are no calls over WebRTC.
	phones  atomic.Pointer[phone.Server]
}

// openTelemetry makes ready what the settings say, and adds it to what calls and turns are told to. flush sends the last spans.
func (s *service) openTelemetry(ctx context.Context) (flush func(), err error) {
	t, set := &s.telemetry, s.settings
	t.metrics = metrics.Metrics{
		Version: version, Plan: set.plan(), Calls: s.status.Calls, Places: set.Calls.Max, Log: s.log, Lost: s.lost, Packets: s.packets, Pieces: s.pieces, Remotes: s.remotes, Queues: s.queues.all(),
		Load: func() budget.Load { return t.cores.Load().Load() }, // of no executor before the engines are there: nothing
	}
	t.metrics.Open()
	s.traces = append(s.traces, &t.metrics)
	if !otel.Wanted(set.Telemetry.OTLP) {
		return func() {}, nil
	}
	otelapi.SetErrorHandler(otelapi.ErrorHandlerFunc(func(err error) { s.log.Warn("OpenTelemetry", "err", err) }))
	spans := &otel.Sink{
		Endpoint: set.Telemetry.OTLP, Protocol: set.protocol(), Text: set.Telemetry.Text, Version: version, Provider: provider, Log: s.log,
	}
	if err := spans.Open(ctx); err != nil {
		return nil, err
	}
	t.spans = spans
	s.traces = append(s.traces, spans)
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := spans.Close(ctx); err != nil {
			s.log.Warn("closing", "err", err)
		}
	}, nil
}

// lastSpans is how long the service's end may wait for a collector.
const lastSpans = 2 * time.Second

// protocol returns how the collector is talked to; empty leaves it to the environment.
func (s *settings) protocol() otel.Protocol {
	return map[string]otel.Protocol{"grpc": otel.GRPC, "http": otel.HTTP}[s.Telemetry.Protocol]
}

// provider names what runs a stage's model.
func provider(s budget.Stage, model string) string {
	if remote.Named(model) {
		return "openai" // by the protocol: what serves it nobody tells
	}
	return map[budget.Stage]string{budget.STT: "whisper.cpp", budget.LLM: "llama.cpp", budget.TTS: "piper"}[s]
}

// lost says how many turns were not kept and how many spans were not sent.
func (s *service) lost() (all []metrics.Lost) {
	for _, sink := range s.traces {
		switch sink := sink.(type) {
		case *store.Recorder:
			d := sink.Drops()
			all = append(all, metrics.Lost{Sink: "store", Reason: "not_kept", Count: uint64(d.Turns + d.Calls)}, metrics.Lost{Sink: "recording", Reason: "not_kept", Count: uint64(d.Sounds)})
		case *otel.Sink:
			l := sink.Lost()
			all = append(all, metrics.Lost{Sink: "otlp", Reason: "queue_full", Count: l.Full}, metrics.Lost{Sink: "otlp", Reason: "not_taken", Count: l.Failed})
		}
	}
	if s.hook != nil {
		l := s.hook.Lost()
		all = append(all, metrics.Lost{Sink: "webhook", Reason: "queue_full", Count: l.Full}, metrics.Lost{Sink: "webhook", Reason: "not_taken", Count: l.Failed})
	}
	return all
}

// remotes says how engines on other machines do; nothing before they are opened.
func (s *service) remotes() (all []metrics.Remote) {
	servers := s.telemetry.servers.Load()
	if servers == nil {
		return nil
	}
	merged := map[remote.Status]remote.Status{} // Those that only differ in the key that they are shown are one.
	var order []remote.Status
	for _, server := range *servers {
		st := server.Status()
		name := remote.Status{Stage: st.Stage, Server: st.Server}
		if sum, ok := merged[name]; ok {
			st = sum.Add(st)
		} else {
			order = append(order, name)
		}
		merged[name] = st
	}
	for _, name := range order {
		st := merged[name]
		all = append(all, metrics.Remote{Stage: string(st.Stage), Server: st.Server, State: string(st.State), Requests: []metrics.RemoteRequests{
			{Fate: "done", Count: st.Done}, {Fate: "failed", Count: st.Failed}, {Fate: "redialled", Count: st.Redialled}, {Fate: "refused", Count: st.Refused},
		}})
	}
	return all
}

// packets says what became of the packets of callers over WebRTC; nothing where there can be none.
func (s *service) packets() []metrics.Packets {
	from := s.telemetry.tracks.Load()
	if from == nil {
		return nil
	}
	p := from.Packets()
	return []metrics.Packets{
		{Fate: "received", Count: p.Received}, {Fate: "missed", Count: p.Missed}, {Fate: "late", Count: p.Late}, {Fate: "twice", Count: p.Twice},
		{Fate: "unreadable", Count: p.Unreadable}, {Fate: "recovered", Count: p.Recovered}, {Fate: "concealed", Count: p.Concealed},
		{Fate: "left_out", Count: p.LeftOut}, {Fate: "restarted", Count: p.Restarted},
	}
}

// telling adds to the service's routes what telemetry needs: the one for Prometheus, if that is wanted, and the place of each call
// in the trace of its caller's side.
func (s *service) telling(routes http.Handler) http.Handler {
	if s.settings.Telemetry.Metrics {
		routes = web.WithMetrics(routes, s.telemetry.metrics.Handler())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		routes.ServeHTTP(w, r.WithContext(trace.WithParent(r.Context(), r.Header.Get("Traceparent"))))
	})
}

// admitCounted is admit, and counts those that are refused.
func (s *service) admitCounted() (release func(), err error) {
	release, err = s.admit()
	if refusal, ok := errors.AsType[*realtime.Refusal](err); ok {
		s.telemetry.metrics.Refused(refusal.Code)
	}
	return release, err
}

// requestEnded tells of a request over REST.
func (s *service) requestEnded(r trace.Request) {
	s.telemetry.metrics.RequestEnded(r)
	if s.telemetry.spans != nil {
		s.telemetry.spans.RequestEnded(r)
	}
}

// asideEnded tells those who count of an answer beside the conversation of a call: it is no turn, so it is not kept as one.
func (s *service) asideEnded(r *record, a trace.Aside) {
	r.spend(&a)
	s.telemetry.metrics.AsideEnded(a)
	if s.telemetry.spans != nil {
		s.telemetry.spans.AsideEnded(a)
	}
}
