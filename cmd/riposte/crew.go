package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/remote"
	"riposte/stt"
	"riposte/tts"
)

// crew are the engines that hold a call: those of its route.
type crew struct {
	stt     stt.Recognizer
	knows   func(language string) bool
	llm     llm.Generator
	hedge   llm.Generator // nil where no model is set.
	tts     tts.Synthesizer
	phrases *tts.Phrasebook // What is at hand in its voice.

	servers []*remote.Server // That it may need.
	frugal  bool             // The hedge takes cores that the model does not: it is no help where these are scarce.
}

// ear, model and voice are engines as the settings name them.
type (
	ear interface {
		engine
		stt.Recognizer
		Knows(language string) bool
	}
	model interface {
		engine
		llm.Generator
	}
	voice interface {
		engine
		tts.Synthesizer
	}
)

// roster has each engine once, however many routes name it.
type roster struct {
	service *settings
	cores   *budget.Executor
	log     *slog.Logger
	full    bool // What is on this machine is all there.

	ears    map[string]ear
	models  map[string]model
	voices  map[string]voice
	asks    map[string]*remote.Server // Which server an engine asks, by its key.
	opening map[string]engine         // All of them, by what they are told apart by in logs.
	servers map[string]*remote.Server // What is asked of one is asked of it, whatever else differs: it has one breaker.
}

// newRoster returns an empty one.
func (s *settings) newRoster(cores *budget.Executor, log *slog.Logger) *roster {
	return &roster{
		service: s, cores: cores, log: log, ears: map[string]ear{}, models: map[string]model{}, voices: map[string]voice{}, asks: map[string]*remote.Server{},
		opening: map[string]engine{}, servers: map[string]*remote.Server{},
	}
}

// crew returns the engines for settings, which are the service's or a route's.
func (r *roster) crew(s *settings) (c *crew, err error) {
	c = &crew{}
	first, err := r.ear(c, s, "stt", s.STT.Model, &s.STT.Access, s.STT.Fallback != "")
	if err != nil {
		return nil, err
	}
	c.stt, c.knows = first, first.Knows
	if s.STT.Fallback != "" {
		second, err := r.ear(c, s, "stt fallback", s.STT.Fallback, &s.STT.FallbackAccess, false)
		if err != nil {
			return nil, err
		}
		c.stt = &stt.Fallback{First: first, Second: second, Late: s.late(s.Budget.STT / 3)}
		c.knows = func(language string) bool { return first.Knows(language) && second.Knows(language) }
	}
	main, err := r.model(c, s, "llm", s.LLM.Model, s.LLM.Extra, &s.LLM.Access, s.LLM.Hedge != "")
	if err != nil {
		return nil, err
	}
	c.llm = main
	if s.LLM.Hedge != "" {
		if c.hedge, err = r.model(c, s, "llm hedge", s.LLM.Hedge, s.LLM.HedgeExtra, &s.LLM.HedgeAccess, false); err != nil {
			return nil, err
		}
		c.frugal = remote.Named(s.LLM.Model) && !remote.Named(s.LLM.Hedge)
	}
	speaks, err := r.voice(c, s, "tts", s.TTS.Voice, s.TTS.Speaker, &s.TTS.Access, s.TTS.Fallback != "")
	if err != nil {
		return nil, err
	}
	c.tts = speaks
	if s.TTS.Fallback != "" {
		second, err := r.voice(c, s, "tts fallback", s.TTS.Fallback, s.TTS.FallbackSpeaker, &s.TTS.FallbackAccess, false)
		if err != nil {
			return nil, err
		}
		c.tts = &tts.Fallback{First: speaks, Second: second, Late: s.late(s.Budget.TTS * 2 / 3)}
	}
	return c, nil
}

// late returns how long before a stage is due another engine is asked as well. A recogniser has had most of its share by then, since what was
// said is sent at the first silence; a voice has had a third of its own, or what was left over before it, and the other one needs time
// before an opener is due. It is not asked so where nothing is done when a share runs out.
func (s *settings) late(before time.Duration) time.Duration {
	if s.Budget.Mode == "observe" {
		return 0
	}
	return before
}

func (r *roster) ear(c *crew, s *settings, what, name string, a *access, another bool) (ear, error) {
	return enlist(r, r.ears, c, what, name, a, fmt.Sprint(s.STT.Every, s.patience(s.STT.Timeout, s.Budget.STT, another)), func() (ear, *remote.Server, error) {
		if remote.Named(name) {
			server, err := r.server(s, name, budget.STT, a)
			return s.remoteEar(server, another), server, err
		}
		e, err := s.recogniser(name, r.cores, r.log)
		return e, nil, err
	})
}

func (r *roster) model(c *crew, s *settings, what, name, extra string, a *access, another bool) (model, error) {
	return enlist(r, r.models, c, what, name, a, fmt.Sprint(extra, s.LLM.ReadAhead, s.patience(s.LLM.Timeout, s.Budget.LLM, another)), func() (model, *remote.Server, error) {
		if remote.Named(name) {
			server, err := r.server(s, name, budget.LLM, a)
			if err != nil {
				return nil, nil, err
			}
			e, err := s.remoteModel(server, extra, another)
			return e, server, err
		}
		conversations := s.LLM.Conversations
		if conversations == 0 {
			conversations = s.Calls.Max + min(s.REST.Max, restConversations)
		}
		e, err := s.model(name, conversations, r.cores, r.log)
		return e, nil, err
	})
}

func (r *roster) voice(c *crew, s *settings, what, name, speaker string, a *access, another bool) (voice, error) {
	differ := fmt.Sprint(speaker, s.TTS.Format, s.call().Language, s.patience(s.TTS.Timeout, s.Budget.TTS, another))
	return enlist(r, r.voices, c, what, name, a, differ, func() (voice, *remote.Server, error) {
		if remote.Named(name) {
			server, err := r.server(s, name, budget.TTS, a)
			return s.remoteVoice(server, speaker, another), server, err
		}
		e, err := s.voice(name, speaker, r.cores, r.log)
		return e, nil, err
	})
}

// enlist returns the engine of a name, which is made if there is none yet. Remote ones are the same where all is that makes a difference;
// those of this machine by their name alone, and a route can have only those that the service has.
func enlist[E engine](r *roster, known map[string]E, c *crew, what, name string, a *access, differ string, make func() (E, *remote.Server, error)) (E, error) {
	key := name
	if remote.Named(name) { // whose stage is told by the map
		key += fmt.Sprint("\x00", a.Key, "\x00", a.Headers, "\x00", differ)
	}
	var none E
	if _, ok := known[key]; !ok {
		if r.full && !remote.Named(name) {
			return none, fmt.Errorf("%s: %q is not loaded by the service: a route can have %s, or one that is served elsewhere (URL#NAME)", what, name, eitherOf(slices.Sorted(maps.Keys(local(known)))))
		}
		e, server, err := make()
		if err != nil {
			return none, err
		}
		known[key] = e
		label := what
		for n := 2; r.opening[label] != nil; n++ {
			label = fmt.Sprint(what, " ", n)
		}
		r.opening[label] = e
		if server != nil {
			r.asks[label[:3]+key] = server
		}
	}
	if server := r.asks[what[:3]+key]; server != nil && !slices.Contains(c.servers, server) {
		c.servers = append(c.servers, server)
	}
	return known[key], nil
}

// server returns the server that a setting names.
func (r *roster) server(s *settings, name string, stage budget.Stage, a *access) (*remote.Server, error) {
	key := fmt.Sprint(stage, "\x00", name, "\x00", a.Key, "\x00", a.Headers)
	if known := r.servers[key]; known != nil {
		return known, nil
	}
	server, err := s.server(name, stage, a, r.log)
	if err == nil {
		r.servers[key] = server
	}
	return server, err
}

// local returns the engines that are on this machine.
func local[E engine](known map[string]E) map[string]E {
	known = maps.Clone(known)
	maps.DeleteFunc(known, func(key string, _ E) bool { return strings.Contains(key, "\x00") })
	return known
}

// eitherOf writes names for people.
func eitherOf(names []string) string {
	if len(names) == 0 {
		return "none of this machine"
	}
	return strings.Join(names, " or ")
}

// keepWarm keeps the connections warm that a call may need, until release is called.
func (c *crew) keepWarm() (release func()) {
	var releases []func()
	for _, s := range c.servers {
		releases = append(releases, s.Hold())
	}
	return func() {
		for _, r := range releases {
			r()
		}
	}
}

// learn has the voices' phrases learnt, and tries again where that fails, until all are or ctx ends: a voice may be away for a while.
func (c *crew) learn(ctx context.Context, texts []string, log *slog.Logger) {
	const pause = 10 * time.Second
	for {
		err := c.phrases.Learn(ctx, texts...)
		if err == nil || ctx.Err() != nil {
			return
		}
		log.Warn("a late answer will not be opened", "err", err)
		if len(c.servers) == 0 {
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// strain returns how much less is to be done for a call of the crew's, by how much less is to be done on this machine.
func (c *crew) strain(machine func() budget.Strain) func() budget.Strain {
	if !c.frugal {
		return machine
	}
	return func() budget.Strain { return min(machine(), budget.FewPartials) }
}
