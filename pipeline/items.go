package pipeline

import (
	"errors"
	"fmt"
	"slices"

	"riposte/llm"
	"riposte/transport"
)

// This file is what the caller's side asks of items that are part of the conversation already.

// errInUse says that an item is part of an answer that goes on.
var errInUse = errors.New("the answer that it is part of is still being given: send response.cancel first, or wait until it has been heard")

// look tells the caller's side what an item is now.
func (l *listener) look(in transport.Look) error {
	found, answer, ok := l.history.look(in.Item)
	if !ok {
		return l.noItem(in.Ref, "item_retrieve_invalid_item_id", fmt.Errorf("item %q: %w", in.Item, errNoItem))
	}
	found.Open = l.gives(answer) && found.Item.Call == nil
	if found.Open {
		found.Item.Text = "" // what is heard of it is not known yet
	}
	return l.Call.Send(l.ctx, found)
}

// remove takes an item out of the conversation, as the caller's side asks. A call takes its result with it.
func (l *listener) remove(in transport.Remove) error {
	removed, err := l.history.discard(in.Item, l.gives)
	switch {
	case errors.Is(err, errNoItem):
		return l.noItem(in.Ref, "item_delete_invalid_item_id", err)
	case err != nil:
		return l.fault(in.Ref, "invalid_value", err.Error())
	}
	for _, id := range removed {
		if err := l.Call.Send(l.ctx, transport.Removed{Item: id}); err != nil {
			return err
		}
	}
	return nil
}

// gives reports whether an answer is being given, or heard.
func (l *listener) gives(answer string) bool {
	return answer != "" && slices.ContainsFunc(l.live.all(), func(t *turn) bool { return t.answer.ID == answer })
}

// look returns what an item is that the caller's side knows of, and the answer that it is part of.
func (h *history) look(id string) (found transport.Found, answer string, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(id)
	if e == nil || e.untold {
		return found, "", false
	}
	found = transport.Found{Item: transport.Item{ID: id, Role: e.role, Text: e.text}, Aloud: e.aloud, Cut: e.cut}
	if e.call != nil {
		found.Item.Call = &e.call.ToolCall
		if e.makes() {
			found.Item.Server, found.Item.Outcome, found.Item.Text = e.call.server, e.call.outcome, e.call.text
			found.Item.Asked, found.Item.Request = e.call.asked, e.call.request
			if e.call.cancelled && e.call.server != "" {
				found.Item.Outcome, found.Item.Text = "cancelled", cancelled
			}
		}
	}
	return found, e.answer, true
}

// discard takes out an item that the caller's side knows of, unless it is part of an answer that is being given; and with a call its
// result. It returns what was taken out.
func (h *history) discard(id string, given func(answer string) bool) (removed []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.find(id)
	switch {
	case e == nil || e.untold:
		return nil, fmt.Errorf("item %q: %w", id, errNoItem)
	case given(e.answer):
		return nil, fmt.Errorf("item %q: %w", id, errInUse)
	}
	removed = []string{id}
	switch {
	case e.makes() && e.call.result != "":
		removed = append(removed, e.call.result)
	case e.call != nil && e.role == llm.ToolRole:
		e.call.result, e.call.read = "", false
	}
	h.items = slices.DeleteFunc(h.items, func(e *entry) bool { return slices.Contains(removed, e.id) })
	return removed, nil
}
