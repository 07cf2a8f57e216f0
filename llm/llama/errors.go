package llama

import "errors"

var (
	// ErrClosed reports that the engine was closed, or is not open yet.
	ErrClosed = errors.New("the language model is closed")
	// ErrNoMessages reports a request in which nobody says anything.
	ErrNoMessages = errors.New("a conversation needs at least one message with text")
	// ErrBadModel reports a model file that is damaged, or no model file at all.
	ErrBadModel = errors.New("not a usable GGUF model file")
	// ErrLibrary reports that llama.cpp is missing, damaged, or not the version this program was written for.
	ErrLibrary = errors.New("llama.cpp cannot be used")
	// ErrNoGPU reports that layers are to be on a GPU and llama.cpp sees none: it was built without a backend for one, or
	// the backend finds no driver.
	ErrNoGPU = errors.New("layers are to be on a GPU, but llama.cpp sees none here")

	// errStopped reports that a step was given up because nobody wants its result any more.
	errStopped = errors.New("the step was stopped")
)
