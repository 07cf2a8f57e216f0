package realtime

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"riposte/transport"
)

// answer is a response that the client is being told of: its items so far, in the order in which they began. Only one goroutine at a time
// tells of it.
type answer struct {
	output   []item
	words    int             // Where in output the item of the newest words is; -1 while there is none.
	text     strings.Builder // All of these,
	previous string          // and the item before theirs.
	encoded  []byte          // The last sound that was sent of it.
}

// answers are those that the client is being told of: one of the conversation, and those beside it.
type answers struct {
	mu  sync.Mutex
	all map[string]*answer
}

// open begins to keep one.
func (a *answers) open(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string]*answer{}
	}
	a.all[id] = &answer{words: -1}
}

// of returns one that is kept; one that nothing is known of where it is not.
func (a *answers) of(r transport.Response) *answer {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one := a.all[r.ID]; one != nil {
		return one
	}
	return &answer{words: -1}
}

func (a *answers) close(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.all, id)
}

// started opens an answer. Its items are opened when they begin.
func (c *call) started(ctx context.Context, r transport.Response) error {
	c.answers.open(r.ID)
	if !r.Aside {
		c.answering.Store(true)
	}
	events := []event{{"response.created", fields{"response": c.response(r, "in_progress", nil)}}}
	if limits := c.server.rates(); limits != nil {
		events = append(events, event{"rate_limits.updated", fields{"rate_limits": limits}})
	}
	return c.sendAll(ctx, events...)
}

// inConversation are events that tell of items as part of the conversation: none for an answer beside it.
func inConversation(r transport.Response, events ...event) []event {
	if r.Aside {
		return nil
	}
	return events
}

// speaks opens the item of an answer's words, and its one part. Where the answer had words before, in another item, that is closed.
func (c *call) speaks(ctx context.Context, out transport.MessageStarted) error {
	r := out.Response
	a := c.answers.of(r)
	events := c.spoken(r, "completed")
	it := answerItem(r, "in_progress", nil)
	a.words, a.previous, a.output = len(a.output), out.Previous, append(a.output, it)
	a.text.Reset()
	return c.sendAll(ctx, slices.Concat(events,
		[]event{{"response.output_item.added", fields{"response_id": r.ID, "output_index": a.words, "item": it}}},
		inConversation(r, event{"conversation.item.added", fields{"previous_item_id": orNull(out.Previous), "item": it}}),
		[]event{{"response.content_part.added", c.part(r, "")}},
	)...)
}

// spoken closes the item of an answer's newest words, if it has any: completed, or incomplete.
func (c *call) spoken(r transport.Response, status string) (events []event) {
	a := c.answers.of(r)
	if a.words < 0 {
		return nil
	}
	r.Item = a.output[a.words].ID
	text := a.text.String()
	it := answerItem(r, status, &text)
	a.output[a.words] = it
	key := "text"
	if !r.Written {
		key = "transcript"
		events = append(events, event{"response.output_audio.done", c.place(r, fields{})})
	}
	events = append(events,
		event{textEvent(r) + ".done", c.place(r, fields{key: text})},
		event{"response.content_part.done", c.part(r, text)},
		event{"response.output_item.done", fields{"response_id": r.ID, "output_index": a.words, "item": it}},
	)
	return append(events, inConversation(r, event{"conversation.item.done", fields{"previous_item_id": orNull(a.previous), "item": it}})...)
}

// called tells of a call, whole: it is checked before anybody is told of it, so it does not come in parts.
func (c *call) called(ctx context.Context, out transport.Called) error {
	if out.Item.Asked {
		return c.wants(ctx, out)
	}
	if out.Item.Server != "" {
		return c.runs(ctx, out)
	}
	r := out.Response
	a := c.answers.of(r)
	at := len(a.output)
	whole := writtenItem(out.Item)
	empty, begun := "", whole
	begun.Status, begun.Arguments = "in_progress", &empty
	a.output = append(a.output, whole)
	place := func(f fields) fields {
		f["response_id"], f["item_id"], f["output_index"], f["call_id"] = r.ID, whole.ID, at, whole.CallID
		return f
	}
	return c.sendAll(ctx, slices.Concat(
		[]event{{"response.output_item.added", fields{"response_id": r.ID, "output_index": at, "item": begun}}},
		inConversation(r, event{"conversation.item.added", fields{"previous_item_id": orNull(out.Previous), "item": begun}}),
		[]event{
			{"response.function_call_arguments.delta", place(fields{"delta": *whole.Arguments})},
			{"response.function_call_arguments.done", place(fields{"name": whole.Name, "arguments": *whole.Arguments})},
			{"response.output_item.done", fields{"response_id": r.ID, "output_index": at, "item": whole}},
		},
		inConversation(r, event{"conversation.item.done", fields{"previous_item_id": orNull(out.Previous), "item": whole}}),
	)...)
}

// done closes what is open of an answer.
func (c *call) done(ctx context.Context, out transport.ResponseDone) error {
	r := out.Response
	a := c.answers.of(r)
	status := "completed"
	if out.Status != transport.Completed {
		status = "incomplete"
	}
	events := c.spoken(r, status)
	full := c.response(r, string(out.Status), a.output)
	full["status_details"] = details(out)
	full["usage"] = usage(out.Usage)
	c.answers.close(r.ID)
	if !r.Aside {
		c.answering.Store(false)
	}
	if err := c.sendAll(ctx, append(events, event{"response.done", fields{"response": full}})...); err != nil || r.Aside {
		return err
	}
	return c.play(ctx, out)
}

// place adds to f where in the answer its words belong.
func (c *call) place(r transport.Response, f fields) fields {
	f["response_id"], f["item_id"], f["output_index"], f["content_index"] = r.ID, r.Item, max(0, c.answers.of(r).words), 0
	return f
}

// appendPlace is place for an event that is written by hand.
func (c *call) appendPlace(b []byte, r transport.Response) []byte {
	b = append(b, `"response_id":"`...)
	b = append(b, r.ID...) // IDs are our own and need no escaping
	b = append(b, `","item_id":"`...)
	b = append(b, r.Item...)
	b = append(b, `","output_index":`...)
	b = strconv.AppendInt(b, int64(max(0, c.answers.of(r).words)), 10)
	return append(b, `,"content_index":0`...)
}

func (c *call) part(r transport.Response, text string) fields {
	p := content{Type: "audio", Transcript: &text}
	if r.Written {
		p = content{Type: "text", Text: text}
	}
	return c.place(r, fields{"part": p})
}
