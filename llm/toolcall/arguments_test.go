package toolcall

import (
	"encoding/json"
	"errors"
	"testing"

	"riposte/llm"
)

func TestCheckCall(t *testing.T) {
	tools := []llm.Tool{
		{Name: "book", Parameters: json.RawMessage(`{"properties": {"day": {"type": "string"}}, "required": ["day"]}`)},
		{Name: "hang_up"},
	}
	for _, test := range []struct {
		name, arguments string
		ok              bool
	}{
		{"book", `{"day": "Monday"}`, true},
		{"book", `{}`, false},
		{"book", `"Monday"`, false},
		{"hang_up", `{}`, true},
		{"hang_up", ``, true},
		{"hang_up", `{"now": true}`, false},
		{"cancel", `{}`, false},
	} {
		err := CheckCall(tools, llm.ToolCall{Name: test.name, Arguments: json.RawMessage(test.arguments)})
		if test.ok != (err == nil) || err != nil && !errors.Is(err, ErrCall) {
			t.Errorf("%s(%s): %v", test.name, test.arguments, err)
		}
	}
}

func TestCheckSchemas(t *testing.T) {
	good := llm.Tool{Name: "a", Parameters: json.RawMessage(`{"type": "object", "properties": {"x": {"type": "string"}}}`)}
	if err := CheckSchemas([]llm.Tool{good, {Name: "b"}}); err != nil {
		t.Error(err)
	}
	for _, parameters := range []string{`{"type": "string"}`, `7`, `{"properties": {"x": {"not": {}}}}`, `{"properties": {"x": {"$ref": "file:///etc/passwd"}}}`} {
		if err := CheckSchemas([]llm.Tool{good, {Name: "b", Parameters: json.RawMessage(parameters)}}); !errors.Is(err, llm.ErrFormat) {
			t.Errorf("%s: %v, want it refused", parameters, err)
		}
	}
}
