package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"riposte/audio"
	"riposte/bench/stub"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/hook"
	"riposte/llm"
	"riposte/pipeline"
	"riposte/remote"
	"riposte/stt"
	"riposte/transport"
	"riposte/transport/realtime"
	"riposte/tts"
	"riposte/web"
)

// serveCmd serves calls.
type serveCmd struct {
	settings
}

// Run serves until ctx ends, then lets each call finish its sentence.
func (c *serveCmd) Run(ctx context.Context) error { return c.run(ctx, func(*service) {}) }

// run is Run for a service that is not quite as the settings have it.
func (c *serveCmd) run(ctx context.Context, change func(*service)) error {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("%w (set another address with --listen)", err)
	}
	if _, set := os.LookupEnv("GOGC"); !set {
		debug.SetGCPercent(garbage)
	}
	s := newService(&c.settings, c.logger())
	change(s)
	defer s.keepTraces()()
	defer s.tellCalls()()
	return s.serve(ctx, listener, nil)
}

// garbage is how much of it may come before it is collected, in percent of what is in use, unless GOGC says so. Of forty calls with stubs
// each takes 1.03 MB with 50 % and 1.48 MB with Go's 100, for one percent more of what the service takes of the core.
const garbage = 50

// service is the running service.
type service struct {
	settings  *settings
	name      remote.Name // In requests to servers of other machines.
	log       *slog.Logger
	engines   *engines
	around    around
	stubs     *stub.Engines  // In place of recogniser, model and voice, for benches; nil loads those of the settings.
	ear       stt.Recognizer // What calls of the default route use: what stands before the engines that were opened.
	model     llm.Generator
	vad       func() (voiceActivity, error) // Makes one for a call.
	voice     tts.Synthesizer
	phrases   *tts.Phrasebook // What is at hand in it.
	traces    trace.Sinks     // What is told of calls and turns,
	hook      *hook.Hook      // and of what calls came to; nil where nobody wants to be told.
	telemetry telemetry
	queues    queues
	routes    map[string]*route // By their names, the default one included,
	board     switchboard       // and which of them takes which calls by telephone.
	tools     toolbox
	admission budget.Admission
	status    web.Status
	drain     chan struct{}
	calls     sync.WaitGroup
}

// around makes what stands before engines, for benches. Where a field is nil nothing does.
type around struct {
	stt func(stt.Recognizer) stt.Recognizer
	llm func(llm.Generator) llm.Generator // The hedge not included.
	tts func(tts.Synthesizer) tts.Synthesizer
}

// behind returns what stands before an engine.
func behind[E any](before func(E) E, engine E) E {
	if before == nil {
		return engine
	}
	return before(engine)
}

// voiceActivity notices when the caller of one call speaks.
type voiceActivity interface {
	audio.VAD
	Close() error
}

func newService(s *settings, log *slog.Logger) *service {
	service := &service{settings: s, name: remote.NewName(), log: log, drain: make(chan struct{}), queues: s.queues()}
	service.admission = budget.Admission{
		Plan: s.plan(), Most: s.Calls.Load, Load: func() budget.Load { return service.telemetry.cores.Load().Load() },
	}
	service.status.Remotes = func() (all []web.Remote) {
		for _, r := range service.remotes() {
			all = append(all, web.Remote{Stage: r.Stage, Model: shown(r.Server), State: r.State})
		}
		return all
	}
	return service
}

// requestTimeout is how long a client may take to send the headers of a request, and as long again its body.
const requestTimeout = 10 * time.Second

// serve answers on the listener, which it closes. It loads the engines first, calls ready when calls can be taken, and
// returns when ctx has ended and every call with it.
func (s *service) serve(ctx context.Context, listener net.Listener, ready func()) error {
	// Calls outlive ctx by the time that they need to finish their sentences.
	held, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)

	var err error
	if s.routes, err = s.settings.openRoutes(); err == nil {
		err = openFolders(s.routes)
	}
	if err == nil {
		s.board, err = switchboardOf(s.routes)
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	if names := untold(s.routes); len(names) > 0 {
		s.log.Warn("calls are recorded whose callers are not told: set talk.consent, or tell them elsewhere", "routes", joined(names, 16))
	}
	flush, err := s.openTelemetry(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer flush()

	secured, err := s.secure(listener, s.settings.WebRTC.Public...)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	page, shut := s.openPage()
	defer shut()
	calls := s.wire()
	overWebRTC, hush, err := s.openWebRTC(held, listener.Addr(), calls)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer hush()
	phones, hangUp, err := s.openPhones(held)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer hangUp()
	if s.settings.keyless(listener.Addr()) {
		s.log.Warn("anybody who reaches this address may call: set keys to ask for one", "listen", listener.Addr().String())
	}
	server := &http.Server{
		Handler: web.WithBodyLimit(s.telling(web.WithPhones(web.WithREST(web.WithTalk(web.WithTraces(
			web.WithCalls(web.Routes(&s.status, calls), cmp.Or(overWebRTC, calls.Control()), calls.Issue, calls.Preflight), page), s.talkPage(overWebRTC != nil, page)),
			s.openREST(calls), calls.Preflight), phones.routes)), requestTimeout),
		BaseContext:       func(net.Listener) context.Context { return held },
		ReadHeaderTimeout: requestTimeout,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(secured) }()
	defer server.Close()

	toolsOpened, closeTools, err := s.openTools(ctx)
	if err != nil {
		return err
	}
	defer closeTools()
	s.log.Info("loading", "listen", listener.Addr().String(), "version", version)
	began := time.Now()
	if s.engines, err = openEngines(ctx, s.settings, s.routes, s.stubs, s.log); err != nil {
		return err
	}
	defer s.engines.close()
	for _, server := range s.engines.servers {
		server.From = s.name
	}
	if err := hears(s.routes, s.engines.crew(defaultRoute).knows); err != nil {
		return err
	}
	s.engines.cores.Queue = s.queues.executor
	s.telemetry.cores.Store(s.engines.cores)
	s.telemetry.servers.Store(&s.engines.servers)
	first := s.engines.crew(defaultRoute)
	s.ear, s.model = behind(s.around.stt, stt.Recognizer(first.stt)), behind(s.around.llm, first.llm)
	s.voice, s.phrases = behind(s.around.tts, first.tts), first.phrases
	s.phrases.Voice = s.voice
	s.vad = func() (voiceActivity, error) { return s.engines.vad.New() }
	toolsOpened()
	s.status.Set(web.Ready) // from here on calls use what was set until now
	s.log.Info("ready", "page", s.settings.pageAt(listener.Addr()), "realtime", s.settings.realtimeAt(listener.Addr()), "after", time.Since(began).Round(time.Millisecond))
	rehearsal, stop := context.WithCancel(ctx)
	var rehearsed sync.WaitGroup
	for _, c := range s.engines.crews {
		rehearsed.Go(func() { c.learn(rehearsal, s.toLearn(), s.log) })
	}
	defer rehearsed.Wait()
	defer stop()
	if ready != nil {
		ready()
	}

	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	s.status.Set(web.Draining)
	s.log.Info("shutting down", "calls", s.status.Calls(), "grace", s.settings.Calls.Grace)
	close(s.drain)
	grace := time.AfterFunc(s.settings.Calls.Grace, func() { end(transport.ErrShutdown) })
	defer grace.Stop()
	s.calls.Wait()
	s.log.Info("stopped")
	return nil
}

// wire returns what takes calls.
func (s *service) wire() *realtime.Server {
	return &realtime.Server{
		Hold: s.hold, Admit: s.admitCounted, Defaults: s.settings.call(), Routes: beginnings(s.routes), Model: shown(s.settings.LLM.Model), Voice: shown(s.settings.TTS.Voice),
		Language: func(code string) bool {
			return s.status.Get() == web.Loading || s.engines.crew(defaultRoute).knows(code)
		}, // before that, client secrets only
		Permit:  s.permit,
		Origins: s.settings.Origins, Keys: s.settings.Keys, Limits: s.settings.wire(), Log: s.log, Queue: s.queues.events,
		Rates: s.rates,
	}
}

// rates returns what clients are told of limits: what there is a limit of is calls.
func (s *service) rates() []realtime.Rate {
	most := s.settings.Calls.Max
	return []realtime.Rate{{Name: "requests", Limit: most, Remaining: max(0, most-s.status.Calls())}}
}

// admit takes a place for a call.
func (s *service) admit() (release func(), err error) {
	switch s.status.Enter(s.settings.Calls.Max) {
	case nil:
	case web.ErrLoading:
		return nil, &realtime.Refusal{Code: "loading", Message: "The models are still being loaded.", Retry: 2 * time.Second}
	case web.ErrDraining:
		return nil, &realtime.Refusal{Code: "shutting_down", Message: "The service is shutting down.", Retry: 5 * time.Second}
	default:
		return nil, &realtime.Refusal{
			Code: "too_many_calls", Message: fmt.Sprintf("All %d places are taken.", s.settings.Calls.Max), Retry: 5 * time.Second,
		}
	}
	end, err := s.afford()
	if err != nil {
		s.status.Leave()
		return nil, err
	}
	s.calls.Add(1)
	return func() { end(); s.status.Leave(); s.calls.Done() }, nil
}

// afford takes on the cost of the call that has just got a place, until it ends, or says why that would harm the others.
func (s *service) afford() (end func(), err error) {
	if s.settings.Calls.Load == 1 {
		return func() {}, nil
	}
	end, err = s.admission.Admit(s.status.Calls() - 1)
	if o, ok := errors.AsType[*budget.Overload](err); ok {
		return nil, &realtime.Refusal{Code: "overloaded_" + o.Reason, Message: o.Detail, Retry: o.Retry}
	}
	return end, err
}

// crewOf returns what holds the calls of a route.
func (s *service) crewOf(route string) *crew {
	if c := s.engines.crews[route]; c != nil && route != defaultRoute {
		return c
	}
	c := crew{}
	if first := s.engines.crews[defaultRoute]; first != nil {
		c = *first
	}
	c.stt, c.llm, c.tts, c.phrases = s.ear, s.model, s.voice, s.phrases
	return &c
}

// hold holds one call.
func (s *service) hold(ctx context.Context, call transport.Call, settings transport.Settings) (err error) {
	name, set := s.route(settings)
	ctx, record := s.begin(ctx, call, name, set)
	defer func() { record.end(err) }()
	vad, err := s.vad()
	if err != nil {
		return err
	}
	defer vad.Close()
	var end pipeline.TurnModel // a nil engine would be none
	if s.engines.end != nil {
		end = s.engines.end
	}
	crew := s.crewOf(name)
	defer crew.keepWarm()()
	record.model = crew.llm
	session := pipeline.Session{
		Call: record.ledger, Settings: settings, VAD: vad, Turns: end, STT: crew.stt, LLM: crew.llm, Hedge: crew.hedge, TTS: crew.tts,
		Limits: set.limits(), Apology: set.Talk.Apology, Echo: set.Talk.Echo,
		Notice:   record.notice(set),
		Greeting: pipeline.Greeting{Text: set.Talk.Greeting, Firm: set.Talk.Firm},
		Silence:  pipeline.Silence{After: set.Talk.Idle, Prompts: lines(set.Talk.Prompts)},
		Openers:  lines(set.Talk.Openers), Phrases: crew.phrases,
		Tools: s.tools.of(name), Dial: s.dialler(set), Waiting: pipeline.Waiting{After: set.Talk.Patience, Phrases: lines(set.Talk.Waiting)},
		Drain: s.drain, Log: s.log, Strain: crew.strain(s.admission.Strain), Record: set.Trace.Record, Queues: s.queues.calls,
		Trace: func(t trace.Turn) {
			s.admission.TurnEnded(t.Report, s.status.Calls())
			record.TurnEnded(t)
		},
		Retrace: record.TurnChanged,
		Beside:  func(a trace.Aside) { s.asideEnded(record, a) },
		Models: map[budget.Stage]string{
			budget.STT: set.STT.Model, budget.LLM: set.LLM.Model, budget.TTS: set.TTS.Voice,
		},
	}
	if record.phone != nil {
		session.Level, session.Answering = set.Phone.Level, set.Phone.begins(record.phone.Parties(), record.answeredBy)
	}
	err = session.Run(ctx)
	if why := reason(err); why == trace.Failed && ctx.Err() == nil {
		s.log.Error("the call failed", "call", call.ID(), "err", err)
	}
	return err
}
