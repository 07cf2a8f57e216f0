package toolcall

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"riposte/llm"
)

// ErrCall reports a call that cannot be understood. Nothing of it is spoken, and it is not guessed at.
var ErrCall = errors.New("the model's tool call cannot be read")

// Reader tells what a model says from what it calls while the answer comes in.
type Reader struct {
	style Style
	names map[string]bool

	text   string // What is not decided.
	state  state
	spoken bool // Something other than white space was.
	called bool // A call was made.
	bare   bool // The call that is being read began without a sign, and may be none.
	value  valueEnd
}

type state int

const (
	speaking state = iota
	calling        // After a sign, in JSON.
	closing        // After JSON.
)

// NewReader returns a reader of one answer, which may call these tools.
func NewReader(style Style, tools []llm.Tool) *Reader {
	r := &Reader{style: style, names: map[string]bool{}}
	for _, t := range tools {
		r.names[t.Name] = true
	}
	return r
}

// Push takes the next part of the answer and returns what can be spoken of it, and the calls that it completes. What
// may be the beginning of a call is held back, and so is white space, which may come before one.
func (r *Reader) Push(text string) (string, []llm.ToolCall, error) {
	r.text += text
	var spoken strings.Builder
	var calls []llm.ToolCall
	for {
		before, state := len(r.text), r.state
		said, made, err := r.step()
		spoken.WriteString(said)
		calls = append(calls, made...)
		if err != nil {
			return spoken.String(), calls, err
		}
		if len(r.text) == before && r.state == state {
			return spoken.String(), calls, nil
		}
	}
}

// End returns what is left when nothing follows. The call that the answer ends in is dropped if it was cut off, and an
// ErrCall otherwise.
func (r *Reader) End(cut bool) (string, error) {
	text := r.text
	r.text = ""
	switch {
	case r.state == calling && !cut:
		return "", fmt.Errorf("%w: it is not complete: %.100q", ErrCall, text)
	case r.state != speaking, r.called && strings.TrimSpace(text) == "":
		return "", nil
	}
	return text, nil
}

// step decides about some of the text, if it can.
func (r *Reader) step() (string, []llm.ToolCall, error) {
	switch r.state {
	case calling:
		return r.call()
	case closing:
		r.close()
		return "", nil, nil
	}
	sign := r.style.open()
	if i := strings.Index(r.text, sign); i >= 0 {
		said := strings.TrimRight(r.text[:i], whitespace)
		r.text = r.text[i+len(sign):]
		r.begin(false)
		return r.say(said), nil, nil
	}
	rest := strings.TrimLeft(r.text, whitespace)
	if r.style == Llama && !r.spoken && strings.HasPrefix(rest, "{") {
		r.text = rest
		r.begin(true)
		return "", nil, nil
	}
	n := len(strings.TrimRight(r.text[:len(r.text)-overlap(r.text, sign)], whitespace))
	said := r.text[:n]
	r.text = r.text[n:]
	return r.say(said), nil, nil
}

const whitespace = " \t\r\n"

func (r *Reader) say(text string) string {
	r.spoken = r.spoken || text != ""
	return text
}

func (r *Reader) begin(bare bool) { r.state, r.bare, r.value = calling, bare, valueEnd{} }

// call reads the JSON of a call, or of several.
func (r *Reader) call() (string, []llm.ToolCall, error) {
	if r.value.at == 0 {
		r.text = strings.TrimLeft(r.text, whitespace)
		if r.text != "" && r.text[0] != '{' && r.text[0] != '[' {
			return "", nil, fmt.Errorf("%w: it is no JSON: %.100q", ErrCall, r.text)
		}
	}
	n, whole := r.value.find(r.text)
	if !whole {
		return "", nil, nil
	}
	raw := r.text[:n]
	calls, err := r.decode([]byte(raw))
	switch {
	case err != nil && r.bare && !r.called: // A text that only began like a call.
		r.text, r.state = r.text[n:], speaking
		return r.say(raw), nil, nil
	case err != nil:
		return "", nil, err
	}
	r.text, r.state, r.called = r.text[n:], closing, true
	return "", calls, nil
}

// close skips what ends a call, and what stands between one and the next.
func (r *Reader) close() {
	text := strings.TrimLeft(r.text, whitespace)
	switch r.style {
	case Hermes:
		const end = "</tool_call>"
		switch {
		case strings.HasPrefix(text, end):
			r.text, r.state = text[len(end):], speaking
		case !strings.HasPrefix(end, text):
			r.state = speaking
		}
	case Llama:
		rest := strings.TrimLeft(text, whitespace+";")
		switch {
		case strings.HasPrefix(rest, "{"):
			r.text = rest
			r.begin(true)
		case rest != "":
			r.state = speaking
		}
	default:
		r.state = speaking
	}
}

// decode reads one call, or a list of them.
func (r *Reader) decode(raw []byte) ([]llm.ToolCall, error) {
	type call struct {
		Name       string
		Arguments  json.RawMessage
		Parameters json.RawMessage
	}
	var list []call
	var err error
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &list)
	} else {
		list = make([]call, 1)
		err = json.Unmarshal(raw, &list[0])
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w: %.100q", ErrCall, err, raw)
	}
	calls := make([]llm.ToolCall, len(list))
	for i, c := range list {
		if !r.names[c.Name] {
			return nil, fmt.Errorf("%w: there is no tool %q", ErrCall, c.Name)
		}
		arguments, err := object(c.Arguments, c.Parameters)
		if err != nil {
			return nil, fmt.Errorf("%w: the arguments of %q: %w", ErrCall, c.Name, err)
		}
		calls[i] = llm.ToolCall{ID: "call_" + rand.Text(), Name: c.Name, Arguments: arguments}
	}
	return calls, nil
}

// object returns the first that is there, as an object. Some models write it as a string that holds one.
func object(forms ...json.RawMessage) (json.RawMessage, error) {
	for _, raw := range forms {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || string(raw) == "null" {
			continue
		}
		var text string
		if raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
			raw = bytes.TrimSpace([]byte(text))
		}
		if !json.Valid(raw) || raw[0] != '{' {
			return nil, fmt.Errorf("they are no JSON object: %.100q", raw)
		}
		return raw, nil
	}
	return json.RawMessage("{}"), nil
}

// valueEnd finds the end of a JSON object or list that comes in parts.
type valueEnd struct {
	at, depth       int
	quoted, escaped bool
}

// find goes on in a text that has grown at its end. It returns where the value ends, if it does.
func (v *valueEnd) find(text string) (int, bool) {
	for v.at < len(text) {
		c := text[v.at]
		v.at++
		switch {
		case v.escaped:
			v.escaped = false
		case v.quoted && c == '\\':
			v.escaped = true
		case c == '"':
			v.quoted = !v.quoted
		case v.quoted:
		case c == '{' || c == '[':
			v.depth++
		case c == '}' || c == ']':
			if v.depth--; v.depth <= 0 {
				return v.at, true
			}
		}
	}
	return 0, false
}

// overlap is the length of the longest end of text that is a beginning of sign.
func overlap(text, sign string) int {
	for n := min(len(text), len(sign)-1); n > 0; n-- {
		if strings.HasSuffix(text, sign[:n]) {
			return n
		}
	}
	return 0
}
