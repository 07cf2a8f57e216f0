package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"riposte/audio/silero"
	"riposte/audio/smartturn"
	"riposte/bench/stub"
	"riposte/budget"
	"riposte/llm"
	"riposte/llm/llama"
	"riposte/native"
	"riposte/native/onnx"
	"riposte/stt"
	"riposte/stt/whisper"
	"riposte/tts"
	"riposte/tts/piper"
)

// engines are those that every call shares. This file and the benches are the only places that name them.
type engines struct {
	stt interface {
		engine
		stt.Recognizer
		Knows(language string) bool
	}
	llm interface {
		engine
		llm.Generator
	}
	hedge *llama.Engine // nil where no model is set.
	tts   interface {
		engine
		tts.Synthesizer
	}
	vad *silero.Engine
	end *smartturn.Engine // nil where no model is set.

	cores *budget.Executor // What they share the cores by.
}

// engine is loaded before it is used, and freed after that.
type engine interface {
	Open(ctx context.Context) error
	Close() error
}

// openEngines loads everything and warms it up, side by side. Stubs take the places of recogniser, model and voice, unless they are nil.
// The error names each model that cannot be had and what to do.
func openEngines(ctx context.Context, s *settings, stubs *stub.Engines, log *slog.Logger) (*engines, error) {
	began := time.Now()
	e, err := s.engines(stubs, log)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	all := map[string]func(context.Context) error{"stt": e.stt.Open, "llm": e.llm.Open, "tts": e.tts.Open, "vad": e.vad.Open}
	if e.end != nil {
		all["end of turn"] = e.end.Open
	}
	if e.hedge != nil {
		all["hedge"] = e.hedge.Open
	}
	for name, open := range all {
		g.Go(func() error {
			if err := open(ctx); err != nil {
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

// engines finds the libraries and models that the settings name, but for what stubs stand in for.
func (s *settings) engines(stubs *stub.Engines, log *slog.Logger) (e *engines, err error) {
	e = &engines{cores: s.executor()}
	if stubs != nil {
		e.stt, e.llm = stubs.Ear(), stubs.Model()
		e.tts, err = stubs.Voice()
	} else {
		err = s.speakers(e, log)
	}
	if err != nil {
		return nil, err
	}
	file, runtime, err := s.onnx(s.VAD.Model)
	if err != nil {
		return nil, err
	}
	e.vad = &silero.Engine{Model: file, Runtime: runtime}
	if s.VAD.Turn == "" {
		return e, nil
	}
	if file, runtime, err = s.onnx(s.VAD.Turn); err != nil {
		return nil, err
	}
	e.end = &smartturn.Engine{Model: file, Runtime: runtime, Executor: e.cores}
	return e, nil
}

// speakers finds recogniser, models and voice.
func (s *settings) speakers(e *engines, log *slog.Logger) (err error) {
	cores := e.cores
	if e.stt, err = s.recogniser(cores, log); err != nil {
		return err
	}
	conversations := s.LLM.Conversations
	if conversations == 0 {
		conversations = s.Calls.Max + min(s.REST.Max, restConversations)
	}
	if e.llm, err = s.model(s.LLM.Model, conversations, cores, log); err != nil {
		return err
	}
	if s.LLM.Hedge != "" {
		if e.hedge, err = s.model(s.LLM.Hedge, conversations, cores, log); err != nil {
			return err
		}
	}
	e.tts, err = s.voice(cores, log)
	return err
}

// executor returns what shares the cores as the settings say.
func (s *settings) executor() *budget.Executor {
	x := &budget.Executor{Cores: s.Cores, Speculation: s.Ahead}
	if s.Ahead == 0 {
		x.Speculation = -1
	}
	return x
}

// recogniser returns the recogniser of the settings. cores may be nil.
func (s *settings) recogniser(cores *budget.Executor, log *slog.Logger) (*whisper.Engine, error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	file, err := modelFile(store, s.STT.Model)
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

// voice returns the voice of the settings. cores may be nil.
func (s *settings) voice(cores *budget.Executor, log *slog.Logger) (*piper.Engine, error) {
	file, runtime, err := s.onnx(s.TTS.Voice)
	return &piper.Engine{
		Model: file, Runtime: runtime, Speaker: s.TTS.Speaker, Threads: s.TTS.Threads, CacheBytes: orNone(s.TTS.Cache), Executor: cores, Log: log,
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
	e.stt.Close()
	e.llm.Close()
	if e.hedge != nil {
		e.hedge.Close()
	}
	e.tts.Close()
	e.vad.Close()
	if e.end != nil {
		e.end.Close()
	}
}
