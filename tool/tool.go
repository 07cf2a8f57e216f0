// Package tool runs what a model calls where the service does so itself, and not the caller's side. Tools come from Sources, such as
// those of tool/web and tool/mcp; a Set is what one kind of call may use of them. Whatever a tool does, a call of it ends in a text
// for the model to read: a result, or an Error that says what went wrong.
package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"riposte/llm"
	"riposte/llm/schema"
	"riposte/llm/toolcall"
)

// Tool is one thing that can be called. New makes it.
type Tool struct {
	llm.Tool               // As the model is told of it.
	Server   string        // Who runs it, for people, such as the label of an MCP server.
	Timeout  time.Duration // How long one call may take. It defaults to DefaultTimeout.
	// Run does it, with arguments that keep to the parameters, and returns what the model is to read. It returns soon after ctx ends. An
	// error that is no *Error counts as Failed.
	Run func(ctx context.Context, arguments json.RawMessage) (string, error)

	arguments *schema.Checker // What the parameters really say.
}

// DefaultTimeout is how long a call may take, unless the tool says otherwise.
const DefaultTimeout = 20 * time.Second

// mostSchema is how many bytes a tool's parameters may have: the model reads them with every conversation.
const mostSchema = 32 << 10

// New makes a tool ready whose other fields are set, and says what is wrong with its name or its parameters, a JSON schema of an object.
// Parameters that no model can be held to are told it in less detail; arguments are checked against the whole of them.
func New(t Tool) (*Tool, error) {
	if err := toolcall.CheckName(t.Name); err != nil {
		return nil, err
	}
	if len(t.Parameters) > mostSchema {
		return nil, fmt.Errorf("tool %s: its parameters have %d bytes: they may have %d", t.Name, len(t.Parameters), mostSchema)
	}
	if len(t.Parameters) == 0 || string(t.Parameters) == "null" {
		t.Parameters = json.RawMessage(`{"type": "object", "properties": {}}`)
	}
	var err error
	if t.arguments, err = schema.Read(t.Parameters); err != nil {
		return nil, fmt.Errorf("tool %s: its parameters: %w", t.Name, err)
	}
	var top struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(t.Parameters, &top) // what is no object has no type
	if top.Type != "object" {
		return nil, fmt.Errorf("tool %s: its parameters are of the type %v: they have to be an \"object\"", t.Name, top.Type)
	}
	for _, parameters := range []json.RawMessage{t.Parameters, simpler(t.Parameters), json.RawMessage(`{"type": "object"}`)} {
		t.Parameters = parameters
		if err = toolcall.CheckSchemas([]llm.Tool{t.Tool}); err == nil {
			break
		}
	}
	if err == nil {
		err = toolcall.Check([]llm.Tool{t.Tool}, llm.ChoiceAuto)
	}
	if err != nil {
		return nil, fmt.Errorf("tool %s: %w", t.Name, err)
	}
	return &t, nil
}

// simpler returns what a schema of an object says of its fields without what only a few understand.
func simpler(parameters json.RawMessage) json.RawMessage {
	type field struct {
		Type        json.RawMessage `json:"type,omitempty"`
		Description string          `json:"description,omitempty"`
		Enum        json.RawMessage `json:"enum,omitempty"`
	}
	var o struct {
		Type       string           `json:"type"`
		Properties map[string]field `json:"properties"`
		Required   []string         `json:"required,omitempty"`
	}
	_ = json.Unmarshal(parameters, &o) // what cannot be read is left out
	b, err := json.Marshal(o)
	if err != nil {
		return json.RawMessage(`{"type": "object"}`)
	}
	return b
}

// check says what of a call's arguments is not as the parameters say.
func (t *Tool) check(arguments json.RawMessage) error {
	var object map[string]any
	if err := json.Unmarshal(arguments, &object); err != nil || object == nil {
		return wrong("the arguments are no JSON object")
	}
	if err := t.arguments.Check(arguments); err != nil {
		return wrong(err.Error())
	}
	return nil
}

// wrong says that arguments are not as they have to be.
func wrong(what string) *Error {
	return &Error{Kind: WrongArguments, Text: fmt.Sprintf("Wrong arguments: %.500s. Call it again with arguments that are as its parameters say.", what)}
}
