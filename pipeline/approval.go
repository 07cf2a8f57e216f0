package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"riposte/llm"
	"riposte/transport"
)

// This file is calls of which the caller's side has to approve. Such a call ends its answer as one that the client makes does. When all that
// the answer asked for were decided, a turn of its own runs what was approved, and the model answers.

// approved is a call that may be run now.
type approved struct {
	call    llm.ToolCall
	server  string
	request string // The item that asked.
}

// errNotAsked says that an item asks for no approval, or has had it.
var errNotAsked = errors.New("it waits for no approval")

// decide notes what the caller's side says to a call. Where that was the last one of its answer that was open, it returns those that were
// approved; done says that it was.
func (h *history) decide(in transport.Approve) (may []approved, done bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(in.Request)
	switch {
	case e == nil || e.untold:
		return nil, false, wrongPart(transport.PartRequest, "item %q: %w", in.Request, errNoItem)
	case e.call == nil || !e.call.asked || e.call.decided || e.call.cancelled:
		return nil, false, wrongPart(transport.PartRequest, "item %q: %w", in.Request, errNotAsked)
	}
	e.call.decided = true
	if !in.Yes {
		e.call.outcome, e.call.text = "denied", "This call was not allowed."
		if in.Reason != "" {
			e.call.text += " The reason that was given: " + in.Reason
		}
	}
	for _, other := range h.items {
		if other.makes() && other.answer == e.answer && other.call.asked && !other.call.cancelled {
			if !other.call.decided {
				return nil, false, nil
			}
			if !other.call.over() && !other.call.moved {
				may = append(may, approved{other.call.ToolCall, other.call.server, other.id})
			}
		}
	}
	return may, true, nil
}

// move notes that a call which was approved is another item from now on.
func (h *history) move(request string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.find(request); e != nil && e.call != nil {
		e.call.moved = true
	}
}

// approve takes what the caller's side says to a call.
func (l *listener) approve(in transport.Approve) error {
	if in.Item == "" {
		in.Item = newID("item")
	}
	may, done, err := l.history.decide(in)
	if err != nil {
		wrong, _ := errors.AsType[*partError](err)
		return l.Call.Send(l.ctx, transport.Fault{Ref: in.Ref, Part: wrong.named(), Code: "invalid_value", Message: err.Error()})
	}
	if err := l.Call.Send(l.ctx, transport.Approved{Approve: in}); err != nil || !done {
		return err
	}
	t := &turn{clock: clockOf(time.Now()), respond: true, settings: l.settings, approved: may}
	return l.enqueue(t, in.Ref)
}

// perform runs calls that were approved, before the model goes on.
func (m *mind) perform(t *turn) error {
	s := newStep()
	for _, a := range t.approved {
		if s.asked == mostCalls {
			break
		}
		m.history.move(a.request)
		c := called{turn: t, call: a.call, words: t.answer.Item, server: a.server, wait: s, asked: a.request}
		if err := put(t.ctx, m.calls, c); err != nil {
			return err
		}
		s.asked++
	}
	if !m.await(t, s) {
		return fmt.Errorf("calls that were approved: %w", context.Cause(t.ctx))
	}
	return nil
}
