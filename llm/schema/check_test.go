package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"riposte/llm"
	"riposte/llm/schema"
)

func TestCheck(t *testing.T) {
	const booking = `{"type": "object", "properties": {"day": {"enum": ["Monday", "Tuesday"]}, "people": {"type": "integer", "minimum": 1}}, "required": ["day"], "additionalProperties": false}`
	for _, test := range []struct{ schema, value, wrong string }{
		{booking, `{"day": "Monday", "people": 2}`, ""},
		{booking, `{"people":2,"day":"Monday"}`, ""}, // which the grammar would refuse, for the order
		{booking, `{"people": 2}`, "day"},
		{booking, `{"day": "Sunday"}`, "day"},
		{booking, `{"day": "Monday", "people": 0}`, "people"},
		{booking, `{"day": "Monday", "people": 1.5}`, "people"},
		{booking, `{"day": "Monday", "name": "Smith"}`, "name"},
		{booking, `["Monday"]`, "object"},
		{booking, `{"day": "Monday"`, "JSON"},
		{`{"$defs": {"n": {"type": "number"}}, "properties": {"x": {"$ref": "#/$defs/n"}}}`, `{"x": "one"}`, "x"},
		{`{"type": "string", "format": "date"}`, `"tomorrow"`, "date"},
	} {
		err := schema.Check(json.RawMessage(test.schema), json.RawMessage(test.value))
		switch {
		case test.wrong == "" && err != nil:
			t.Errorf("%s: %v", test.value, err)
		case test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)):
			t.Errorf("%s: %v, want it to name %s", test.value, err, test.wrong)
		case errors.Is(err, llm.ErrFormat):
			t.Errorf("%s: the schema is said to be wrong: %v", test.value, err)
		}
	}
}

// A schema from a caller opens no file, and asks nobody.
func TestCheckStaysHome(t *testing.T) {
	for _, s := range []string{`{"$ref": "file:///etc/passwd"}`, `{"$ref": "other.json"}`, `{"$ref": "http://127.0.0.1:1/x"}`, `{"type": 7}`, `{`} {
		if err := schema.Check(json.RawMessage(s), json.RawMessage(`{}`)); !errors.Is(err, llm.ErrFormat) {
			t.Errorf("%s: %v, want it refused", s, err)
		}
	}
}

// A schema of a line, and a value of some letters, make no work without end, and neither fill the memory nor end the process.
func TestCheckEnds(t *testing.T) {
	doubled := `{"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}`
	var chain strings.Builder
	for i := range 60 {
		fmt.Fprintf(&chain, `"d%d": {"anyOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}, `, i, i+1, i+1)
	}
	nested := func(n int, inside string) string {
		return strings.Repeat(`{"a": `, n) + inside + strings.Repeat("}", n)
	}
	for name, test := range map[string]struct{ schema, value, wrong string }{
		"it is itself":          {`{"type": "object", "$ref": "#"}`, `{}`, "cycle"},
		"it is itself by turns": {`{"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#"}]}}}`, `{}`, "cycle"},
		"it doubles":            {doubled, nested(60, "1"), "too large"},
		"it doubles, not":       {`{"type": "object", "properties": {"a": {"not": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}}`, nested(60, "1"), "too large"},
		"it doubles, shallow":   {doubled, nested(6, "{}"), ""},
		"a chain":               {`{"$ref": "#/$defs/d0", "$defs": {` + chain.String() + `"d60": {"type": "null"}}}`, `{}`, "too large"},
		"many for many":         {`{"items": {"enum": [` + strings.Repeat(`"a", `, 20000) + `"b"]}}`, `["c", "c"]`, "0: value must be"},
		"names for names":       {`{"patternProperties": {` + many(5000, `"^a%d$": {}`) + `}}`, `{` + many(5000, `"%d": 1`) + `}`, "too large"},
		"a long list":           {`{"items": {"type": "integer"}}`, `[` + strings.Repeat("1, ", 100_000) + `1]`, "too large"},
		"a deep value":          {`{"properties": {"a": {"$ref": "#"}}}`, nested(5000, "{}"), ""},
		"a vast number":         {`{"type": "number", "minimum": 0}`, `1e999999`, "number"},
		"digits without end":    {`{"type": "number", "multipleOf": 0.1}`, strings.Repeat("9", 1000), "number"},
	} {
		err := schema.Check(json.RawMessage(test.schema), json.RawMessage(test.value))
		if test.wrong == "" && err != nil || test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) {
			t.Errorf("%s: %.300v, want it to name %q", name, err, test.wrong)
		}
		if err != nil && len(err.Error()) > 2000 {
			t.Errorf("%s: it is told in %d bytes", name, len(err.Error()))
		}
	}
	for _, s := range []string{`{"minimum": 1e999999}`, `{"$dynamicRef": "#"}`, `{"description": "` + strings.Repeat("a", schema.MaxBytes) + `"}`} {
		if _, err := schema.Read(json.RawMessage(s)); !errors.Is(err, llm.ErrFormat) {
			t.Errorf("%.50s: %v, want it refused", s, err)
		}
	}
}

// many writes one text for each number, with commas between.
func many(n int, form string) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(form, i))
	}
	return strings.Join(all, ", ")
}

// Whatever a schema and a value are, a check comes to an end.
func FuzzCheck(f *testing.F) {
	f.Add(`{"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}`, `{"a": {"a": 1}}`)
	f.Add(`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"pattern": "^a"}], "additionalItems": {"format": "date"}}`, `["a", "b"]`)
	f.Fuzz(func(t *testing.T, s, value string) {
		if err := schema.Check(json.RawMessage(s), json.RawMessage(value)); err != nil && err.Error() == "" {
			t.Error("it does not say what is wrong")
		}
	})
}
