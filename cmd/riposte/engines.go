package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"riposte/audio/silero"
	"riposte/audio/smartturn"
	"riposte/bench/stub"
	"riposte/budget"
	"riposte/llm/llama"
	"riposte/native"
	"riposte/native/onnx"
	"riposte/remote"
	"riposte/stt/whisper"
	"riposte/tts"
	"riposte/tts/piper"
)

// engines are those that every call shares. This file, remotes.go and the benches are the only places that name them.
type engines struct {
	crews map[string]*crew // By route; that of the default one is what the settings name.
	vad   *silero.Engine
	end   *smartturn.Engine // nil where no model is set.

	cores   *budget.Executor  // What they share the cores by.
	opening map[string]engine // All of them.
	servers []*remote.Server  // Those of other machines.
}

// crew returns what holds the calls of a route.
func (e *engines) crew(route string) *crew {
	if c := e.crews[route]; c != nil {
		return c
	}
	return e.crews[defaultRoute]
}

// engine is loaded before it is used, and freed after that.
type engine interface {
	Open(ctx context.Context) error
	Close() error
}

// openEngines loads everything and warms it up, side by side. Stubs take the places of recogniser, model and voice, unless they are nil.
// The error names each model that cannot be had and what to do.
func openEngines(ctx context.Context, s *settings, routes map[string]*route, stubs *stub.Engines, log *slog.Logger) (*engines, error) {
	began := time.Now()
	e, err := s.engines(routes, stubs, log)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	for name, engine := range e.opening {
		g.Go(func() error {
			if err := engine.Open(ctx); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			log.Info("engine ready", "stage", name, "after", time.Since(began).Round(time.Millisecond))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

// engines finds the libraries and models that the settings and their routes name, but for what stubs stand in for.
func (s *settings) engines(routes map[string]*route, stubs *stub.Engines, log *slog.Logger) (e *engines, err error) {
	e = &engines{cores: s.executor(), crews: map[string]*crew{}, opening: map[string]engine{}}
	if stubs != nil {
		err = e.stand(stubs)
	} else {
		err = e.enlist(s, routes, log)
	}
	if err != nil {
		return nil, err
	}
	for _, c := range e.crews {
		c.phrases = &tts.Phrasebook{Voice: c.tts}
	}
	file, runtime, err := s.onnx(s.VAD.Model)
	if err != nil {
		return nil, err
	}
	e.vad = &silero.Engine{Model: file, Runtime: runtime}
	e.opening["vad"] = e.vad
	if s.VAD.Turn == "" {
		return e, nil
	}
	if file, runtime, err = s.onnx(s.VAD.Turn); err != nil {
		return nil, err
	}
	e.end = &smartturn.Engine{Model: file, Runtime: runtime, Executor: e.cores}
	e.opening["end of turn"] = e.end
	return e, nil
}

// stand has stubs hold the calls.
func (e *engines) stand(stubs *stub.Engines) error {
	ear, model := stubs.Ear(), stubs.Model()
	voice, err := stubs.Voice()
	if err != nil {
		return err
	}
	e.opening["stt"], e.opening["llm"], e.opening["tts"] = ear, model, voice
	e.crews[defaultRoute] = &crew{stt: ear, knows: ear.Knows, llm: model, tts: voice}
	return nil
}

// enlist finds recognisers, models and voices.
func (e *engines) enlist(s *settings, routes map[string]*route, log *slog.Logger) error {
	r := s.newRoster(e.cores, log)
	first, err := r.crew(s)
	if err != nil {
		return err
	}
	e.crews[defaultRoute] = first
	r.full = true
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		if name == defaultRoute {
			continue
		}
		c, err := r.crew(routes[name].settings)
		if err != nil {
			return fmt.Errorf("route %s: %w", name, err)
		}
		e.crews[name] = c
	}
	e.opening = r.opening
	for _, name := range slices.Sorted(maps.Keys(r.servers)) {
		e.servers = append(e.servers, r.servers[name])
	}
	return nil
}

// executor returns what shares the cores as the settings say.
func (s *settings) executor() *budget.Executor {
	x := &budget.Executor{Cores: s.Cores, Speculation: s.Ahead}
	if s.Ahead == 0 {
		x.Speculation = -1
	}
	return x
}

// recogniser returns a recogniser, with the settings. cores may be nil.
func (s *settings) recogniser(name string, cores *budget.Executor, log *slog.Logger) (*whisper.Engine, error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	file, err := modelFile(store, name)
	return &whisper.Engine{
		Model: file, Threads: s.STT.Threads, States: s.STT.States, Language: s.call().Language, Executor: cores, Log: log,
	}, err
}

// model returns a chat model, with the settings, for so many conversations.
func (s *settings) model(name string, conversations int, cores *budget.Executor, log *slog.Logger) (*llama.Engine, error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	gpu, err := native.ParseGPU(s.LLM.GPU)
	if err != nil {
		return nil, err
	}
	dir, err := store.LlamaDir(gpu)
	if err != nil {
		return nil, err
	}
	layers := s.LLM.GPULayers
	if gpu == native.NoGPU {
		layers = 0
	}
	file, err := modelFile(store, name)
	return &llama.Engine{
		LibDir: dir, Model: file, Threads: threads(s.LLM.Threads), ContextTokens: s.LLM.Context, Conversations: conversations,
		GPULayers: layers, Devices: s.LLM.Devices, TensorSplit: s.LLM.Split, Executor: cores, IdleBytes: orNone(s.LLM.Idle), Log: log,
	}, err
}

// voice returns a voice, with the settings. cores may be nil.
func (s *settings) voice(name, speaker string, cores *budget.Executor, log *slog.Logger) (*piper.Engine, error) {
	file, runtime, err := s.onnx(name)
	return &piper.Engine{
		Model: file, Runtime: runtime, Speaker: speaker, Threads: s.TTS.Threads, CacheBytes: orNone(s.TTS.Cache), Executor: cores, Log: log,
	}, err
}

// onnx returns the file of a model and what runs it.
func (s *settings) onnx(name string) (file string, runtime *onnx.Runtime, err error) {
	store, err := s.store()
	if err != nil {
		return "", nil, err
	}
	library, err := store.ONNXRuntime()
	if err != nil {
		return "", nil, err
	}
	if runtime, err = onnx.Start(library); err != nil {
		return "", nil, err
	}
	file, err = modelFile(store, name)
	return file, runtime, err
}

// modelFile returns the file of a model that a setting names: a path, or a name that the store knows.
func modelFile(store *native.Store, name string) (string, error) {
	if remote.Named(name) {
		return "", fmt.Errorf("%s is served elsewhere, and this needs a model of this machine", shown(name))
	}
	if strings.ContainsRune(name, os.PathSeparator) || strings.Contains(name, ".gguf") || strings.Contains(name, ".onnx") || strings.HasSuffix(name, ".bin") {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("model file %s: %w (name a file that is there, or a model that riposte models lists)", name, err)
		}
		return name, nil
	}
	return store.File(name)
}

// close frees the engines. No call may use them any more.
func (e *engines) close() {
	for _, engine := range e.opening {
		engine.Close()
	}
}
