package llama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ardanlabs/jinja"

	"riposte/llm"
	"riposte/llm/toolcall"
)

// The template engine's own filter sorts keys and leaves spaces out, which no model has seen: templates get this one in
// its place.
const jsonFilter = "riposte_json"

var toJSON = regexp.MustCompile(`\|\s*tojson\b`)

// writeJSON is the filter: JSON as Python writes it, with its keys in their order.
func writeJSON(args []jinja.Value, named map[string]jinja.Value) (jinja.Value, error) {
	if len(args) == 0 {
		return jinja.NewString(""), nil
	}
	var b strings.Builder
	appendJSON(&b, args[0])
	if n, ok := named["indent"]; ok && n.IsInt() && n.AsInt() >= 0 && n.AsInt() <= 16 {
		var out bytes.Buffer
		if json.Indent(&out, []byte(b.String()), "", strings.Repeat(" ", int(n.AsInt()))) == nil {
			return jinja.NewString(out.String()), nil
		}
	}
	return jinja.NewString(toolcall.Spaced(json.RawMessage(b.String()))), nil
}

func appendJSON(b *strings.Builder, v jinja.Value) {
	switch {
	case v.IsBool():
		b.WriteString(strconv.FormatBool(v.AsBool()))
	case v.IsInt():
		b.WriteString(strconv.FormatInt(v.AsInt(), 10))
	case v.IsFloat():
		text := strconv.FormatFloat(v.AsFloat(), 'g', -1, 64)
		if !strings.ContainsAny(text, ".e") {
			text += ".0"
		}
		b.WriteString(text)
	case v.IsString():
		b.WriteString(quoteJSON(v.AsString()))
	case v.IsList():
		b.WriteByte('[')
		for i, e := range v.AsList().Items {
			if i > 0 {
				b.WriteByte(',')
			}
			appendJSON(b, e)
		}
		b.WriteByte(']')
	case v.IsDict():
		d := v.AsDict()
		b.WriteByte('{')
		for i, k := range d.Keys {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoteJSON(k) + ":")
			appendJSON(b, d.Data[k])
		}
		b.WriteByte('}')
	default:
		b.WriteString("null")
	}
}

// quoteJSON writes a string without escaping what need not be.
func quoteJSON(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // A string can always be encoded, and written to a builder.
	return strings.TrimSuffix(b.String(), "\n")
}

// messageValues are messages as templates want them.
func messageValues(messages []llm.Message) jinja.Value {
	names := map[string]string{} // Of the tools, by the IDs of calls.
	var list []jinja.Value
	for _, m := range messages {
		v := dict("role", jinja.NewString(string(m.Role)), "content", jinja.NewString(m.Text))
		if len(m.Calls) > 0 {
			var calls []jinja.Value
			for _, c := range m.Calls {
				names[c.ID] = c.Name
				calls = append(calls, dict("id", jinja.NewString(shortID(c.ID)), "type", jinja.NewString("function"),
					"function", dict("name", jinja.NewString(c.Name), "arguments", value(argumentsOf(c)))))
			}
			v.AsDict().Set("tool_calls", jinja.NewList(calls))
		}
		if m.Role == llm.ToolRole {
			v.AsDict().Set("tool_call_id", jinja.NewString(shortID(m.Call)))
			v.AsDict().Set("name", jinja.NewString(names[m.Call]))
		}
		list = append(list, v)
	}
	return jinja.NewList(list)
}

// toolValues are tools as templates want them.
func toolValues(tools []llm.Tool) jinja.Value {
	var list []jinja.Value
	for _, t := range tools {
		list = append(list, value(toolcall.Definition(t)))
	}
	return jinja.NewList(list)
}

// dict makes a dictionary of keys and values in turn.
func dict(pairs ...any) jinja.Value {
	v := jinja.NewDict()
	for i := 0; i < len(pairs); i += 2 {
		v.AsDict().Set(pairs[i].(string), pairs[i+1].(jinja.Value))
	}
	return v
}

// value makes one of JSON, with its keys in their order. What is no JSON becomes a string.
func value(raw json.RawMessage) jinja.Value {
	if !json.Valid(raw) {
		return jinja.NewString(string(raw))
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return nextValue(d)
}

// nextValue reads a value of what is known to be JSON.
func nextValue(d *json.Decoder) jinja.Value {
	t, _ := d.Token()
	switch t := t.(type) {
	case bool:
		return jinja.NewBool(t)
	case string:
		return jinja.NewString(t)
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return jinja.NewInt(n)
		}
		f, _ := t.Float64()
		return jinja.NewFloat(f)
	case json.Delim:
		if t == '[' {
			var list []jinja.Value
			for d.More() {
				list = append(list, nextValue(d))
			}
			_, _ = d.Token()
			return jinja.NewList(list)
		}
		v := jinja.NewDict()
		for d.More() {
			k, _ := d.Token()
			v.AsDict().Set(fmt.Sprint(k), nextValue(d))
		}
		_, _ = d.Token()
		return v
	}
	return jinja.None()
}
