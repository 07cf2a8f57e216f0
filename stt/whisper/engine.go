// Package whisper hears speech with whisper.cpp inside this process. One Engine holds the weights once and a pool of
// recognisers, each with its own state and its own thread.
package whisper

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	"riposte/audio/mel"
	"riposte/budget"
	"riposte/stt"
)

// Engine is a stt.Recognizer on a Whisper model. Its exported fields are options, to be set before Open; between Open and
// Close any number of goroutines may call Listen.
type Engine struct {
	Model    string           // The file of the model, in ggml's format.
	Threads  int              // The most threads for one pass. It defaults to 2, or 1 on a single core.
	States   int              // Passes at once. It defaults to the cores.
	Window   int              // The smallest window, in encoder positions of 20 ms. It defaults to what the models bear; 1500 hears as slowly and as well as the model can.
	Language string           // What Options without a language mean. It defaults to "": the model finds out.
	Executor *budget.Executor // Shares the cores with others. It defaults to nil: every pass begins at once.
	Log      *slog.Logger     // Where whisper's own words go, at debug level. It defaults to nowhere.

	model   *model
	filters mel.Bank
	jobs    chan job
	life    context.Context
	end     context.CancelCauseFunc
	workers sync.WaitGroup

	mu     sync.Mutex
	closed bool
	passes sync.WaitGroup // Joined under mu, while not closed.
}

var _ stt.Recognizer = (*Engine)(nil)

// Open checks and loads the model, makes the recognisers and lets each hear a second of noise, so that the first caller
// does not pay for it. When it fails nothing is left to close.
func (e *Engine) Open(ctx context.Context) error {
	e.Threads = orDefault(e.Threads, min(2, runtime.NumCPU()))
	e.States = orDefault(e.States, runtime.NumCPU())
	e.Window = min(orDefault(e.Window, minWindow), FullWindow)
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	if !available {
		return ErrUnavailable
	}
	filters, err := checkFile(e.Model)
	if err != nil {
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
	e.model, e.filters = m, filters
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

// Close ends every stream with ErrClosed, waits until the last pass has stopped and frees the model. It may be called
// again, but not at the same time.
func (e *Engine) Close() error {
	if e.model == nil {
		return nil
	}
	e.end(ErrClosed)
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.passes.Wait()
	e.workers.Wait()
	e.model.free()
	e.model = nil
	return nil
}

// start lets do run beside its caller, for Close to wait for. It reports whether the engine is still open.
func (e *Engine) start(do func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return false
	}
	e.passes.Go(do)
	return true
}

// easy is how much speech, in samples, is heard in one go before it is cut at its pauses.
func (e *Engine) easy() int {
	if e.Window == FullWindow {
		return longest
	}
	return comfortable
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
