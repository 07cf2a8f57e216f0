package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"riposte/budget/trace"
	"riposte/pipeline"
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
func (c *serveCmd) Run(ctx context.Context) error {
	listener, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("%w (set another address with --listen)", err)
	}
	s := newService(&c.settings, c.logger())
	defer s.keepTraces()()
	return s.serve(ctx, listener, nil)
}

// service is the running service.
type service struct {
	settings  *settings
	log       *slog.Logger
	engines   *engines
	overhear  func(tts.Synthesizer) tts.Synthesizer // What stands before the voice, for benches; nil for nothing.
	voice     tts.Synthesizer
	traces    trace.Sinks // What is told of calls and turns.
	telemetry telemetry
	status    web.Status
	drain     chan struct{}
	calls     sync.WaitGroup
}

func newService(s *settings, log *slog.Logger) *service {
	return &service{settings: s, log: log, drain: make(chan struct{})}
}

// serve answers on the listener, which it closes. It loads the engines first, calls ready when calls can be taken, and
// returns when ctx has ended and every call with it.
func (s *service) serve(ctx context.Context, listener net.Listener, ready func()) error {
	// Calls outlive ctx by the time that they need to finish their sentences.
	held, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)

	flush, err := s.openTelemetry(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer flush()

	calls := &realtime.Server{
		Hold: s.hold, Admit: s.admitCounted, Defaults: s.settings.call(), Model: s.settings.LLM.Model, Voice: s.settings.TTS.Voice,
		Language: func(code string) bool { return s.engines.stt.Knows(code) }, // asked by calls only, so after loading
		Origins:  s.settings.Origins, Limits: s.settings.wire(), Log: s.log,
	}
	server := &http.Server{
		Handler:           s.telling(web.Routes(&s.status, calls)),
		BaseContext:       func(net.Listener) context.Context { return held },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Close()

	s.log.Info("loading", "listen", listener.Addr().String(), "version", version)
	began := time.Now()
	if s.engines, err = openEngines(ctx, s.settings, s.log); err != nil {
		return err
	}
	defer s.engines.close()
	s.telemetry.cores.Store(s.engines.cores)
	s.voice = s.engines.tts
	if s.overhear != nil {
		s.voice = s.overhear(s.voice)
	}
	s.status.Set(web.Ready)
	s.log.Info("ready", "realtime", "ws://"+listener.Addr().String()+"/v1/realtime", "after", time.Since(began).Round(time.Millisecond))
	rehearsal, stop := context.WithCancel(ctx)
	var rehearsed sync.WaitGroup
	rehearsed.Go(func() { s.engines.tts.Warm(rehearsal, s.settings.Talk.Apology) })
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
	s.calls.Add(1)
	return func() { s.status.Leave(); s.calls.Done() }, nil
}

// hold holds one call.
func (s *service) hold(ctx context.Context, call transport.Call, settings transport.Settings) (err error) {
	ctx, record := s.begin(ctx, call)
	defer func() { record.end(err) }()
	vad, err := s.engines.vad.New()
	if err != nil {
		return err
	}
	defer vad.Close()
	var end pipeline.TurnModel // a nil engine would be none
	if s.engines.end != nil {
		end = s.engines.end
	}
	session := pipeline.Session{
		Call: call, Settings: settings, VAD: vad, Turns: end, STT: s.engines.stt, LLM: s.engines.llm, TTS: s.voice,
		Plan: s.settings.plan(), Limits: s.settings.limits(), Apology: s.settings.Talk.Apology, Echo: s.settings.Talk.Echo,
		Greeting: pipeline.Greeting{Text: s.settings.Talk.Greeting, Firm: s.settings.Talk.Firm},
		Silence:  pipeline.Silence{After: s.settings.Talk.Idle, Prompts: s.settings.prompts()},
		Drain:    s.drain, Log: s.log,
	}
	err = session.Run(ctx)
	if err != nil && !errors.Is(err, transport.ErrHungUp) && !errors.Is(err, transport.ErrShutdown) && !errors.Is(err, transport.ErrSilent) && ctx.Err() == nil {
		s.log.Error("the call failed", "call", call.ID(), "err", err)
	}
	return err
}
