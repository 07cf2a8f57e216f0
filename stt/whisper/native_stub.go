//go:build !cgo

package whisper

// available reports whether there is a recogniser in this binary.
const available = false

// model stands for the native one in a binary without cgo; none is ever made.
type model struct{}

func loadModel(string) (*model, string, error) { return nil, "", ErrUnavailable }

func (*model) free() {}

func (*model) knows(string) bool { return false }

func (*model) translates() bool { return false }

func (*model) newEar() (*ear, string, error) { return nil, "", ErrUnavailable }

// ear stands for the native one in a binary without cgo; none is ever made.
type ear struct{}

func (*ear) close() {}

func (*ear) stop() {}

func (*ear) ready() {}

func (*ear) decode(request) (heard, error) { return heard{}, ErrUnavailable }

func (*ear) ends(request, heard, int) ([]float32, error) { return nil, ErrUnavailable }

func takeLog() string { return "" }
