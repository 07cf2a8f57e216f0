package toolcall

import (
	"bytes"
	"encoding/json"
	"strings"

	"riposte/llm"
)

// Definition is a tool the way that OpenAI's protocol, and so all templates, describe one.
func Definition(t llm.Tool) json.RawMessage {
	parameters := string(t.Parameters)
	if len(bytes.TrimSpace(t.Parameters)) == 0 {
		parameters = `{"type": "object", "properties": {}}`
	}
	return json.RawMessage(`{"type": "function", "function": {"name": ` + encode(t.Name) + `, "description": ` + encode(t.Description) +
		`, "parameters": ` + parameters + `}}`)
}

// Spaced writes JSON on one line with a space behind each comma and colon, as Python does, and so as models have seen it.
// Its keys keep their order. What is no JSON stays as it is.
func Spaced(raw json.RawMessage) string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return string(raw)
	}
	var b strings.Builder
	quoted, escaped := false, false
	for _, c := range compact.Bytes() {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// encode writes a text as JSON, without escaping what need not be.
func encode(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // A string can always be encoded, and written to a builder.
	return strings.TrimSuffix(b.String(), "\n")
}
