package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"riposte/remote"
	"riposte/rest"
	"riposte/transport/realtime"
	"riposte/web"
)

// restSettings are those of requests over REST.
type restSettings struct {
	Max       int           `default:"4" help:"Requests at once. More are refused with 429 and Retry-After; 0 answers none at all." group:"rest"`
	Aliases   []string      `default:"whisper-1,tts-1" placeholder:"NAME" help:"Names that clients may ask for in place of those of the models, such as gpt-4o-mini; * is any." group:"rest"`
	Body      int64         `default:"4194304" help:"Longest request in JSON, in bytes." group:"rest"`
	Upload    int64         `default:"26214400" help:"Longest recording that is sent to be written down, in bytes." group:"rest"`
	Recording time.Duration `default:"1h" help:"How long it may sound: at most an hour." group:"rest"`
	Sending   time.Duration `default:"1m" help:"How long a client may take to send it." group:"rest"`
	Speech    int           `default:"4096" help:"Longest text that is spoken, in characters." group:"rest"`
	Held      int64         `default:"268435456" help:"Bytes that requests may have sent, all together, which are being read or answered: more are refused with 429." group:"rest"`
	Slow      time.Duration `default:"10s" help:"How long a client may take to read what it is sent." group:"rest"`
	Time      time.Duration `default:"10m" help:"Longest time of a request." group:"rest"`
}

// restConversations is how many places in the model's memory there are for requests, besides those for calls: more of them wait.
const restConversations = 2

// validate reports everything that is out of bounds.
func (s *restSettings) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Max >= 0 && s.Max <= 1000, "rest-max is %d: it must be 0 to 1000", s.Max)
	check(s.Body >= 1<<10, "rest-body is %d: it must be at least 1024", s.Body)
	check(s.Upload >= 1<<10 && s.Upload <= 1<<30, "rest-upload is %d: it must be 1024 to 1073741824", s.Upload)
	check(s.Recording > 0 && s.Recording <= time.Hour, "rest-recording is %v: it must be more than 0 and at most 1h", s.Recording)
	check(s.Sending >= time.Second, "rest-sending is %v: it must be at least 1s", s.Sending)
	check(s.Speech > 0, "rest-speech is %d: it must be at least 1", s.Speech)
	check(s.Held >= max(s.Body, s.Upload), "rest-held is %d: it must be at least rest-body and rest-upload", s.Held)
	check(s.Slow >= time.Second, "rest-slow is %v: it must be at least 1s", s.Slow)
	check(s.Time >= time.Second, "rest-time is %v: it must be at least 1s", s.Time)
	return errors.Join(errs...)
}

// limits returns what one request may take.
func (s *restSettings) limits() rest.Limits {
	return rest.Limits{
		Body: s.Body, Upload: s.Upload, Recording: s.Recording, Sending: s.Sending, Speech: s.Speech, Held: s.Held, Slow: s.Slow, Time: s.Time,
	}
}

// openREST returns what answers requests over REST, of whom calls lets in; nil where there are to be none.
func (s *service) openREST(calls *realtime.Server) http.Handler {
	if s.settings.REST.Max == 0 {
		return nil
	}
	server := &rest.Server{
		Enter: func(w http.ResponseWriter, r *http.Request) (string, bool) {
			guest, err := calls.EnterByKey(w, r)
			if err != nil {
				calls.Refuse(w, err)
			}
			return guest.Route, err == nil
		},
		Follow: s.follow,
		Admit:  s.admitRequest,
		Engines: func(route string) rest.Engines {
			c := s.crewOf(route)
			return rest.Engines{LLM: c.llm, STT: c.stt, TTS: c.tts, Cores: s.engines.cores}
		},
		Default: restRoute(s.settings, false), Routes: map[string]rest.Route{},
		Models: rest.Models{
			LLM: modelName(s.settings.LLM.Model), STT: modelName(s.settings.STT.Model), TTS: modelName(s.settings.TTS.Voice), Aliases: s.settings.REST.Aliases,
		},
		Voices:   append([]string{modelName(s.settings.TTS.Voice)}, realtime.Voices()...),
		Language: func(route, code string) bool { return s.crewOf(route).knows(code) },
		Limits:   s.settings.REST.limits(), Created: time.Now(), Version: version, Log: s.log, Spans: s.telemetry.spans != nil, Ended: s.requestEnded,
	}
	for name, r := range s.routes {
		server.Routes[name] = restRoute(r.settings, name != defaultRoute)
	}
	return server.Handler()
}

// follow refuses a request that this service has made itself, by way of an engine that it takes for another's.
func (s *service) follow(ctx context.Context, h http.Header) (context.Context, error) {
	ctx, ok := s.name.Follow(ctx, h)
	if !ok {
		return nil, &rest.Problem{Status: http.StatusLoopDetected, Code: "loop",
			Message: "This service asks itself: llm.model, llm.hedge, stt.model, stt.fallback, tts.voice or tts.fallback names its own address, or that of a server which asks this one. Name the server that has the model."}
	}
	return ctx, nil
}

// restRoute returns what settings mean for requests. Those that name a route get its instructions as well, as a call does.
func restRoute(s *settings, instruct bool) rest.Route {
	call := s.call()
	r := rest.Route{Sampling: call.Sampling, Language: call.Language, Speed: call.Speed}
	if instruct {
		r.Instructions = call.Instructions
	}
	return r
}

// modelName returns the name of a model that a setting names: that of its file, where it is one, and not where it is served, where that is
// elsewhere.
func modelName(setting string) string {
	if remote.Named(setting) {
		return shown(setting)
	}
	name := filepath.Base(setting)
	for _, end := range []string{".gguf", ".onnx", ".bin"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// admitRequest takes a place for a request, unless calls need the machine.
func (s *service) admitRequest() (release func(), err error) {
	switch s.status.Begin(s.settings.REST.Max) {
	case nil:
	case web.ErrLoading:
		return nil, &rest.Problem{Status: http.StatusServiceUnavailable, Code: "loading", Message: "The models are still being loaded.", Retry: 2 * time.Second}
	case web.ErrDraining:
		return nil, &rest.Problem{Status: http.StatusServiceUnavailable, Code: "shutting_down", Message: "The service is shutting down.", Retry: 5 * time.Second}
	default:
		s.queues.requests.Refuse(1)
		return nil, &rest.Problem{
			Status: http.StatusTooManyRequests, Code: "too_many_requests", Retry: 2 * time.Second,
			Message: fmt.Sprintf("All %d places for requests are taken: ask again later. The setting rest.max says how many there are.", s.settings.REST.Max),
		}
	}
	if err := s.spare(); err != nil {
		s.status.End()
		s.queues.requests.Refuse(1)
		return nil, err
	}
	s.queues.requests.Hold(int64(s.status.Requests()))
	s.calls.Add(1)
	return func() { s.status.End(); s.calls.Done() }, nil
}

// spare reports why there is nothing of the machine left for a request, if there is not. What calls may take at most is what counts: the
// rest of the cores' time is for what they say at the same moment by chance.
func (s *service) spare() error {
	load := s.engines.cores.Load()
	if s.settings.Calls.Load == 1 || s.status.Calls() == 0 || load.Busy < s.settings.Calls.Load && load.Queue <= s.settings.plan().STT {
		return nil
	}
	return &rest.Problem{
		Status: http.StatusTooManyRequests, Code: "overloaded", Retry: 5 * time.Second,
		Message: fmt.Sprintf("Calls take the machine now: %.0f %% of the cores' time, with %v of work ahead. Ask again later.", 100*load.Busy, load.Queue.Round(time.Millisecond)),
	}
}
