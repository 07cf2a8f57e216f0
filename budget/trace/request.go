package trace

import (
	"context"
	"time"

	"riposte/budget"
)

// Request is one request over REST that has ended.
type Request struct {
	ID       string       // As its client was told it, in the header X-Request-Id.
	Endpoint string       // The path, such as "/v1/chat/completions"; "other" for one that there is not.
	Stage    budget.Stage // What answers there; empty for what needs no engine.
	Route    string       // By which it was answered, such as "default".
	Model    string       // That was asked for; empty where none was, or one that there is not.
	Version  string       // Of the service.
	Parent   string       // W3C traceparent that its client sent; empty without one.
	Began    time.Time
	Ended    time.Time
	Status   int    // Of HTTP, as it was told or would have been; Left where the client did not wait for it.
	Code     string // What was wrong, such as "model_not_found"; empty where nothing was.

	First  time.Duration // From the beginning to the first token, sentence or sound that the engine brought; 0 where none came.
	Tokens Tokens
	Sound  time.Duration // That was listened to, or spoken.
	Work   Work          // What all engines of this machine did for it.
}

// Left is the status of a request whose client has left before the end of its answer. HTTP has none for that; nginx's is used by many.
const Left = 499

// Aside is an answer beside the conversation of a call, which has ended.
type Aside struct {
	ID     string // Of the response on the wire.
	Call   string
	Route  string
	Model  string
	Began  time.Time
	Ended  time.Time
	Status string // How it ended: "completed", "cancelled", "failed", "incomplete".
	Reason string // Why, where it was not completed.
	Tokens Tokens
	Sound  time.Duration // That was spoken.
}

// Context returns a context for what is done for a request of which a span is made: its place is that of a call.
func (r Request) Context(ctx context.Context) context.Context {
	return InCall(ctx, Call{ID: r.ID, Parent: r.Parent})
}
