package toolcall

import (
	"encoding/json"
	"fmt"

	"riposte/llm"
	"riposte/llm/schema"
)

// CheckCall says why a call cannot be made: there is no such tool among those that are offered, or the arguments are not as its
// parameters say. It is an ErrCall. Generators that hold models to a grammar make no such calls; others may.
func CheckCall(tools []llm.Tool, c llm.ToolCall) error {
	for _, t := range tools {
		if t.Name != c.Name {
			continue
		}
		parameters, err := objectSchema(t)
		if err != nil {
			return err
		}
		arguments := c.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		if err := schema.Check(parameters, arguments); err != nil {
			return fmt.Errorf("%w: the arguments of %q: %w", ErrCall, c.Name, err)
		}
		return nil
	}
	return fmt.Errorf("%w: there is no tool %q", ErrCall, c.Name)
}

// CheckSchemas refuses tools whose parameters no model can be held to. Its errors are llm.ErrFormat.
func CheckSchemas(tools []llm.Tool) error {
	if len(tools) == 0 {
		return nil
	}
	_, err := Grammar(Hermes, tools, llm.ChoiceAuto, false, nil)
	return err
}
