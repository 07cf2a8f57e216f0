package trace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"riposte/budget"
)

// This file is how W3C Trace Context (https://www.w3.org/TR/trace-context) passes through the service. The IDs of all spans
// follow from those of the call and the turn: so a remote engine can be told while a turn lasts which span it works for,
// though spans are made when the turn has ended, and nobody has to hold them until then.

// key is what a context holds of a trace.
type key struct{}

// place is where in a trace some work is done.
type place struct {
	parent string // The traceparent that the caller's side sent.
	call   *Call  // nil where no spans are made.
	turn   string // Empty outside of turns.
}

// WithParent returns a context of a call whose caller's side sent this traceparent. One that is not valid is ignored, as the
// standard wants it.
func WithParent(ctx context.Context, traceparent string) context.Context {
	traceparent = strings.TrimSpace(traceparent)
	if !valid(traceparent) {
		return ctx
	}
	return context.WithValue(ctx, key{}, place{parent: traceparent})
}

// Parent returns the traceparent that the caller's side sent, or nothing.
func Parent(ctx context.Context) string {
	p, _ := ctx.Value(key{}).(place)
	return p.parent
}

// InCall returns a context for what is done in a call of which spans are made.
func InCall(ctx context.Context, c Call) context.Context {
	return context.WithValue(ctx, key{}, place{parent: c.Parent, call: &c})
}

// InTurn returns a context for what is done for a turn, given the turn's ID. Outside of calls it returns ctx.
func InTurn(ctx context.Context, turn string) context.Context {
	p, _ := ctx.Value(key{}).(place)
	if p.call == nil {
		return ctx
	}
	p.turn = turn
	return context.WithValue(ctx, key{}, p)
}

// Traceparent returns what to send in the header "traceparent" with a request that a stage makes: the stage's span where a turn
// is known, else the call's. Where no spans are made it is what the caller's side sent. Empty means to send none.
func Traceparent(ctx context.Context, s budget.Stage) string {
	p, _ := ctx.Value(key{}).(place)
	switch {
	case p.call == nil:
		return p.parent
	case p.turn == "":
		return p.call.traceparent(SpanID(p.call.ID, "", ""))
	default:
		return p.call.traceparent(SpanID(p.call.ID, p.turn, s))
	}
}

// traceparent writes one with a span of the call. The caller's side decides whether the trace is recorded, if it says so.
func (c Call) traceparent(span [8]byte) string {
	id, flags := c.TraceID(), "01"
	if valid(c.Parent) {
		flags = c.Parent[len("00-")+32+1+16+1:][:2]
	}
	return "00-" + hex.EncodeToString(id[:]) + "-" + hex.EncodeToString(span[:]) + "-" + flags
}

// TraceID returns the ID of the trace that the call's spans belong to: that of the caller's side, if it sent one.
func (c Call) TraceID() (id [16]byte) {
	if valid(c.Parent) {
		_, _ = hex.Decode(id[:], []byte(c.Parent[len("00-"):][:32]))
		return id
	}
	sum := sha256.Sum256([]byte("trace\x00" + c.ID))
	copy(id[:], sum[:])
	return id
}

// SpanID returns the ID of a stage's span; of the turn's, without a stage; of the call's, without a turn.
func SpanID(call, turn string, s budget.Stage) (id [8]byte) {
	sum := sha256.Sum256([]byte("span\x00" + call + "\x00" + turn + "\x00" + string(s)))
	copy(id[:], sum[:])
	return id
}

// valid reports whether t is a traceparent. Versions to come may add fields behind those of version 00.
func valid(t string) bool {
	f := strings.Split(t, "-")
	if len(f) < 4 || f[0] == "ff" || f[0] == "00" && len(f) != 4 {
		return false
	}
	for i, n := range []int{2, 32, 16, 2} {
		if len(f[i]) != n || strings.Trim(f[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return strings.Trim(f[1], "0") != "" && strings.Trim(f[2], "0") != ""
}
