package stt

import (
	"context"
	"sync"

	"riposte/audio"
	"riposte/budget"
)

// Whole lets a function that hears speech only as a whole be a Recognizer, without hypotheses.
type Whole func(ctx context.Context, speech audio.PCM, o Options) (Transcript, error)

// Listen begins to keep what is said.
func (w Whole) Listen(o Options) Stream { return &whole{hear: w, options: o} }

// whole keeps what was written until it is heard.
type whole struct {
	hear    Whole
	options Options

	mu     sync.Mutex
	speech audio.PCM
}

func (w *whole) Write(speech audio.PCM) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.speech = append(w.speech, speech...)
}

// Hasten makes no hypothesis: there are none.
func (w *whole) Hasten(budget.Urgency) {}

func (w *whole) Finish(ctx context.Context, _ budget.Urgency) (Transcript, error) {
	w.mu.Lock()
	speech := w.speech[:len(w.speech):len(w.speech)] // what is written later goes elsewhere
	w.mu.Unlock()
	return w.hear(ctx, speech, w.options)
}

func (w *whole) Close() {}
