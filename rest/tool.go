package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"riposte/budget"
	"riposte/llm"
	"riposte/llm/toolcall"
)

// function is what a tool is described by.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// tool is one that the model may call: a chat has its function in a field, a response beside its type.
type tool struct {
	Type     string    `json:"type"`
	Function *function `json:"function"`
	function
}

// offered returns the tools as the model knows them.
func offered(all []tool) ([]llm.Tool, error) {
	var out []llm.Tool
	for i, t := range all {
		param := fmt.Sprintf("tools[%d]", i)
		if t.Type != "function" {
			return nil, unsupported(param+".type", "%s.type is %s; only functions can be called here.", param, quoted(t.Type))
		}
		f := t.function
		if t.Function != nil {
			f = *t.Function
		}
		if f.Name == "" {
			return nil, missing(param + ".function.name")
		}
		if isNull(f.Parameters) {
			f.Parameters = nil
		}
		out = append(out, llm.Tool{Name: f.Name, Description: f.Description, Parameters: f.Parameters})
	}
	return out, nil
}

// choose reads the field tool_choice, which may leave only some of the tools.
func choose(raw json.RawMessage, tools []llm.Tool) (llm.Choice, []llm.Tool, error) {
	if isNull(raw) {
		return llm.ChoiceAuto, tools, nil
	}
	var word string
	if json.Unmarshal(raw, &word) == nil {
		return chosen(word, tools)
	}
	var object struct {
		Type     string   `json:"type"`
		Name     string   `json:"name"`
		Function function `json:"function"`
		Mode     string   `json:"mode"`
		Tools    []tool   `json:"tools"`
		Allowed  *struct {
			Mode  string `json:"mode"`
			Tools []tool `json:"tools"`
		} `json:"allowed_tools"`
	}
	if json.Unmarshal(raw, &object) != nil {
		return "", nil, wrong("tool_choice", "tool_choice is neither a word nor an object.")
	}
	switch object.Type {
	case "function":
		name := object.Name
		if name == "" {
			name = object.Function.Name
		}
		if !slices.ContainsFunc(tools, func(t llm.Tool) bool { return t.Name == name }) {
			return "", nil, wrong("tool_choice", "tool_choice names the function %s, which is none of the tools.", quoted(name))
		}
		return llm.Choice(name), tools, nil
	case "allowed_tools":
		mode, allowed := object.Mode, object.Tools
		if object.Allowed != nil {
			mode, allowed = object.Allowed.Mode, object.Allowed.Tools
		}
		left, err := offered(allowed)
		if err != nil {
			return "", nil, err
		}
		tools = slices.DeleteFunc(slices.Clone(tools), func(t llm.Tool) bool {
			return !slices.ContainsFunc(left, func(l llm.Tool) bool { return l.Name == t.Name })
		})
		return chosen(mode, tools)
	}
	return "", nil, unsupported("tool_choice", "tool_choice has the type %s; it can be function or allowed_tools.", quoted(object.Type))
}

// chosen reads a choice of one word.
func chosen(word string, tools []llm.Tool) (llm.Choice, []llm.Tool, error) {
	switch word {
	case "auto":
		return llm.ChoiceAuto, tools, nil
	case "none":
		return llm.ChoiceNone, tools, nil
	case "required":
		if len(tools) == 0 {
			return "", nil, wrong("tool_choice", "tool_choice is required, and there are no tools.")
		}
		return llm.ChoiceRequired, tools, nil
	}
	return "", nil, wrong("tool_choice", "tool_choice is %s; it can be auto, none, required, or an object that names a function.", quoted(word))
}

// blamed says which field of a request to a model an llm.ErrFormat is about. Other errors it leaves as they are.
func blamed(q llm.Request, err error) error {
	if !errors.Is(err, llm.ErrFormat) {
		return err
	}
	p := problemOf(budget.LLM, err)
	p.Param = "response_format"
	if toolcall.Check(q.Tools, q.Choice) != nil || toolcall.CheckSchemas(q.Tools) != nil {
		p.Param = "tools"
	}
	return p
}
