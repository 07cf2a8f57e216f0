package realtime

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// clientEvent is what a client may send. The set is closed: decode returns one of these.
type clientEvent interface{ isClientEvent() }

type sessionUpdate struct {
	Session json.RawMessage `json:"session"`
}

type audioAppend struct {
	Audio base64Text `json:"audio"`
}

type audioCommit struct{}

type audioClear struct{}

type itemCreate struct {
	Previous *string `json:"previous_item_id,omitempty"`
	Item     item    `json:"item"`
}

type itemTruncate struct {
	Item         string `json:"item_id"`
	ContentIndex int    `json:"content_index"`
	AudioEndMS   *int64 `json:"audio_end_ms"`
}

type itemRetrieve struct {
	Item string `json:"item_id"`
}

type itemDelete struct {
	Item string `json:"item_id"`
}

type responseCreate struct {
	Response *responseParams `json:"response,omitempty"`
}

type responseCancel struct {
	Response string `json:"response_id,omitempty"`
}

type outputClear struct{}

// answerHeard is our own: what a client has measured of an answer. Times are milliseconds.
type answerHeard struct {
	Response   string   `json:"response_id"`
	MouthToEar *float64 `json:"mouth_to_ear_ms"`
	Jitter     *float64 `json:"jitter_ms,omitempty"`
	Buffer     *float64 `json:"buffer_ms,omitempty"`
	RoundTrip  *float64 `json:"round_trip_ms,omitempty"`
	Lost       *float64 `json:"lost_percent,omitempty"`
}

func (outputClear) isClientEvent()    {}
func (answerHeard) isClientEvent()    {}
func (sessionUpdate) isClientEvent()  {}
func (audioAppend) isClientEvent()    {}
func (audioCommit) isClientEvent()    {}
func (audioClear) isClientEvent()     {}
func (itemCreate) isClientEvent()     {}
func (itemTruncate) isClientEvent()   {}
func (itemRetrieve) isClientEvent()   {}
func (itemDelete) isClientEvent()     {}
func (responseCreate) isClientEvent() {}
func (responseCancel) isClientEvent() {}

// responseParams is what one answer may do differently.
type responseParams struct {
	Instructions    *string         `json:"instructions,omitempty"`
	Modalities      []string        `json:"output_modalities,omitzero"`
	MaxOutputTokens *tokenLimit     `json:"max_output_tokens,omitempty"`
	Tools           tools           `json:"tools,omitzero"`
	ToolChoice      *toolChoice     `json:"tool_choice,omitempty"`
	Conversation    string          `json:"conversation,omitempty"`
	Metadata        metadata        `json:"metadata,omitzero"`
	Input           *[]item         `json:"input,omitempty"` // What is answered in place of the conversation.
	Audio           responseAudio   `json:"audio,omitzero"`
	ParallelCalls   *bool           `json:"parallel_tool_calls,omitempty"`
	Prompt          json.RawMessage `json:"prompt,omitempty"`    // Is refused.
	Reasoning       json.RawMessage `json:"reasoning,omitempty"` // Means nothing: the model answers without.
}

// metadata is what a client wants to find again in an answer.
type metadata map[string]string

// UnmarshalJSON takes an object of strings, and null.
func (m *metadata) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*map[string]string)(m)) != nil {
		return invalid("metadata", "invalid_type", "response.metadata must be an object whose values are strings.")
	}
	return nil
}

// UnmarshalJSON refuses what this service cannot do for one answer alone, instead of leaving it out.
func (p *responseParams) UnmarshalJSON(b []byte) error {
	type plain responseParams
	b, err := betaParams(b)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode((*plain)(p))
	if field, ok := unknownField(err); ok {
		return invalid("response."+field, "unknown_parameter", "response.%.64s cannot be set for one answer.", field)
	}
	var own *wireError
	if errors.As(err, &own) && own.param != "" {
		own.param = "response." + own.param
	}
	return err
}

// unknownField returns the name of the field that encoding/json did not know.
func unknownField(err error) (string, bool) {
	if err == nil {
		return "", false
	}
	name, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	return strings.Trim(name, `"`), ok
}

// base64Text is bytes that are written as a base64 string, and in no other way.
type base64Text []byte

// UnmarshalJSON decodes the string.
func (t *base64Text) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return invalid("audio", "invalid_type", "audio must be a base64 string.")
	}
	b, err := base64.StdEncoding.DecodeString(s)
	if len(b) > 0 {
		*t = b
	}
	return err
}

// MarshalJSON encodes it.
func (t base64Text) MarshalJSON() ([]byte, error) { return json.Marshal([]byte(t)) }

// item is a part of the conversation, as the wire writes it: a message, a function_call, a function_call_output or an mcp_call.
type item struct {
	ID        string    `json:"id,omitempty"`
	Object    string    `json:"object,omitempty"`
	Type      string    `json:"type"`
	Status    string    `json:"status,omitempty"`
	Role      string    `json:"role,omitempty"`
	Content   []content `json:"content,omitzero"`
	CallID    string    `json:"call_id,omitempty"`
	Name      string    `json:"name,omitempty"`
	Arguments *string   `json:"arguments,omitempty"`
	Output    *string   `json:"output,omitempty"`
	Server    string    `json:"server_label,omitempty"`
	Error     *runError `json:"error,omitempty"`

	ApprovalRequest string       `json:"approval_request_id,omitempty"`
	Approve         *bool        `json:"approve,omitempty"`
	Reason          *string      `json:"reason,omitempty"`
	Tools           []listedTool `json:"tools,omitzero"`
}

// content is a part of an item.
type content struct {
	Type       string  `json:"type"`
	Text       string  `json:"text,omitempty"`
	Transcript *string `json:"transcript,omitempty"`
	Audio      string  `json:"audio,omitempty"`
}

// inputAudio is the type of a part that is the caller's speech.
const inputAudio = "input_audio"

// MarshalJSON says of speech that is not recognised yet that it has no transcript, and does not pass over that: clients look for it.
func (c content) MarshalJSON() ([]byte, error) {
	type plain content
	if c.Type == inputAudio && c.Transcript == nil {
		return json.Marshal(struct {
			plain
			Transcript *string `json:"transcript"`
		}{plain: plain(c)})
	}
	return json.Marshal(plain(c))
}

// clientEvents makes an empty event of each type that is known.
var clientEvents = map[string]func() clientEvent{
	"session.update":               func() clientEvent { return new(sessionUpdate) },
	"transcription_session.update": func() clientEvent { return new(sessionUpdate) }, // the beta's
	"input_audio_buffer.append":    func() clientEvent { return new(audioAppend) },
	"input_audio_buffer.commit":    func() clientEvent { return new(audioCommit) },
	"input_audio_buffer.clear":     func() clientEvent { return new(audioClear) },
	"conversation.item.create":     func() clientEvent { return new(itemCreate) },
	"conversation.item.truncate":   func() clientEvent { return new(itemTruncate) },
	"conversation.item.retrieve":   func() clientEvent { return new(itemRetrieve) },
	"conversation.item.delete":     func() clientEvent { return new(itemDelete) },
	"response.create":              func() clientEvent { return new(responseCreate) },
	"response.cancel":              func() clientEvent { return new(responseCancel) },
	"output_audio_buffer.clear":    func() clientEvent { return new(outputClear) },
	"riposte.heard":                func() clientEvent { return new(answerHeard) },
}

// clientEventTypes lists them for error messages.
const clientEventTypes = "session.update, input_audio_buffer.append, input_audio_buffer.commit, input_audio_buffer.clear, " +
	"conversation.item.create, conversation.item.truncate, conversation.item.retrieve, conversation.item.delete, response.create, response.cancel, output_audio_buffer.clear and riposte.heard"

// decode reads a client's event and its event_id. The error is a *wireError, which says how to mend the event; the
// event_id is returned with it where it could be read.
func decode(b []byte) (e clientEvent, id string, err error) {
	var head struct {
		Type string `json:"type"`
		ID   string `json:"event_id"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, "", badJSON(err)
	}
	if len(head.ID) > maxEventID {
		return nil, "", invalid("event_id", "invalid_value", "The event_id has %d bytes; it may have %d. Nothing of the event was taken.", len(head.ID), maxEventID)
	}
	if head.Type == "" {
		return nil, head.ID, invalid("type", "missing_required_parameter", "The event has no type. Known types are %s.", clientEventTypes)
	}
	make, ok := clientEvents[head.Type]
	if !ok {
		return nil, head.ID, invalid("type", "invalid_value", "The event type %.64q is not known. Known types are %s.", head.Type, clientEventTypes)
	}
	e = make()
	if err := json.Unmarshal(b, e); err != nil {
		return nil, head.ID, badJSON(err)
	}
	return e, head.ID, nil
}

// maxEventID is how long a client's name for an event may be, in bytes, as the protocol has it: it goes back with errors.
const maxEventID = 512

// badJSON says what is wrong with an event that encoding/json does not take.
func badJSON(err error) *wireError { return misread("The event", err) }

// misread says what is wrong with what is named that encoding/json does not take.
func misread(what string, err error) *wireError {
	var mismatch *json.UnmarshalTypeError
	var corrupt base64.CorruptInputError
	var own *wireError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &mismatch) && kind(mismatch.Type) == "a number" && strings.HasPrefix(mismatch.Value, "number "):
		return invalid(mismatch.Field, "invalid_value", "%s is %s: that number is too large.", cmp.Or(mismatch.Field, what), found(mismatch.Value))
	case errors.As(err, &mismatch):
		return invalid(mismatch.Field, "invalid_type", "%s must be %s, not %s.", cmp.Or(mismatch.Field, what), kind(mismatch.Type), found(mismatch.Value))
	case errors.As(err, &corrupt):
		return invalid("audio", "invalid_value", "The audio is not base64: byte %d is wrong.", int64(corrupt))
	}
	return invalid("", "invalid_json", "%s is not a JSON object: %v.", what, err)
}

// kind says in JSON's words what a Go type wants.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// found says what stands there instead, of which encoding/json says the kind, or of numbers that do not fit which it is.
func found(value string) string {
	if number, ok := strings.CutPrefix(value, "number "); ok {
		return fmt.Sprintf("%.40s", number)
	}
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + value
}

// wireError is a fault of the client's, in the protocol's own terms.
type wireError struct {
	param   string
	code    string
	message string
}

func (e *wireError) Error() string { return e.message }

func invalid(param, code, format string, args ...any) *wireError {
	return &wireError{param: short(param, 128), code: code, message: short(fmt.Sprintf(format, args...), 2048)}
}

// short returns the beginning of what a client may have sent, at most so many bytes of it: it is told, and need not have all of it back.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…."
}
