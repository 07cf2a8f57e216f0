// Package whisper hears speech with whisper.cpp inside this process. One Engine holds the weights once and a pool of
// recognisers, each with its own state and its own thread.
package whisper

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"riposte/audio"
	"riposte/stt"
)

// Engine is a stt.Transcriber on a Whisper model. Its exported fields are options, to be set before Open; between Open
// and Close any number of goroutines may call Transcribe.
type Engine struct {
	Model    string       // The file of the model, in ggml's format.
	Threads  int          // Threads for one transcription. It defaults to 2, or 1 on a single core.
	States   int          // Transcriptions at once. It defaults to the cores divided by Threads, and at least 1.
	Language string       // What Options without a language mean. It defaults to "": the model finds out, at the price of a second encoder pass.
	Log      *slog.Logger // Where whisper's own words go, at debug level. It defaults to nowhere.

	model   *model
	jobs    chan job
	life    context.Context
	end     context.CancelCauseFunc
	workers sync.WaitGroup
}

var _ stt.Transcriber = (*Engine)(nil)

// Open checks and loads the model, makes the recognisers and lets each hear a second of noise, so that the first caller
// does not pay for it. When it fails nothing is left to close.
func (e *Engine) Open(ctx context.Context) error {
	e.Threads = orDefault(e.Threads, min(2, runtime.NumCPU()))
	e.States = orDefault(e.States, max(1, runtime.NumCPU()/e.Threads))
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	if !available {
		return ErrUnavailable
	}
	if err := checkFile(e.Model); err != nil {
		return err
	}
	m, words, err := loadModel(e.Model)
	e.logWords(words)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrModel, e.Model, err)
	}
	if e.Language != "" && !m.knows(e.Language) {
		m.free()
		return fmt.Errorf("%w: %q, by %s", ErrLanguage, e.Language, e.Model)
	}
	e.model = m
	e.jobs = make(chan job)
	e.life, e.end = context.WithCancelCause(context.Background())
	ready := make(chan error, e.States)
	for range e.States {
		e.workers.Go(func() { e.work(ctx, ready) })
	}
	for range e.States {
		if err := <-ready; err != nil {
			e.Close()
			return fmt.Errorf("open whisper: %w", err)
		}
	}
	return nil
}

// Knows reports whether callers may speak the language, an ISO 639-1 code, to the model. The engine must be open.
func (e *Engine) Knows(language string) bool { return e.model != nil && e.model.knows(language) }

// Close ends every transcription with ErrClosed, waits until the last recogniser has stopped and frees the model.
// It may be called again, but not at the same time.
func (e *Engine) Close() error {
	if e.model == nil {
		return nil
	}
	e.end(ErrClosed)
	e.workers.Wait()
	e.model.free()
	e.model = nil
	return nil
}

// Transcribe returns what was said in speech. It waits for a free recogniser, and reports the wait in the transcript. When
// ctx ends, it returns its cause at once; the recogniser stops behind it at the next step of its computation.
func (e *Engine) Transcribe(ctx context.Context, speech audio.PCM, o stt.Options) (stt.Transcript, error) {
	if e.life == nil {
		return stt.Transcript{}, ErrClosed
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil) // Whoever leaves early takes the job along.
	defer context.AfterFunc(e.life, func() { end(ErrClosed) })()
	if o.Language == "" {
		o.Language = e.Language
	}
	t := stt.Transcript{Language: o.Language, Speech: speech.Duration(audio.SpeechRate)}
	if ctx.Err() != nil {
		return stt.Transcript{}, context.Cause(ctx)
	}
	if len(speech) == 0 {
		return t, nil
	}
	out := make(chan outcome, 1)
	start := time.Now()
	select {
	case e.jobs <- job{ctx: ctx, samples: speech.AppendFloats(make([]float32, 0, len(speech))), o: o, out: out}:
		t.Queued = time.Since(start)
	case <-ctx.Done():
		return stt.Transcript{}, context.Cause(ctx)
	}
	select {
	case r := <-out:
		switch {
		case ctx.Err() != nil:
			return stt.Transcript{}, context.Cause(ctx)
		case r.err != nil:
			return stt.Transcript{}, fmt.Errorf("whisper: %w", r.err)
		}
		t.Text, t.Language = r.said.text, r.said.language
		return t, nil
	case <-ctx.Done():
		return stt.Transcript{}, context.Cause(ctx)
	}
}

func (e *Engine) logWords(words string) {
	if words != "" {
		e.Log.Debug("whisper says", "words", words)
	}
}

func orDefault(v, d int) int {
	if v > 0 {
		return v
	}
	return d
}
