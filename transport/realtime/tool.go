package realtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"riposte/llm"
	"riposte/llm/toolcall"
)

// tool is a function that the client offers to the model.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // A JSON schema; absent for no parameters.
}

// UnmarshalJSON takes a function. Calls always keep to their parameters, so whether the client wants them strict makes no difference.
func (t *tool) UnmarshalJSON(b []byte) error {
	type plain tool
	var in struct {
		plain
		Strict *bool `json:"strict"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(&in)
	var kind struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(b, &kind) // what is no object has been refused
	field, unknown := unknownField(err)
	switch {
	case kind.Type != "function" && kind.Type != "":
		return invalid("tools", "invalid_value", "tools holds a %.64q; this service takes \"function\", which the client itself runs.", kind.Type)
	case unknown && field == "function":
		return invalid("tools", "unknown_parameter", "A tool has its name, description and parameters beside its type, not in a function of their own.")
	case unknown:
		return invalid("tools", "unknown_parameter", "A tool has no field %.64q.", field)
	case err != nil:
		return badJSON(err)
	case kind.Type == "":
		return invalid("tools", "missing_required_parameter", "A tool has no type; this service takes \"function\".")
	}
	*t = tool(in.plain)
	if isNull(t.Parameters) {
		t.Parameters = nil
	}
	return nil
}

// tools are the functions that the client offers.
type tools []tool

// UnmarshalJSON replaces all of them; null leaves nil.
func (t *tools) UnmarshalJSON(b []byte) error {
	var list []tool
	err := json.Unmarshal(b, &list)
	*t = list
	return err
}

// offered returns what the model is told of them.
func (t tools) offered() []llm.Tool {
	out := make([]llm.Tool, len(t))
	for i, f := range t {
		out[i] = llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters}
	}
	return out
}

// toolChoice says whether the model may, must or must not call a function, or which one it must.
type toolChoice llm.Choice

// UnmarshalJSON takes "auto", "none", "required" or the name of a function in an object.
func (c *toolChoice) UnmarshalJSON(b []byte) error {
	var word string
	var object struct{ Type, Name string }
	switch {
	case isNull(b):
		*c = toolChoice(llm.ChoiceAuto)
	case json.Unmarshal(b, &word) == nil:
		switch word {
		case "auto":
			*c = toolChoice(llm.ChoiceAuto)
		case string(llm.ChoiceNone), string(llm.ChoiceRequired):
			*c = toolChoice(word)
		default:
			return invalid("tool_choice", "invalid_value", "tool_choice is %.64q; it must be auto, none, required, or {\"type\": \"function\", \"name\": …}.", word)
		}
	case json.Unmarshal(b, &object) == nil && object.Type == "function" && object.Name != "":
		*c = toolChoice(object.Name)
	default:
		return invalid("tool_choice", "invalid_value", "tool_choice must be auto, none, required, or {\"type\": \"function\", \"name\": …}.")
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON takes.
func (c toolChoice) MarshalJSON() ([]byte, error) {
	switch llm.Choice(c) {
	case llm.ChoiceAuto:
		return []byte(`"auto"`), nil
	case llm.ChoiceNone, llm.ChoiceRequired:
		return json.Marshal(string(c))
	}
	return json.Marshal(map[string]string{"type": "function", "name": string(c)})
}

// Bounds of what a client may offer. Models read far less; these only keep memory bounded.
const (
	maxTools     = 128
	maxToolBytes = 256 << 10
)

// validTools says what of the tools and the choice of one cannot be had. of is what they are part of.
func validTools(of string, t tools, c toolChoice) error {
	if len(t) > maxTools {
		return invalid(of+".tools", "invalid_value", "There are %d tools; there may be %d.", len(t), maxTools)
	}
	size := 0
	for _, f := range t {
		size += len(f.Name) + len(f.Description) + len(f.Parameters)
	}
	if size > maxToolBytes {
		return invalid(of+".tools", "invalid_value", "The tools have %d bytes; they may have %d.", size, maxToolBytes)
	}
	offered := t.offered()
	if err := errors.Join(toolcall.Check(offered, llm.ChoiceAuto), toolcall.CheckSchemas(offered)); err != nil {
		return invalid(of+".tools", "invalid_value", "The tools cannot be offered: %s.", reason(err))
	}
	if err := toolcall.Check(offered, llm.Choice(c)); err != nil {
		return invalid(of+".tool_choice", "invalid_value", "The choice cannot be kept to: %s.", reason(err))
	}
	return nil
}

// reason returns the first line of what is wrong with a form, without saying that it is one.
func reason(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimPrefix(line, llm.ErrFormat.Error()+": ")
}
