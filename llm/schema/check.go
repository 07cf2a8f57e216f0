package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"riposte/llm"
)

// Checker checks JSON values against a schema, which may be a stranger's: neither a schema nor a value makes it work for long. It is safe for
// use by several goroutines.
type Checker struct {
	schema *jsonschema.Schema

	mu   sync.Mutex // Held by a check.
	left int        // Of maxChecks.
}

const (
	// maxChecks is how many parts of schemas one value is held against, counted for each part of the value. A schema of a line, in which two
	// alternatives refer to itself, is held against a value twice as often for each of its levels.
	maxChecks = 50_000
	// maxExponent is how many digits a number may have, and zeros: some more than the largest that programs reckon with.
	maxExponent = 400
	// maxSaid is how many faults of a value are told of, and maxFault in how many bytes each.
	maxSaid, maxFault = 4, 200
)

// Check says where a JSON value is not as a schema says: nil when it is all right. Unlike the grammar it takes properties in any
// order and JSON however it is written. A schema that is none is an llm.ErrFormat.
func Check(schema, value json.RawMessage) error {
	c, err := read(schema, true)
	if err != nil {
		return err
	}
	return c.Check(value)
}

// Read reads a schema, which may refer to nothing but itself. Its formats only describe, as the standard has it. The error is an
// llm.ErrFormat.
func Read(schema json.RawMessage) (*Checker, error) { return read(schema, false) }

// read reads a schema; formats says whether values are held to its formats.
func read(schema json.RawMessage, formats bool) (*Checker, error) {
	if len(schema) > MaxBytes {
		return nil, fmt.Errorf("%w: the schema has %d bytes, it can have %d", llm.ErrFormat, len(schema), MaxBytes)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err == nil {
		err = moderate(doc)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the schema: %w", llm.ErrFormat, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{}) // which finds nothing: schemas come from callers
	if formats {
		compiler.AssertFormat()
	}
	c := &Checker{}
	if err = compiler.AddResource(name, doc); err == nil {
		c.schema, err = compiler.Compile(name)
	}
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		err = told(invalid.Err)
	}
	if err == nil {
		err = c.count(c.schema, map[*jsonschema.Schema]bool{})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: the schema: %w", llm.ErrFormat, err)
	}
	return c, nil
}

// name is what a schema is called while it is read.
const name = "schema:///call"

// Check says where a value is not as the schema says.
func (c *Checker) Check(value json.RawMessage) (err error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	if err := moderate(v); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = maxChecks
	defer func() {
		if x := recover(); x == errTooMuch {
			err = errTooMuch
		} else if x != nil {
			panic(x)
		}
	}()
	return told(c.schema.Validate(v))
}

// errTooMuch ends a check that would go on for too long.
var errTooMuch = errors.New("it is too large, or nested too deeply, to be held against all that the schema says")

// told returns what is wrong in a line, as far as it is of use.
func told(err error) error {
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err
	}
	var said []string
	var tell func(v *jsonschema.ValidationError)
	tell = func(v *jsonschema.ValidationError) {
		if len(said) > maxSaid {
			return
		}
		for _, cause := range v.Causes {
			tell(cause)
		}
		if len(v.Causes) == 0 {
			text := v.ErrorKind.LocalizedString(message.NewPrinter(language.English))
			if at := v.InstanceLocation; len(at) > 0 {
				text = strings.Join(at[max(0, len(at)-maxSaid):], "/") + ": " + text
			}
			if len(text) > maxFault {
				text = strings.ToValidUTF8(text[:maxFault], "") + "…"
			}
			said = append(said, text)
		}
	}
	if tell(v); len(said) > maxSaid {
		said[maxSaid] = "…"
	}
	return errors.New(strings.Join(said, "; "))
}

// count sees to it that whatever is held against a part of a schema counts, by what it costs. The library asks for the format of a value
// before it goes on with what is in it.
func (c *Checker) count(s *jsonschema.Schema, known map[*jsonschema.Schema]bool) error {
	if known[s] || !strings.HasPrefix(s.Location, name) { // what is not ours is the standard's own
		return nil
	}
	known[s] = true
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		return errors.New("$dynamicRef and $recursiveRef are not supported: use $ref")
	}
	parts := partsOf(s)
	cost := 1 + len(parts)
	if s.Enum != nil {
		cost += len(s.Enum.Values)
	}
	format := jsonschema.Format{Validate: func(any) error { return nil }}
	if s.Format != nil {
		format = *s.Format
	}
	validate, long := format.Validate, s.Pattern != nil || s.Format != nil
	format.Validate = func(v any) error {
		c.left -= cost
		switch v := v.(type) {
		case map[string]any:
			c.left -= len(v) * (1 + len(s.PatternProperties))
		case []any:
			c.left -= len(v)
		case string:
			if long {
				c.left -= len(v) / 16
			}
		}
		if c.left < 0 {
			panic(errTooMuch) // an error would be one of many
		}
		return validate(v)
	}
	s.Format = &format
	for _, part := range parts {
		if err := c.count(part, known); err != nil {
			return err
		}
	}
	return nil
}

// partsOf returns the schemas that a schema is made of, whatever their keywords are.
func partsOf(s *jsonschema.Schema) (parts []*jsonschema.Schema) {
	var add func(v reflect.Value)
	add = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			if !v.IsNil() {
				add(v.Elem())
			}
		case reflect.Pointer:
			if part, ok := v.Interface().(*jsonschema.Schema); ok && part != nil {
				parts = append(parts, part)
			}
		case reflect.Slice:
			for i := range v.Len() {
				add(v.Index(i))
			}
		case reflect.Map:
			for _, key := range v.MapKeys() {
				add(v.MapIndex(key))
			}
		}
	}
	all := reflect.ValueOf(s).Elem()
	for i := range all.NumField() {
		if all.Type().Field(i).IsExported() {
			add(all.Field(i))
		}
	}
	return parts
}

// moderate refuses numbers that would fill the memory if they were written out.
func moderate(v any) error {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if err := moderate(e); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := moderate(e); err != nil {
				return err
			}
		}
	case json.Number:
		digits, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		n, err := strconv.Atoi(exponent)
		if exponent != "" && (err != nil || n > maxExponent || n < -maxExponent) || len(digits) > maxExponent {
			return fmt.Errorf("the number %.20s… is too large or too small", v)
		}
	}
	return nil
}
