package realtime

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

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
	case transport.Held:
		return c.pause(ctx, out, holds)
	case transport.Released:
		return c.pause(ctx, out, "riposte.release")
	case transport.SpeechStopped:
		return c.send(ctx, "input_audio_buffer.speech_stopped", fields{"item_id": out.Item, "audio_end_ms": out.At.Milliseconds()})
	case transport.Committed:
		return c.committed(ctx, out)
	case transport.TimedOut:
		return c.send(ctx, "input_audio_buffer.timeout_triggered", fields{
			"audio_start_ms": out.From.Milliseconds(), "audio_end_ms": out.Until.Milliseconds(), "item_id": out.Item,
		})
	case transport.Cleared:
		return c.send(ctx, "input_audio_buffer.cleared", fields{})
	case transport.Added:
		if out.Aloud {
			return c.added(ctx, speechItem(out.Item.ID), out.Previous)
		}
		return c.added(ctx, writtenItem(out.Item), out.Previous)
	case transport.Removed:
		return c.send(ctx, "conversation.item.deleted", fields{"item_id": out.Item})
	case transport.Found:
		return c.send(ctx, "conversation.item.retrieved", fields{"item": c.retrieved(out)})
	case transport.Truncated:
		return c.send(ctx, "conversation.item.truncated", fields{"item_id": out.Item, "content_index": 0, "audio_end_ms": out.Heard.Milliseconds()})
	case transport.Hypothesis:
		if !slices.Contains(c.current().Include, hypotheses) {
			return nil
		}
		return c.send(ctx, hypotheses, fields{
			"item_id": out.Item, "text": out.Text, "stable": out.Text[:out.Stable], "audio_ms": out.Speech.Milliseconds(),
		})
	case transport.Transcribed:
		if c.current().Audio.Input.Transcription == nil {
			return nil
		}
		return c.transcribed(ctx, out)
	case transport.TranscriptionFailed:
		return c.send(ctx, "conversation.item.input_audio_transcription.failed", fields{
			"item_id": out.Item, "content_index": 0,
			"error": fields{"type": "server_error", "code": "transcription_failed", "message": "The speech could not be transcribed.", "param": nil},
		})
	case transport.ResponseStarted:
		return c.started(ctx, out.Response)
	case transport.MessageStarted:
		return c.speaks(ctx, out)
	case transport.Called:
		return c.called(ctx, out)
	case transport.Ran:
		return c.ran(ctx, out)
	case transport.Listed:
		return c.listed(ctx, out)
	case transport.Approved:
		return c.decided(ctx, out)
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

// transcribed tells of the words of what the caller said. They are known whole, so there is one delta of them, as the protocol has it of such
// models.
func (c *call) transcribed(ctx context.Context, out transport.Transcribed) error {
	const kind = "conversation.item.input_audio_transcription."
	done := fields{
		"item_id": out.Item, "content_index": 0, "transcript": out.Text,
		"usage": fields{"type": "duration", "seconds": out.Speech.Seconds()},
	}
	if out.Text == "" {
		return c.send(ctx, kind+"completed", done)
	}
	delta := fields{"item_id": out.Item, "content_index": 0, "delta": out.Text}
	if len(out.Tokens) > 0 && slices.Contains(c.current().Include, logProbs) {
		delta["logprobs"] = tokensOf(out.Tokens)
		done["logprobs"] = delta["logprobs"]
	}
	return c.sendAll(ctx, event{kind + "delta", delta}, event{kind + "completed", done})
}

// tokensOf writes tokens with how sure the recogniser was of each. Their bytes are whole where their text is not.
func tokensOf(tokens []transport.Token) []fields {
	out := make([]fields, 0, len(tokens))
	for _, t := range tokens {
		bytes := make([]int, len(t.Text))
		for i := range len(t.Text) {
			bytes[i] = int(t.Text[i])
		}
		out = append(out, fields{"token": strings.ToValidUTF8(t.Text, "\uFFFD"), "logprob": t.LogProb, "bytes": bytes})
	}
	return out
}

// committed tells of the item that the caller's speech has become.
func (c *call) committed(ctx context.Context, out transport.Committed) error {
	err := c.send(ctx, "input_audio_buffer.committed", fields{"item_id": out.Item, "previous_item_id": orNull(out.Previous)})
	if err != nil {
		return err
	}
	return c.added(ctx, speechItem(out.Item), out.Previous)
}

// speechItem writes an item that is speech, whose words are not known yet.
func speechItem(id string) item {
	return item{
		ID: id, Object: "realtime.item", Type: "message", Status: "completed", Role: string(llm.User), Content: []content{{Type: inputAudio}},
	}
}

// added tells of an item that is complete.
func (c *call) added(ctx context.Context, it item, previous string) error {
	f := fields{"item": it, "previous_item_id": orNull(previous)}
	return c.sendAll(ctx, event{"conversation.item.added", f}, event{"conversation.item.done", f})
}

// pause tells a client that pauses its playing to do so, or to go on. Tracks do so themselves.
func (c *call) pause(ctx context.Context, out transport.Outbound, kind string) error {
	if err := c.play(ctx, out); err != nil {
		return err
	}
	if !slices.Contains(c.current().Include, holds) {
		return nil
	}
	return c.send(ctx, kind, fields{})
}

// words sends the next words of an answer.
func (c *call) words(ctx context.Context, out transport.Words) error {
	c.answers.of(out.Response).text.WriteString(out.Text)
	return c.send(ctx, textEvent(out.Response)+".delta", c.place(out.Response, fields{"delta": out.Text}))
}

// play tells the tracks, where there are any.
func (c *call) play(ctx context.Context, out transport.Outbound) error {
	if c.tracks == nil {
		return nil
	}
	return c.tracks.Play(ctx, out)
}

// voice sends the next sound of an answer. It is the one event that is frequent, so it is written by hand.
func (c *call) voice(ctx context.Context, out transport.Voice) error {
	if c.tracks != nil {
		return c.play(ctx, out)
	}
	r := out.Response
	a := c.answers.of(r)
	a.encoded = format{Type: r.Encoding}.encode(a.encoded[:0], out.PCM)
	b := make([]byte, 0, 256+base64.StdEncoding.EncodedLen(len(a.encoded)))
	b = append(b, `{"type":"response.output_audio.delta","event_id":"`...)
	b = append(b, newEventID()...)
	b = append(b, `",`...)
	b = c.appendPlace(b, r)
	b = append(b, `,"delta":"`...)
	b = base64.StdEncoding.AppendEncode(b, a.encoded)
	b = append(b, `"}`...)
	return c.queue(ctx, b)
}

// event is a server event's type and fields.
type event struct {
	kind string
	f    fields
}

// sendAll queues several events, in their order.
func (c *call) sendAll(ctx context.Context, events ...event) error {
	for _, e := range events {
		if err := c.send(ctx, e.kind, e.f); err != nil {
			return err
		}
	}
	return nil
}

// fault tells of an error.
func (c *call) fault(ctx context.Context, f transport.Fault) error {
	kind := "invalid_request_error"
	if f.Ours {
		kind = "server_error"
	}
	return c.sendError(ctx, kind, f.Code, f.Message, param(f), f.Ref)
}

// param is the field that a fault is about: an item is named by one field where it is to be added, and by another where it is there.
func param(f transport.Fault) string {
	switch {
	case f.Part == transport.PartAfter:
		return "previous_item_id"
	case f.Part == transport.PartInput:
		return "response.input"
	case f.Part == transport.PartRequest:
		return "item.approval_request_id"
	case f.Part == transport.PartContent:
		return "item.content"
	case f.Part == transport.PartCall:
		return "item.call_id"
	case f.Part == transport.PartItem && f.Code == "invalid_value":
		return "item.id"
	case f.Part == transport.PartItem:
		return "item_id"
	}
	return ""
}

// sendError tells of an error: of one about an event of an attached connection, that connection alone.
func (c *call) sendError(ctx context.Context, kind, code, message, param, ref string) error {
	one, id, own := c.sides.whose(ref)
	b, err := json.Marshal(fields{"type": "error", "event_id": newEventID(), "error": fields{
		"type": kind, "code": code, "message": message, "param": orNull(param), "event_id": orNull(id),
	}})
	switch {
	case err != nil:
		return err
	case own:
		return c.queue(ctx, b)
	case one != nil:
		c.sides.tell(b, one, c.limits.Buffer)
	}
	return nil
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
