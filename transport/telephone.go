package transport

import (
	"context"
	"errors"
)

// Telephone is a Call that came by telephone. What the line cannot do is ErrCannot.
type Telephone interface {
	Call
	// Parties says who is on the line.
	Parties() Parties
	// Press sends keys of a telephone, 0 to 9, *, #, A to D, and w for half a second of waiting, to whoever is at the other end.
	Press(ctx context.Context, keys string) error
	// Transfer leads the caller to somebody else, a number or whatever the line takes for one, and ends the call. note is for the one who takes over.
	Transfer(ctx context.Context, to, note string) error
	// HangUp ends the call once the caller has heard what was sent.
	HangUp(ctx context.Context) error
}

// Parties are the two ends of a telephone call, as the line names them; empty where it does not.
type Parties struct {
	From string // Who calls.
	To   string // What was dialled.
	Line string // What the far side calls the call.
	// Placed says that the call was placed: To was called, and has answered.
	Placed   bool
	Answerer Answerer // Who has, where the line says so.
}

// Answerer is who has answered a call that was placed, in the words of a line; empty where it does not know.
type Answerer string

// The answerers.
const (
	Human    Answerer = "human"
	Machine  Answerer = "machine"  // It says its greeting.
	Recorder Answerer = "recorder" // A machine that has said it, and records.
	Fax      Answerer = "fax"
)

// The ways in which the service ends a telephone call.
var (
	// ErrEnded says that the service hung up.
	ErrEnded = errors.New("the service hung up")
	// ErrTransferred says that the caller was led to somebody else.
	ErrTransferred = errors.New("the caller was led to somebody else")
	// ErrMachine says that a machine had answered, and the service hung up.
	ErrMachine = errors.New("a machine had answered")
)
