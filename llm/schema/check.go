package schema

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"riposte/llm"
)

// Check says where a JSON value is not as a schema says: nil when it is all right. Unlike the grammar it takes properties in any
// order and JSON however it is written. A schema that is none is an llm.ErrFormat.
func Check(schema, value json.RawMessage) error {
	s, err := judge(schema)
	if err != nil {
		return fmt.Errorf("%w: the schema: %w", llm.ErrFormat, err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return s.Validate(v)
}

// judge compiles a schema, which may refer to nothing but itself.
func judge(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	const name = "schema:///call"
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // which finds nothing: schemas come from callers
	c.AssertFormat()
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	return c.Compile(name)
}
