package realtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"riposte/llm"
	"riposte/llm/toolcall"
)

// tool is a function that the client offers to the model, or an MCP server whose tools the service runs.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // A JSON schema; absent for no parameters.

	MCP *mcpServer `json:"-"` // In the place of all of these.
}

// MarshalJSON writes what UnmarshalJSON takes.
func (t tool) MarshalJSON() ([]byte, error) {
	type plain tool
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the model reads the parameters as they are written
	if t.MCP != nil {
		err := e.Encode(t.MCP)
		return b.Bytes(), err
	}
	err := e.Encode(plain(t))
	return b.Bytes(), err
}

// UnmarshalJSON takes a function or a server. Calls always keep to their parameters, so whether the client wants them strict makes no difference.
func (t *tool) UnmarshalJSON(b []byte) error {
	var asked struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(b, &asked) == nil && asked.Type == "mcp" {
		m, err := readServer(b)
		*t = tool{Type: "mcp", MCP: m}
		return err
	}
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
		return invalid("tools", "invalid_value", "tools holds a %.64q; this service takes \"function\", which the client itself runs, and \"mcp\".", kind.Type)
	case unknown && field == "function":
		return invalid("tools", "unknown_parameter", "A tool has its name, description and parameters beside its type, not in a function of their own.")
	case unknown:
		return invalid("tools", "unknown_parameter", "A tool has no field %.64q.", field)
	case err != nil:
		return badJSON(err)
	case kind.Type == "":
		return invalid("tools", "missing_required_parameter", "A tool has no type; this service takes \"function\" and \"mcp\".")
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
	out := make([]llm.Tool, 0, len(t))
	for _, f := range t {
		if f.MCP == nil {
			out = append(out, llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
		}
	}
	return out
}

// toolChoice says whether the model may, must or must not call a function, or which one it must.
type toolChoice llm.Choice

// UnmarshalJSON takes "auto", "none", "required" or the name of a function in an object.
func (c *toolChoice) UnmarshalJSON(b []byte) error {
	var word string
	var object struct {
		Type, Name string
		Label      string `json:"server_label"`
	}
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
	case json.Unmarshal(b, &object) == nil && object.Type == "mcp" && serverLabel.MatchString(object.Label):
		*c = toolChoice(mcpChoice + object.Label + " " + object.Name)
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
	if rest, ok := strings.CutPrefix(string(c), mcpChoice); ok {
		label, name, _ := strings.Cut(rest, " ")
		return json.Marshal(map[string]any{"type": "mcp", "server_label": label, "name": orNull(name)})
	}
	return json.Marshal(map[string]string{"type": "function", "name": string(c)})
}

// Bounds of what a client may offer. Models read far less; these only keep memory bounded.
const (
	maxTools     = 128
	maxToolBytes = 256 << 10
)

// validTools says what of the tools and the choice of one cannot be had. of is what they are part of, and more says that there may be others,
// of which nothing is known here.
func validTools(of string, t tools, c toolChoice, more bool) error {
	if len(t) > maxTools {
		return invalid(of+".tools", "invalid_value", "There are %d tools; there may be %d.", len(t), maxTools)
	}
	size, labels := 0, map[string]bool{}
	for _, f := range t {
		size += len(f.Name) + len(f.Description) + len(f.Parameters)
		if f.MCP == nil {
			continue
		}
		size += f.MCP.size()
		if labels[f.MCP.Label] {
			return invalid(of+".tools", "invalid_value", "Two MCP servers have the server_label %q: rename one.", f.MCP.Label)
		}
		if labels[f.MCP.Label] = true; len(labels) > maxServers {
			return invalid(of+".tools", "invalid_value", "There are more than %d MCP servers.", maxServers)
		}
	}
	if size > maxToolBytes {
		return invalid(of+".tools", "invalid_value", "The tools have %d bytes; they may have %d.", size, maxToolBytes)
	}
	offered := t.offered()
	if err := errors.Join(toolcall.Check(offered, llm.ChoiceAuto), toolcall.CheckSchemas(offered)); err != nil {
		return invalid(of+".tools", "invalid_value", "The tools cannot be offered: %s.", reason(err))
	}
	if rest, ok := strings.CutPrefix(string(c), mcpChoice); ok {
		if label, _, _ := strings.Cut(rest, " "); !labels[label] && !more {
			return invalid(of+".tool_choice", "invalid_value", "tool_choice names the MCP server %q, and there is none of that label.", label)
		}
		return nil
	}
	if more || len(labels) > 0 {
		return nil // what is not among them may be among those
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
