package realtime

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// fields are a server event's own, beside type and event_id.
type fields map[string]any

// Send tells the client what happened.
func (c *call) Send(ctx context.Context, out transport.Outbound) error {
	switch out := out.(type) {
	case transport.SpeechStarted:
		return c.send(ctx, "input_audio_buffer.speech_started", fields{"item_id": out.Item, "audio_start_ms": out.At.Milliseconds()})
	case transport.SpeechStopped:
		return c.send(ctx, "input_audio_buffer.speech_stopped", fields{"item_id": out.Item, "audio_end_ms": out.At.Milliseconds()})
	case transport.Committed:
		return c.committed(ctx, out)
	case transport.Cleared:
		return c.send(ctx, "input_audio_buffer.cleared", fields{})
	case transport.Added:
		return c.added(ctx, messageItem(out.Item), out.Previous)
	case transport.Removed:
		return c.send(ctx, "conversation.item.deleted", fields{"item_id": out.Item})
	case transport.Truncated:
		return c.send(ctx, "conversation.item.truncated", fields{"item_id": out.Item, "content_index": 0, "audio_end_ms": out.Heard.Milliseconds()})
	case transport.Transcribed:
		if c.current().Audio.Input.Transcription == nil {
			return nil
		}
		return c.send(ctx, "conversation.item.input_audio_transcription.completed", fields{
			"item_id": out.Item, "content_index": 0, "transcript": out.Text,
			"usage": fields{"type": "duration", "seconds": out.Speech.Seconds()},
		})
	case transport.TranscriptionFailed:
		return c.send(ctx, "conversation.item.input_audio_transcription.failed", fields{
			"item_id": out.Item, "content_index": 0,
			"error": fields{"type": "server_error", "code": "transcription_failed", "message": "The speech could not be transcribed.", "param": nil},
		})
	case transport.ResponseStarted:
		return c.started(ctx, out.Response)
	case transport.Words:
		return c.words(ctx, out)
	case transport.Voice:
		return c.voice(ctx, out)
	case transport.ResponseDone:
		return c.done(ctx, out)
	case transport.TurnReport:
		if !slices.Contains(c.current().Include, turnReports) {
			return nil
		}
		return c.send(ctx, turnReports, report(out))
	case transport.Fault:
		return c.fault(ctx, out)
	}
	return nil
}

// committed tells of the item that the caller's speech has become.
func (c *call) committed(ctx context.Context, out transport.Committed) error {
	err := c.send(ctx, "input_audio_buffer.committed", fields{"item_id": out.Item, "previous_item_id": orNull(out.Previous)})
	if err != nil {
		return err
	}
	return c.added(ctx, item{
		ID: out.Item, Object: "realtime.item", Type: "message", Status: "completed", Role: string(llm.User),
		Content: []content{{Type: "input_audio"}},
	}, out.Previous)
}

// added tells of an item that is complete.
func (c *call) added(ctx context.Context, it item, previous string) error {
	f := fields{"item": it, "previous_item_id": orNull(previous)}
	if err := c.send(ctx, "conversation.item.added", f); err != nil {
		return err
	}
	return c.send(ctx, "conversation.item.done", f)
}

// started opens an answer: the response, its one item, and the item's one part.
func (c *call) started(ctx context.Context, r transport.Response) error {
	it := answerItem(r, "in_progress", nil)
	for _, e := range []struct {
		kind string
		f    fields
	}{
		{"response.created", fields{"response": c.response(r, "in_progress", nil)}},
		{"response.output_item.added", fields{"response_id": r.ID, "output_index": 0, "item": it}},
		{"conversation.item.added", fields{"previous_item_id": orNull(r.Previous), "item": it}},
		{"response.content_part.added", part(r, "")},
	} {
		if err := c.send(ctx, e.kind, e.f); err != nil {
			return err
		}
	}
	return nil
}

// words sends the next words of an answer.
func (c *call) words(ctx context.Context, out transport.Words) error {
	return c.send(ctx, textEvent(out.Response)+".delta", place(out.Response, fields{"delta": out.Text}))
}

// voice sends the next sound of an answer. It is the one event that is frequent, so it is written by hand.
func (c *call) voice(ctx context.Context, out transport.Voice) error {
	r := out.Response
	c.encoded = format{Type: r.Encoding}.encode(c.encoded[:0], out.PCM)
	b := make([]byte, 0, 256+base64.StdEncoding.EncodedLen(len(c.encoded)))
	b = append(b, `{"type":"response.output_audio.delta","event_id":"`...)
	b = append(b, newEventID()...)
	b = append(b, `","response_id":"`...)
	b = append(b, r.ID...) // IDs are our own and need no escaping
	b = append(b, `","item_id":"`...)
	b = append(b, r.Item...)
	b = append(b, `","output_index":0,"content_index":0,"delta":"`...)
	b = base64.StdEncoding.AppendEncode(b, c.encoded)
	b = append(b, `"}`...)
	return c.queue(ctx, b)
}

// done closes what started opened.
func (c *call) done(ctx context.Context, out transport.ResponseDone) error {
	r := out.Response
	status := "completed"
	if out.Status != transport.Completed {
		status = "incomplete"
	}
	it := answerItem(r, status, &out.Text)
	var output []item
	var events []event
	if !r.Written {
		events = append(events, event{"response.output_audio.done", place(r, fields{})})
	}
	key := "transcript"
	if r.Written {
		key = "text"
	}
	events = append(events,
		event{textEvent(r) + ".done", place(r, fields{key: out.Text})},
		event{"response.content_part.done", part(r, out.Text)},
		event{"response.output_item.done", fields{"response_id": r.ID, "output_index": 0, "item": it}},
		event{"conversation.item.done", fields{"previous_item_id": orNull(r.Previous), "item": it}},
	)
	output = append(output, it)
	full := c.response(r, string(out.Status), output)
	full["status_details"] = details(out)
	full["usage"] = usage(out.Usage)
	events = append(events, event{"response.done", fields{"response": full}})
	for _, e := range events {
		if err := c.send(ctx, e.kind, e.f); err != nil {
			return err
		}
	}
	return nil
}

// event is a server event's type and fields.
type event struct {
	kind string
	f    fields
}

// fault tells of an error.
func (c *call) fault(ctx context.Context, f transport.Fault) error {
	kind := "invalid_request_error"
	if f.Ours {
		kind = "server_error"
	}
	return c.sendError(ctx, kind, f.Code, f.Message, "", f.Ref)
}

func (c *call) sendError(ctx context.Context, kind, code, message, param, ref string) error {
	return c.send(ctx, "error", fields{"error": fields{
		"type": kind, "code": code, "message": message, "param": orNull(param), "event_id": orNull(ref),
	}})
}

// send queues one event.
func (c *call) send(ctx context.Context, kind string, f fields) error {
	all := fields{"type": kind, "event_id": newEventID()}
	for k, v := range f {
		all[k] = v
	}
	b, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return c.queue(ctx, b)
}

func newEventID() string { return "event_" + rand.Text() }

// conversation is the name of the call's one conversation.
func (c *call) conversation() string { return "conv" + c.ID()[len("sess"):] }

// response writes the response object.
func (c *call) response(r transport.Response, status string, output []item) fields {
	s := c.current()
	modalities := []string{"audio"}
	if r.Written {
		modalities = []string{"text"}
	}
	if output == nil {
		output = []item{}
	}
	return fields{
		"object": "realtime.response", "id": r.ID, "status": status, "status_details": nil, "output": output,
		"conversation_id": c.conversation(), "output_modalities": modalities, "max_output_tokens": s.MaxOutputTokens,
		"audio": fields{"output": fields{"format": s.Audio.Output.Format, "voice": s.Audio.Output.Voice}},
		"usage": nil, "metadata": r.Metadata,
	}
}

// details says why an answer ended as it did.
func details(out transport.ResponseDone) any {
	switch out.Status {
	case transport.Completed:
		return nil
	case transport.Failed:
		return fields{"type": "failed", "error": fields{"type": "server_error", "code": "answer_failed"}}
	}
	return fields{"type": out.Status, "reason": out.Reason}
}

// usage counts tokens. All of ours are of text: sound is recognised and spoken without any.
func usage(u llm.Usage) fields {
	return fields{
		"total_tokens": u.Prompt + u.Output, "input_tokens": u.Prompt, "output_tokens": u.Output,
		"input_token_details": fields{
			"text_tokens": u.Prompt, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": u.Cached,
			"cached_tokens_details": fields{"text_tokens": u.Cached, "audio_tokens": 0, "image_tokens": 0},
		},
		"output_token_details": fields{"text_tokens": u.Output, "audio_tokens": 0},
	}
}

// textEvent is what the words of an answer are called.
func textEvent(r transport.Response) string {
	if r.Written {
		return "response.output_text"
	}
	return "response.output_audio_transcript"
}

// place adds to f where in the answer it belongs.
func place(r transport.Response, f fields) fields {
	f["response_id"], f["item_id"], f["output_index"], f["content_index"] = r.ID, r.Item, 0, 0
	return f
}

func part(r transport.Response, text string) fields {
	p := content{Type: "audio", Transcript: &text}
	if r.Written {
		p = content{Type: "text", Text: text}
	}
	return place(r, fields{"part": p})
}

// answerItem writes an answer as an item; text is nil while it is not known.
func answerItem(r transport.Response, status string, text *string) item {
	it := item{ID: r.Item, Object: "realtime.item", Type: "message", Status: status, Role: string(llm.Assistant), Content: []content{}}
	if text == nil {
		return it
	}
	if r.Written {
		it.Content = append(it.Content, content{Type: "output_text", Text: *text})
	} else {
		it.Content = append(it.Content, content{Type: "output_audio", Transcript: text})
	}
	return it
}

// messageItem writes a message that was added in writing.
func messageItem(m transport.Item) item {
	kind := "input_text"
	if m.Role == llm.Assistant {
		kind = "output_text"
	}
	return item{
		ID: m.ID, Object: "realtime.item", Type: "message", Status: "completed", Role: string(m.Role),
		Content: []content{{Type: kind, Text: m.Text}},
	}
}

// report writes what a turn took. It is our own event: only clients that include it are sent it.
func report(out transport.TurnReport) fields {
	stages := fields{}
	for _, s := range budget.Stages {
		if d, ok := out.Report.Stages[s]; ok {
			stages[string(s)] = ms(d)
		}
	}
	marks := fields{}
	for m, d := range out.Report.Marks {
		marks[string(m)] = ms(d)
	}
	shares := fields{}
	for _, s := range budget.Stages {
		shares[string(s)] = ms(out.Report.Plan.Share(s))
	}
	return fields{
		"response_id": out.Response, "item_ids": append([]string{}, out.Items...), "transcript": out.Transcript, "answer": out.Answer,
		"continued": out.Continued, "verdict": out.Report.Verdict, "blame": out.Report.Blame,
		"stages_ms": stages, "total_ms": ms(out.Report.Total), "marks_ms": marks, "shares_ms": shares,
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
