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
	"riposte/budget"
	"riposte/llm/llama"
	"riposte/native"
	"riposte/native/onnx"
	"riposte/stt/whisper"
	"riposte/tts/piper"
)

// engines are the four that every call shares, and what shares the cores among them. This file is the only place that names
// them.
type engines struct {
	executor *budget.Executor

	stt *whisper.Engine
	llm *llama.Engine
	tts *piper.Engine
	vad *silero.Engine
	end *smartturn.Engine // nil where no model is set.
}

// openEngines loads everything and warms it up, side by side. The error names each model that cannot be had and what to do.
func openEngines(ctx context.Context, s *settings, log *slog.Logger) (*engines, error) {
	began := time.Now()
	e, err := s.engines(log)
	if err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	all := map[string]func(context.Context) error{"stt": e.stt.Open, "llm": e.llm.Open, "tts": e.tts.Open, "vad": e.vad.Open}
	if e.end != nil {
		all["end of turn"] = e.end.Open
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

// engines finds the libraries and models that the settings name.
func (s *settings) engines(log *slog.Logger) (*engines, error) {
	store, err := s.store()
	if err != nil {
		return nil, err
	}
	gpu, err := native.ParseGPU(s.LLM.GPU)
	if err != nil {
		return nil, err
	}
	llamaDir, err := store.LlamaDir(gpu)
	if err != nil {
		return nil, err
	}
	library, err := store.ONNXRuntime()
	if err != nil {
		return nil, err
	}
	runtime, err := onnx.Start(library)
	if err != nil {
		return nil, err
	}
	var files [4]string
	for i, name := range []string{s.STT.Model, s.LLM.Model, s.TTS.Voice, s.VAD.Model} {
		if files[i], err = modelFile(store, name); err != nil {
			return nil, err
		}
	}
	cores := &budget.Executor{Cores: s.Cores, Speculation: s.Ahead}
	if s.Ahead == 0 {
		cores.Speculation = -1
	}
	var end *smartturn.Engine
	if s.VAD.Turn != "" {
		file, err := modelFile(store, s.VAD.Turn)
		if err != nil {
			return nil, err
		}
		end = &smartturn.Engine{Model: file, Runtime: runtime, Executor: cores}
	}
	layers := s.LLM.GPULayers
	if gpu == native.NoGPU {
		layers = 0
	}
	conversations := s.LLM.Conversations
	if conversations == 0 {
		conversations = s.Calls.Max
	}
	return &engines{
		executor: cores,
		stt: &whisper.Engine{
			Model: files[0], Threads: s.STT.Threads, States: s.STT.States, Language: s.call().Language, Executor: cores, Log: log,
		},
		llm: &llama.Engine{
			LibDir: llamaDir, Model: files[1], Threads: threads(s.LLM.Threads), ContextTokens: s.LLM.Context,
			Conversations: conversations, GPULayers: layers, Devices: s.LLM.Devices, TensorSplit: s.LLM.Split, Executor: cores, IdleBytes: orNone(s.LLM.Idle), Log: log,
		},
		tts: &piper.Engine{
			Model: files[2], Runtime: runtime, Speaker: s.TTS.Speaker, Threads: s.TTS.Threads, CacheBytes: orNone(s.TTS.Cache), Executor: cores, Log: log,
		},
		vad: &silero.Engine{Model: files[3], Runtime: runtime},
		end: end,
	}, nil
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
	e.tts.Close()
	e.vad.Close()
	if e.end != nil {
		e.end.Close()
	}
}
