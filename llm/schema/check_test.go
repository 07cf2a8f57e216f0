package schema_test

import (
	"encoding/json"
	"errors"
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
