package pipeline

import (
	"fmt"
	"slices"
	"time"

	"riposte/llm"
	"riposte/llm/toolcall"
	"riposte/transport"
)

// This file is what a conversation knows of tools. A call and its result are items of their own. For the model each call is
// followed by a result, whatever happened: one that has none yet says so, and so does one that was cancelled.

// call is a call of a tool. The entry of a result has the same one as the call's.
type call struct {
	llm.ToolCall
	made      time.Time
	result    string // The item of its result; empty while there is none.
	server    string // Who runs it, where the service does: then its result is no item, but
	outcome   string // this, in a word, empty while there is none,
	text      string // and what the model reads of it.
	asked     bool   // It waits until the caller's side approves of it,
	decided   bool   // which has said something to it.
	request   string // The item that asked, where it was approved.
	moved     bool   // It was approved, and is another item now.
	cancelled bool   // The answer that it is part of was: nobody waits for the result.
	read      bool   // The result was part of what the model has answered.
}

// What the model reads where a call has no result.
const (
	pending    = "There is no result yet: it is still being worked on."
	unapproved = "There is no result yet: somebody has to approve of this call first."
	cancelled  = "Cancelled before there was a result."
)

// newCall returns the call that an item is, or is the result of; nil for what is said.
func (h *history) newCall(it transport.Item) (*call, error) {
	switch {
	case it.Call == nil:
		return nil, nil
	case it.Role == llm.ToolRole:
		c := h.callOf(it.Call.ID)
		if c == nil {
			return nil, wrongPart(transport.PartCall, "there is no call %q in the conversation that this could be the result of", it.Call.ID)
		}
		if c.server != "" {
			return nil, wrongPart(transport.PartCall, "the service runs the call %q itself", it.Call.ID)
		}
		if c.result != "" {
			return nil, wrongPart(transport.PartCall, "the call %q has its result already, the item %q", it.Call.ID, c.result)
		}
		return c, nil
	case h.callOf(it.Call.ID) != nil:
		return nil, wrongPart(transport.PartCall, "the call %q is already in the conversation", it.Call.ID)
	}
	return &call{ToolCall: *it.Call, made: time.Now(), server: it.Server, asked: it.Asked, request: it.Request}, nil
}

// over reports whether there is a result, or will be none.
func (c *call) over() bool { return c.result != "" || c.outcome != "" || c.moved }

// ran notes the result of a call that the service has run.
func (h *history) ran(it transport.Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e := h.find(it.ID); e != nil && e.makes() && !e.call.over() {
		e.call.text, e.call.outcome = it.Text, it.Outcome
	}
}

// knows reports whether there is a call of an ID.
func (h *history) knows(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.callOf(id) != nil
}

// callOf returns the call of an ID, nil if there is none.
func (h *history) callOf(id string) *call {
	for _, e := range h.items {
		if e.call != nil && e.call.ID == id {
			return e.call
		}
	}
	return nil
}

// cancel notes that an answer was cancelled, and with it those of its calls that have no result; every answer if it is empty.
func (h *history) cancel(answer string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.items {
		if e.makes() && (answer == "" || e.answer == answer) && !e.call.over() {
			e.call.cancelled = true
		}
	}
}

// waiting reports whether a call that was made after the given time waits for its result.
func (h *history) waiting(since time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.items, func(e *entry) bool {
		return e.makes() && !e.call.over() && !e.call.cancelled && e.call.made.After(since)
	})
}

// steps returns how many answers, or steps of them, have called tools since the caller last said something.
func (h *history) steps() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	answers := map[string]bool{}
	for _, e := range slices.Backward(h.items) {
		if e.role == llm.User && e.text != "" {
			break
		}
		if e.makes() && e.answer != "" {
			answers[e.part()] = true
		}
	}
	return len(answers)
}

// readResults notes that the model answers all results that there are. It reports whether there were any that it had not read.
func (h *history) readResults() (unread bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.items {
		if e.makes() && e.call.over() && !e.call.read {
			e.call.read, unread = true, true
		}
	}
	return unread
}

// part names the answer, and the step of it, that an entry is part of; empty for what is not the model's.
func (e *entry) part() string {
	if e.step == 0 {
		return e.answer
	}
	return fmt.Sprint(e.answer, "/", e.step)
}

// makes reports whether an entry is a call, and not the result of one.
func (e *entry) makes() bool { return e.call != nil && e.role != llm.ToolRole }

// calledAt returns the call that the model is to read at an item, if any, and its result. A call is read where it was made. Where
// other things were said before its result came, both are read where that came, so that the model goes on from there; but not
// where the call was cancelled, since the conversation has gone on from something else.
func (h *history) calledAt(i int) (made *entry, result string, ok bool) {
	c := h.items[i].call
	switch {
	case c.moved:
		return nil, "", false
	case c.outcome != "":
		return h.items[i], c.text, true
	case c.asked && !c.cancelled:
		return h.items[i], unapproved, true
	}
	back := slices.IndexFunc(h.items, func(e *entry) bool { return e.id == c.result })
	if back < 0 {
		if c.cancelled {
			return h.items[i], cancelled, true
		}
		return h.items[i], pending, true
	}
	from := slices.IndexFunc(h.items, func(e *entry) bool { return e.call == c && e.makes() })
	at := back
	if c.cancelled || !h.spokenBetween(from, back) {
		at = from
	}
	return h.items[from], h.items[back].text, i == at
}

// spokenBetween reports whether something was said between two items.
func (h *history) spokenBetween(a, b int) bool {
	return slices.ContainsFunc(h.items[min(a, b):max(a, b)], func(e *entry) bool { return e.call == nil && e.text != "" })
}

// checkCall says why a call cannot be made under the settings. What the service runs itself it checks itself, and tells the model.
func (s *Session) checkCall(settings transport.Settings, c llm.ToolCall) error {
	if settings.Choice == llm.ChoiceNone {
		return fmt.Errorf("%w: it may call none, and called %q", toolcall.ErrCall, c.Name)
	}
	if s.runs(settings, c.Name) != "" {
		return nil
	}
	return toolcall.CheckCall(settings.Tools, c)
}

// prompt is a conversation as the model reads it, in the making.
type prompt struct {
	messages []llm.Message
	answer   string // That the newest words or calls of the assistant are part of.
}

// say adds something that was said.
func (p *prompt) say(m llm.Message, answer string) {
	p.messages, p.answer = append(p.messages, m), answer
}

// call adds a call with its result: to the words before it, and to the other calls of the same answer.
func (p *prompt) call(c llm.ToolCall, answer, result string) {
	last := len(p.messages) - 1
	at := last
	for at >= 0 && p.messages[at].Role == llm.ToolRole {
		at--
	}
	words := at >= 0 && at == last && p.messages[at].Role == llm.Assistant && len(p.messages[at].Calls) == 0
	if !words && (at < 0 || answer == "" || answer != p.answer) {
		p.messages = append(p.messages, llm.Message{Role: llm.Assistant})
		at = len(p.messages) - 1
	}
	p.messages[at].Calls = append(p.messages[at].Calls, c)
	p.messages = append(p.messages, llm.Message{Role: llm.ToolRole, Call: c.ID, Text: result})
	p.answer = answer
}

// sameMessage reports whether two messages are the same to the letter.
func sameMessage(a, b llm.Message) bool {
	return a.Role == b.Role && a.Text == b.Text && a.Call == b.Call &&
		slices.EqualFunc(a.Calls, b.Calls, func(a, b llm.ToolCall) bool { return a.ID == b.ID })
}
