package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
)

// object is a JSON object that remembers the order of its keys.
type object struct {
	keys   []string
	values map[string]any
}

// without returns a copy that lacks some keys.
func (o *object) without(keys ...string) *object {
	out := &object{values: map[string]any{}}
	for _, k := range o.keys {
		if !slices.Contains(keys, k) {
			out.set(k, o.values[k])
		}
	}
	return out
}

func (o *object) set(key string, v any) {
	if _, ok := o.values[key]; !ok {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// decode reads a JSON text: nil, bool, string, json.Number, []any and *object.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows its end")
	}
	return v, nil
}

// maxJSONDepth is beyond maxDepth, whose error says more.
const maxJSONDepth = 4 * maxDepth

func value(d *json.Decoder, depth int) (any, error) {
	if depth > maxJSONDepth {
		return nil, errors.New("it is nested too deeply")
	}
	t, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := &object{values: map[string]any{}}
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			key, ok := k.(string)
			if _, twice := o.values[key]; !ok || twice {
				return nil, fmt.Errorf("%q stands there twice", k)
			}
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.set(key, v)
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	return t, nil
}

// json writes a value the way that the grammar writes JSON, on one line.
func (g *Grammar) json(v any) string {
	switch v := v.(type) {
	case *object:
		parts := make([]string, len(v.keys))
		for i, k := range v.keys {
			parts[i] = encode(k) + ": " + g.json(v.values[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = g.json(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return encode(v)
}

// text is a value for an error message.
func text(v any) string { return (*Grammar)(nil).json(v) }

// encode writes a value that is neither an object nor a list, without escaping what need not be.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // Everything that came from JSON can become JSON.
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// unescape undoes what a URL's fragment escapes.
func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}
