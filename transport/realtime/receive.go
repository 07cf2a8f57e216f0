package realtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"riposte/llm"
	"riposte/transport"
)

// Receive returns what the client does next. What is wrong with an event it is told right here; the call goes on.
func (c *call) Receive(ctx context.Context) (transport.Inbound, error) {
	for {
		select {
		case m := <-c.in:
			ctx := context.WithoutCancel(ctx) // what was taken is seen to
			in, id, err := c.understand(ctx, m)
			var wrong *wireError
			switch {
			case errors.As(err, &wrong):
				if err := c.sendError(ctx, "invalid_request_error", wrong.code, wrong.message, wrong.param, id); err != nil {
					return nil, err
				}
			case err != nil:
				return nil, err
			case in != nil:
				return in, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// understand returns what something that came from the client means, nil when it means nothing to the pipeline, and its event_id.
func (c *call) understand(ctx context.Context, m Incoming) (in transport.Inbound, id string, err error) {
	if m.Other != nil {
		return m.Other, "", c.pressed(ctx, m)
	}
	if m.Event == nil {
		return nil, refOf(m.from, ""), invalid("", "invalid_type", "The message is binary. The protocol's events are JSON in text messages, sound included.")
	}
	e, id, err := c.decode(m.Event)
	id = refOf(m.from, id)
	if err != nil {
		return nil, id, err
	}
	if _, sound := e.(*audioAppend); sound && m.from != nil {
		return nil, id, invalid("type", "invalid_value", "Sound comes from the call's own client, and not from a connection that is attached to it. Nothing of it was taken.")
	}
	in, err = c.inbound(ctx, e, id, m.At)
	return in, id, err
}

// decode reads a client's event, the frequent one without much ado. What is returned holds until the next call.
func (c *call) decode(b []byte) (clientEvent, string, error) {
	e, id, ok := plainAppend(b, c.sounded)
	if !ok {
		return decode(b)
	}
	if c.sounded = e.Audio; cap(c.sounded) > frequentSize {
		c.sounded = nil
	}
	return e, id, nil
}

// pressed tells of a key of a telephone, which comes beside the events.
func (c *call) pressed(ctx context.Context, m Incoming) error {
	key, ok := m.Other.(transport.Key)
	if !ok {
		return nil
	}
	return c.send(ctx, "input_audio_buffer.dtmf_event_received", fields{"event": string(key.Digit), "received_at": m.At.Unix()})
}

// inbound says what a client's event means to the pipeline; nil when it means nothing to it.
func (c *call) inbound(ctx context.Context, e clientEvent, id string, at time.Time) (transport.Inbound, error) {
	switch e := e.(type) {
	case *sessionUpdate:
		return c.update(ctx, e)
	case *audioAppend:
		return c.sound(e, at)
	case *audioCommit:
		return transport.Commit{Ref: id}, nil
	case *audioClear:
		return transport.Clear{Ref: id}, nil
	case *itemCreate:
		if e.Item.Type == "mcp_approval_response" {
			return e.decision(id)
		}
		if e.sounds() {
			return c.recording(e, id)
		}
		it, err := e.read()
		return transport.Add{Ref: id, Item: it}, err
	case *itemTruncate:
		const most = int64(24 * time.Hour / time.Millisecond)
		if e.AudioEndMS == nil {
			return nil, invalid("audio_end_ms", "missing_required_parameter", "audio_end_ms is missing: how much of the answer was heard?")
		}
		if *e.AudioEndMS < 0 || *e.AudioEndMS > most {
			return nil, invalid("audio_end_ms", "invalid_value", "audio_end_ms is %d; it must be 0 to %d.", *e.AudioEndMS, most)
		}
		if e.ContentIndex != 0 {
			return nil, invalid("content_index", "invalid_value", "content_index is %d; answers have one part, 0.", e.ContentIndex)
		}
		return transport.Truncate{Ref: id, Item: e.Item, Heard: time.Duration(*e.AudioEndMS) * time.Millisecond}, nil
	case *itemRetrieve:
		return transport.Look{Ref: id, Item: e.Item}, known(e.Item)
	case *itemDelete:
		return transport.Remove{Ref: id, Item: e.Item}, known(e.Item)
	case *responseCreate:
		return c.request(e, id)
	case *responseCancel:
		return transport.Cancel{Ref: id, Response: e.Response}, nil
	case *outputClear:
		return c.silence(id)
	case *answerHeard:
		return e.read(id)
	}
	return nil, invalid("type", "invalid_value", "The event type is not known.")
}

// known refuses an event that does not say which item it is about.
func known(item string) error {
	if item == "" {
		return invalid("item_id", "missing_required_parameter", "item_id is missing: which item is it about?")
	}
	return nil
}

// update changes the session and confirms the change.
func (c *call) update(ctx context.Context, e *sessionUpdate) (transport.Inbound, error) {
	c.mu.Lock()
	next, err := c.session.update(e.Session, c.defaults, c.server.Voice)
	if err == nil {
		err = c.server.stays(c.defaults, c.session, next)
	}
	if err == nil {
		err = c.server.hears(next)
	}
	if err == nil {
		err = c.server.reaches(c.defaults, next)
	}
	if err == nil {
		c.session = next
	}
	c.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := c.send(ctx, "session.updated", fields{"session": next.shown()}); err != nil {
		return nil, err
	}
	return transport.Configure{Settings: c.settings(next)}, nil
}

// silence ends the answer that sounds: the client wants nothing more of it.
func (c *call) silence(id string) (transport.Inbound, error) {
	if c.tracks == nil {
		return nil, invalid("type", "invalid_value", "output_audio_buffer.clear is for WebRTC. Over WebSocket the sound is the client's once it was sent: send response.cancel, and drop it.")
	}
	if !c.answering.Load() {
		return nil, nil // it has ended
	}
	return transport.Cancel{Ref: id, Maybe: true}, nil // a response.cancel may have gone before it, of which the client is not told yet
}

// hears refuses a session in a language that the recogniser does not know.
func (s *Server) hears(next session) error {
	t := next.Audio.Input.Transcription
	if s.Language == nil || t == nil || t.language() == "" || s.Language(t.language()) {
		return nil
	}
	return invalid("session.audio.input.transcription.language", "invalid_value",
		"The recogniser does not know the language %q: name one that it knows, such as \"en\", or none.", t.language())
}

// sound takes a piece of the caller's sound.
func (c *call) sound(e *audioAppend, at time.Time) (transport.Inbound, error) {
	if c.tracks != nil {
		return nil, invalid("type", "invalid_value", "Over WebRTC sound comes by the audio track of the offer, and not by input_audio_buffer.append. Nothing of it was taken.")
	}
	if len(e.Audio) > c.limits.Append {
		return nil, invalid("audio", "audio_too_long", "The audio has %d bytes; one event may bring %d. Nothing of it was taken: send it in parts.",
			len(e.Audio), c.limits.Append)
	}
	f := c.current().Audio.Input.Format
	pcm, err := f.decode(e.Audio)
	if err != nil {
		return nil, invalid("audio", "invalid_value", "The audio has %d bytes, but audio/pcm has two bytes a sample. Nothing of it was taken.", len(e.Audio))
	}
	if len(pcm) == 0 {
		return nil, invalid("audio", "missing_required_parameter", "The event brings no audio.")
	}
	return transport.Sound{PCM: pcm, Rate: f.Rate, At: at}, nil
}

// current returns the session as it is now. Its parts are never written to.
func (c *call) current() session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// maxID is how long a client's name for an item may be, in bytes.
const maxID = 128

// place reads what all items have: who is speaking, and where it belongs.
func (e *itemCreate) place() (transport.Item, error) {
	it := transport.Item{ID: e.Item.ID, Role: llm.Role(e.Item.Role)}
	if e.Previous != nil {
		it.After = *e.Previous
	}
	for param, id := range map[string]string{"item.id": it.ID, "previous_item_id": it.After, "item.call_id": e.Item.CallID} {
		if len(id) > maxID || strings.ContainsFunc(id, unicode.IsControl) {
			return it, invalid(param, "invalid_value", "%s must have at most %d characters, and none of them control characters.", param, maxID)
		}
	}
	if it.ID == transport.Root {
		return it, invalid("item.id", "invalid_value", "item.id may not be %q: that is the place before the first item.", it.ID)
	}
	return it, nil
}

// read reads an item: a written message, a call or a result.
func (e *itemCreate) read() (transport.Item, error) {
	it, err := e.place()
	if err != nil {
		return it, err
	}
	switch e.Item.Type {
	case "message":
		return e.message(it)
	case "function_call":
		return e.call(it)
	case "function_call_output":
		return e.result(it)
	}
	return it, invalid("item.type", "invalid_value", "item.type is %.64q; this service takes \"message\", \"function_call\", \"function_call_output\" and \"mcp_approval_response\".", e.Item.Type)
}

// sounds reports whether an item is a message with sound in it.
func (e *itemCreate) sounds() bool {
	return e.Item.Type == "message" && slices.ContainsFunc(e.Item.Content, func(c content) bool { return c.Type == inputAudio })
}

// recording reads a message that is sound.
func (c *call) recording(e *itemCreate, id string) (transport.Inbound, error) {
	it, err := e.place()
	switch {
	case err != nil:
		return nil, err
	case it.Role != llm.User:
		return nil, invalid("item.role", "invalid_value", "item.role is %.64q: sound is what a user has said, so it must be user.", e.Item.Role)
	case len(e.Item.Content) != 1:
		return nil, invalid("item.content", "invalid_value", "item.content has %d parts: a message of input_audio has that alone. Put what is written into a message of its own.", len(e.Item.Content))
	}
	const param = "item.content[0].audio"
	b, err := base64.StdEncoding.DecodeString(e.Item.Content[0].Audio)
	if corrupt, bad := errors.AsType[base64.CorruptInputError](err); bad {
		return nil, invalid(param, "invalid_value", "The audio is not base64: byte %d is wrong.", int64(corrupt))
	}
	if len(b) > c.limits.Append {
		return nil, invalid(param, "audio_too_long", "The audio has %d bytes; one event may bring %d. Nothing of it was taken: send it in parts.", len(b), c.limits.Append)
	}
	if len(b) == 0 {
		return nil, invalid(param, "missing_required_parameter", "The message brings no audio.")
	}
	f := c.current().Audio.Input.Format
	pcm, err := f.decode(b)
	if err != nil {
		return nil, invalid(param, "invalid_value", "The audio has %d bytes, but audio/pcm has two bytes a sample. Nothing of it was taken.", len(b))
	}
	return transport.Recording{Ref: id, Item: it, PCM: pcm, Rate: f.Rate}, nil
}

// message reads a written message.
func (e *itemCreate) message(it transport.Item) (transport.Item, error) {
	switch it.Role {
	case llm.User, llm.System, llm.Assistant:
	default:
		return it, invalid("item.role", "invalid_value", "item.role is %q; it must be user, assistant or system.", e.Item.Role)
	}
	for _, part := range e.Item.Content {
		switch part.Type {
		case "input_text", "output_text", "text":
			it.Text += part.Text
		case inputAudio:
			return it, invalid("item.content", "invalid_value",
				"item.content holds input_audio, which is for items of the conversation: send it by conversation.item.create, and name it here by an item_reference.")
		default:
			return it, invalid("item.content", "invalid_value", "item.content holds %q; this service takes input_text, output_text and input_audio.", part.Type)
		}
	}
	if strings.TrimSpace(it.Text) == "" {
		return it, invalid("item.content", "missing_required_parameter", "item.content holds no text.")
	}
	return it, nil
}

// call reads a call that was made before, in another session.
func (e *itemCreate) call(it transport.Item) (transport.Item, error) {
	it.Role, it.Call = llm.Assistant, &llm.ToolCall{ID: cmp.Or(e.Item.CallID, "call_"+rand.Text()), Name: e.Item.Name}
	if e.Item.Name == "" || len(e.Item.Name) > maxID {
		return it, invalid("item.name", "invalid_value", "item.name must have 1 to %d characters: which function was called?", maxID)
	}
	it.Call.Arguments = json.RawMessage("{}")
	if a := e.Item.Arguments; a != nil && *a != "" {
		it.Call.Arguments = json.RawMessage(*a)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(it.Call.Arguments, &object); err != nil || object == nil {
		return it, invalid("item.arguments", "invalid_value", "item.arguments must be a string that holds a JSON object.")
	}
	return it, nil
}

// result reads the result of a call.
func (e *itemCreate) result(it transport.Item) (transport.Item, error) {
	if e.Item.CallID == "" {
		return it, invalid("item.call_id", "missing_required_parameter", "item.call_id is missing: which call is this the result of?")
	}
	if e.Item.Output == nil {
		return it, invalid("item.output", "missing_required_parameter", "item.output is missing: what came of the call?")
	}
	it.Role, it.Call, it.Text = llm.ToolRole, &llm.ToolCall{ID: e.Item.CallID}, *e.Item.Output
	return it, nil
}
