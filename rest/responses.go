package rest

import (
	"crypto/rand"
	"errors"
	"time"

	"riposte/llm"
)

// respond answers POST /v1/responses.
func (s *Server) respond(x *exchange) error {
	var q responseRequest
	if err := s.readJSON(x, &q); err != nil {
		return err
	}
	route, set, err := s.find(x, q.Model, s.Models.LLM)
	if err != nil {
		return err
	}
	r, err := q.request(set)
	if err != nil {
		return err
	}
	release, err := s.Admit()
	if err != nil {
		return err
	}
	defer release()
	a := response{responseObject: q.object(r), x: x, tell: q.Stream != nil && *q.Stream}
	a.ID, a.CreatedAt = "resp_"+rand.Text(), time.Now().Unix()
	for p, err := range s.Engines(route).LLM.Generate(x.ctx, r) {
		if err != nil {
			return a.failed(blamed(r, err))
		}
		x.piece(p)
		if err := a.add(p); err != nil {
			return err
		}
	}
	if a.tell {
		return nil
	}
	return x.reply(a.responseObject)
}

// response is a response in the making. Each step of it is told where it is streamed.
type response struct {
	responseObject
	x     *exchange
	tell  bool
	count int // Events told.

	message *messageItem // What is being said; nil while nothing is.
}

// fields are those of an event, besides its type and number.
type fields = map[string]any

// event tells of a step.
func (a *response) event(name string, f fields) error {
	if !a.tell {
		return nil
	}
	f["type"], f["sequence_number"] = name, a.count
	a.count++
	return a.x.event(name, f)
}

// add takes the next piece of the answer.
func (a *response) add(p llm.Piece) error {
	if a.count == 0 && a.tell {
		if err := errors.Join(a.event("response.created", fields{"response": a.responseObject}), a.event("response.in_progress", fields{"response": a.responseObject})); err != nil {
			return err
		}
	}
	switch {
	case p.Usage != nil:
		return a.finish(p.Usage)
	case p.Call != nil:
		if err := a.close("completed"); err != nil {
			return err
		}
		return a.call(p.Call)
	case p.Text != "" || len(p.Tokens) > 0:
		return a.say(p)
	}
	return nil
}

// say adds to what is being said.
func (a *response) say(p llm.Piece) error {
	if a.message == nil {
		a.message = &messageItem{ID: "msg_" + rand.Text(), Type: "message", Status: "in_progress", Role: "assistant", Content: []textPart{}}
		if err := a.event("response.output_item.added", fields{"output_index": len(a.Output), "item": a.message}); err != nil {
			return err
		}
		a.message.Content = []textPart{{Type: "output_text", Annotations: []any{}, LogProbs: []tokenOdds{}}}
		if err := a.event("response.content_part.added", a.in(fields{"part": a.message.Content[0]})); err != nil {
			return err
		}
	}
	part := &a.message.Content[0]
	odds := oddsOf(p.Tokens)
	part.Text += p.Text
	part.LogProbs = append(part.LogProbs, odds...)
	return a.event("response.output_text.delta", a.in(fields{"delta": p.Text, "logprobs": odds}))
}

// in says where in the answer an event about what is being said belongs.
func (a *response) in(f fields) fields {
	f["item_id"], f["output_index"], f["content_index"] = a.message.ID, len(a.Output), 0
	return f
}

// close ends what is being said, if anything is.
func (a *response) close(status string) error {
	m := a.message
	if m == nil {
		return nil
	}
	part := m.Content[0]
	m.Status = status
	err := errors.Join(
		a.event("response.output_text.done", a.in(fields{"text": part.Text, "logprobs": part.LogProbs})),
		a.event("response.content_part.done", a.in(fields{"part": part})),
		a.event("response.output_item.done", fields{"output_index": len(a.Output), "item": m}),
	)
	a.Output, a.message = append(a.Output, m), nil
	return err
}

// call adds a call.
func (a *response) call(c *llm.ToolCall) error {
	item := callItem{ID: "fc_" + rand.Text(), Type: "function_call", Status: "in_progress", CallID: c.ID, Name: c.Name}
	at, arguments := len(a.Output), argumentsOf(c)
	err := errors.Join(
		a.event("response.output_item.added", fields{"output_index": at, "item": item}),
		a.event("response.function_call_arguments.delta", fields{"item_id": item.ID, "output_index": at, "delta": arguments}),
		a.event("response.function_call_arguments.done", fields{"item_id": item.ID, "output_index": at, "name": c.Name, "arguments": arguments}),
	)
	item.Status, item.Arguments = "completed", arguments
	a.Output = append(a.Output, item)
	return errors.Join(err, a.event("response.output_item.done", fields{"output_index": at, "item": item}))
}

// finish ends the answer.
func (a *response) finish(u *llm.Usage) error {
	a.end(u, time.Now().Unix())
	if err := a.close(a.Status); err != nil {
		return err
	}
	return a.event("response."+a.Status, fields{"response": a.responseObject})
}

// failed tells of an error in the form of the stream, where one is under way.
func (a *response) failed(err error) error {
	if a.count == 0 || a.x.r.Context().Err() != nil {
		return err
	}
	p := problemOf(a.x.note.Stage, err)
	a.x.failed(p, err)
	a.Status, a.Error = "failed", fields{"code": "server_error", "message": p.Message}
	return a.event("response.failed", fields{"response": a.responseObject})
}
