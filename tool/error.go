package tool

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Kind is what became of a call.
type Kind string

// What can become of a call. They label metrics and traces.
const (
	OK             Kind = "ok"
	Failed         Kind = "failed"          // The tool says that it could not do it.
	WrongArguments Kind = "wrong_arguments" // They are not as the tool's parameters say, and nothing was run.
	TimedOut       Kind = "timed_out"       // The tool took too long.
	Unavailable    Kind = "unavailable"     // The tool cannot be reached.
	Cancelled      Kind = "cancelled"       // Nobody wanted the result any more.
	Unknown        Kind = "unknown"         // There is no such tool.
)

// Error is a call that brought no result. Its text is for the model to read, and never has a secret in it.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Outcome is what became of the call, in a word.
func (e *Error) Outcome() string { return string(e.Kind) }

// Errorf makes an Error.
func Errorf(k Kind, format string, args ...any) *Error {
	return &Error{Kind: k, Text: fmt.Sprintf(format, args...)}
}

// outcome says what became of a call that had the given time, as an *Error unless it succeeded. ctx is what it ran under, and asked what it
// was asked for under.
func outcome(asked, ctx context.Context, timeout time.Duration, err error) error {
	known, ok := errors.AsType[*Error](err)
	switch {
	case asked.Err() != nil:
		return Errorf(Cancelled, "Cancelled before there was a result.")
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return Errorf(TimedOut, "The tool brought no result within %v.", timeout)
	case ok:
		return known
	}
	return Errorf(Failed, "The tool failed: %.500s", err.Error())
}
