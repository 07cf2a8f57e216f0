package rest

import (
	"encoding/json"

	"riposte/llm"
)

// format is a form that answers keep to: a chat has its schema in a field, a response beside its type.
type format struct {
	Type   string `json:"type"`
	Inside *struct {
		Name   string          `json:"name"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"schema"`
}

// form returns it as the model knows it.
func (f *format) form(param string) (llm.Format, error) {
	if f == nil {
		return llm.Format{}, nil
	}
	switch f.Type {
	case "text":
		return llm.Format{}, nil
	case "json_object":
		return llm.Format{Schema: json.RawMessage("{}")}, nil
	case "json_schema":
		schema := f.Schema
		if f.Inside != nil {
			schema = f.Inside.Schema
		}
		if isNull(schema) {
			return llm.Format{}, missing(param + ".schema")
		}
		return llm.Format{Schema: schema}, nil
	}
	return llm.Format{}, wrong(param+".type", "%s.type is %s; it can be text, json_object or json_schema.", param, quoted(f.Type))
}
