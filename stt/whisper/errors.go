package whisper

import "errors"

// ErrUnavailable reports that this binary was built without cgo and so has no native recogniser in it.
var ErrUnavailable = errors.New("whisper is not in this binary: it was built without cgo")

// ErrModel reports a model file that is missing, cut short or not a Whisper model in ggml's format. What wraps it names
// the file and the way to mend it.
var ErrModel = errors.New("unusable whisper model")

// ErrLanguage reports a language that the loaded model does not know.
var ErrLanguage = errors.New("language not known to the model")

// ErrClosed reports a call to an engine that was closed or never opened.
var ErrClosed = errors.New("whisper engine is closed")

// errStopped reports that a decode was told to stop; callers see the cause of their context instead.
var errStopped = errors.New("decode stopped")
