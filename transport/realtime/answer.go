package realtime

import (
	"context"
	"strconv"
	"strings"

	"riposte/transport"
)

// answer is the response that the client is being told of: its items so far, in the order in which they began. There is one at a
// time, and one goroutine tells of it.
type answer struct {
	output   []item
	words    int             // Where in output the item of the newest words is; -1 while there is none.
	text     strings.Builder // All of these,
	previous string          // and the item before theirs.
}

// started opens an answer. Its items are opened when they begin.
func (c *call) started(ctx context.Context, r transport.Response) error {
	c.answer = answer{words: -1}
	c.answering.Store(true)
	return c.send(ctx, "response.created", fields{"response": c.response(r, "in_progress", nil)})
}

// speaks opens the item of an answer's words, and its one part. Where the answer had words before, in another item, that is closed.
func (c *call) speaks(ctx context.Context, out transport.MessageStarted) error {
	r := out.Response
	a := &c.answer
	events := c.spoken(r, "completed")
	it := answerItem(r, "in_progress", nil)
	a.words, a.previous, a.output = len(a.output), out.Previous, append(a.output, it)
	a.text.Reset()
	return c.sendAll(ctx, append(events,
		event{"response.output_item.added", fields{"response_id": r.ID, "output_index": a.words, "item": it}},
		event{"conversation.item.added", fields{"previous_item_id": orNull(out.Previous), "item": it}},
		event{"response.content_part.added", c.part(r, "")},
	)...)
}

// spoken closes the item of an answer's newest words, if it has any: completed, or incomplete.
func (c *call) spoken(r transport.Response, status string) (events []event) {
	a := &c.answer
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
	return append(events,
		event{textEvent(r) + ".done", c.place(r, fields{key: text})},
		event{"response.content_part.done", c.part(r, text)},
		event{"response.output_item.done", fields{"response_id": r.ID, "output_index": a.words, "item": it}},
		event{"conversation.item.done", fields{"previous_item_id": orNull(a.previous), "item": it}},
	)
}

// called tells of a call, whole: it is checked before anybody is told of it, so it does not come in parts.
func (c *call) called(ctx context.Context, out transport.Called) error {
	if out.Item.Server != "" {
		return c.runs(ctx, out)
	}
	r, at := out.Response, len(c.answer.output)
	whole := writtenItem(out.Item)
	empty, begun := "", whole
	begun.Status, begun.Arguments = "in_progress", &empty
	c.answer.output = append(c.answer.output, whole)
	place := func(f fields) fields {
		f["response_id"], f["item_id"], f["output_index"], f["call_id"] = r.ID, whole.ID, at, whole.CallID
		return f
	}
	return c.sendAll(ctx,
		event{"response.output_item.added", fields{"response_id": r.ID, "output_index": at, "item": begun}},
		event{"conversation.item.added", fields{"previous_item_id": orNull(out.Previous), "item": begun}},
		event{"response.function_call_arguments.delta", place(fields{"delta": *whole.Arguments})},
		event{"response.function_call_arguments.done", place(fields{"name": whole.Name, "arguments": *whole.Arguments})},
		event{"response.output_item.done", fields{"response_id": r.ID, "output_index": at, "item": whole}},
		event{"conversation.item.done", fields{"previous_item_id": orNull(out.Previous), "item": whole}},
	)
}

// done closes what is open of an answer.
func (c *call) done(ctx context.Context, out transport.ResponseDone) error {
	r := out.Response
	a := &c.answer
	status := "completed"
	if out.Status != transport.Completed {
		status = "incomplete"
	}
	events := c.spoken(r, status)
	full := c.response(r, string(out.Status), a.output)
	full["status_details"] = details(out)
	full["usage"] = usage(out.Usage)
	c.answering.Store(false)
	if err := c.sendAll(ctx, append(events, event{"response.done", fields{"response": full}})...); err != nil {
		return err
	}
	return c.play(ctx, out)
}

// place adds to f where in the answer its words belong.
func (c *call) place(r transport.Response, f fields) fields {
	f["response_id"], f["item_id"], f["output_index"], f["content_index"] = r.ID, r.Item, max(0, c.answer.words), 0
	return f
}

// appendPlace is place for an event that is written by hand.
func (c *call) appendPlace(b []byte, r transport.Response) []byte {
	b = append(b, `"response_id":"`...)
	b = append(b, r.ID...) // IDs are our own and need no escaping
	b = append(b, `","item_id":"`...)
	b = append(b, r.Item...)
	b = append(b, `","output_index":`...)
	b = strconv.AppendInt(b, int64(max(0, c.answer.words)), 10)
	return append(b, `,"content_index":0`...)
}

func (c *call) part(r transport.Response, text string) fields {
	p := content{Type: "audio", Transcript: &text}
	if r.Written {
		p = content{Type: "text", Text: text}
	}
	return c.place(r, fields{"part": p})
}
