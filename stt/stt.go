// Package stt is what the pipeline knows of speech recognition.
package stt

import (
	"context"
	"time"

	"riposte/audio"
)

// Transcriber turns speech into text. It is safe for use by many callers at once.
type Transcriber interface {
	// Transcribe returns what was said in speech, which is mono at audio.SpeechRate. A transcript without text and
	// without an error means that nobody said anything. When ctx ends, Transcribe returns its cause within 50 ms.
	Transcribe(ctx context.Context, speech audio.PCM, o Options) (Transcript, error)
}

// Options says how one piece of speech is to be heard. The zero value is ready to use.
type Options struct {
	Language string // ISO 639-1, such as "en"; empty lets the model find out where it can.
	Prompt   string // Words that are likely, such as names; it may be empty.
}

// Transcript is what was heard.
type Transcript struct {
	Text     string        // Trimmed; empty when there was no speech.
	Language string        // ISO 639-1 of the language heard.
	Speech   time.Duration // How much sound was listened to.
	Queued   time.Duration // How long it waited for a free recogniser.
}

// TranscriberFunc lets a function be a Transcriber.
type TranscriberFunc func(ctx context.Context, speech audio.PCM, o Options) (Transcript, error)

// Transcribe calls f.
func (f TranscriberFunc) Transcribe(ctx context.Context, speech audio.PCM, o Options) (Transcript, error) {
	return f(ctx, speech, o)
}
