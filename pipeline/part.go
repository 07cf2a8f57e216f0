package pipeline

import (
	"fmt"

	"riposte/transport"
)

// partError says what of an item is wrong that the caller's side wants in the conversation.
type partError struct {
	part transport.Part
	err  error
}

func wrongPart(part transport.Part, format string, args ...any) error {
	return &partError{part, fmt.Errorf(format, args...)}
}

func (e *partError) Error() string { return e.err.Error() }

func (e *partError) Unwrap() error { return e.err }

// named returns which part it is; empty for an error about all of the item, which is nil.
func (e *partError) named() transport.Part {
	if e == nil {
		return ""
	}
	return e.part
}
