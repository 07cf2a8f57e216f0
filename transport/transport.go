// Package transport says what a call is to the pipeline, whichever wire it came by. What the caller does is Inbound, what
// the service does is Outbound; both are closed sets. Wires translate between them and their own messages, and know nothing
// of the pipeline; the pipeline knows nothing of wires.
package transport

import (
	"context"
	"errors"
)

// Call is one caller's line.
//
// Receive and Send may be used at the same time, and Send by several goroutines. When the line is gone both return
// an error; a caller who hung up properly is ErrHungUp.
type Call interface {
	// ID names the call in logs and traces.
	ID() string
	// Receive waits for what the caller does next. When ctx ends it returns its cause, and what comes later is received the next time.
	Receive(ctx context.Context) (Inbound, error)
	// Send tells the caller what happened. It waits no longer than the wire's own limit for slow readers.
	Send(ctx context.Context, out Outbound) error
}

// The ways in which a call ends before its time. They are the causes of its contexts, and each wire says them in its own
// words.
var (
	// ErrHungUp says that the caller ended the call.
	ErrHungUp = errors.New("the caller hung up")
	// ErrSlowReader says that the caller did not take what was sent for longer than the wire's limit.
	ErrSlowReader = errors.New("the caller stopped reading")
	// ErrLost says that the connection to the caller broke, and did not come back within the wire's limit.
	ErrLost = errors.New("the connection to the caller was lost")
	// ErrShutdown says that the service is going down.
	ErrShutdown = errors.New("the service is shutting down")
	// ErrIdle says that the caller did nothing, not even send silence, for longer than the wire's limit.
	ErrIdle = errors.New("nothing has come from the caller for too long")
	// ErrSilent says that the caller said nothing, though asked, for longer than the service waits.
	ErrSilent = errors.New("the caller has said nothing for too long")
	// ErrCannot says that a line has no means for what is asked of it.
	ErrCannot = errors.New("the line cannot do that")
	// ErrExpired says that the call reached the longest time that one may last.
	ErrExpired = errors.New("the call has reached its longest time")
)
