package live

import (
	"encoding/json"
	"slices"

	"riposte/scenario"
)

// offered returns the tools of a script, which all take the same argument.
func offered(names []string) []object {
	out := []object{}
	for _, name := range names {
		out = append(out, object{"type": "function", "name": name, "parameters": object{
			"type": "object", "properties": object{"about": object{"type": "string"}}, "required": []string{"about"}, "additionalProperties": false,
		}})
	}
	return out
}

// choice returns what a client writes for the choice of a tool.
func choice(word string) any {
	if slices.Contains([]string{"auto", "none", "required"}, word) {
		return word
	}
	return object{"type": "function", "name": word}
}

// calls returns an item that calls a tool, under the given name.
func calls(id string, c scenario.Call) object {
	arguments, _ := json.Marshal(map[string]string{"about": c.About}) // it cannot fail
	return create(object{"type": "function_call", "call_id": id, "name": c.Tool, "arguments": string(arguments)})
}

// result returns an item that is the result of a call.
func result(id, text string) object {
	return create(object{"type": "function_call_output", "call_id": id, "output": text})
}

// about says what was called, and about what.
func about(name, arguments string) string {
	var a struct{ About string }
	_ = json.Unmarshal([]byte(arguments), &a) // what is none is about nothing
	return name + " " + a.About
}

// returns adds the result of the newest call of a tool.
func (p *play) returns(s scenario.Returns) error {
	if err := p.begin(); err != nil {
		return err
	}
	p.line.mu.Lock()
	id := ""
	for _, t := range p.line.told {
		if t.Type == "conversation.item.done" && t.Item.Type == "function_call" && t.Item.Name == s.Tool {
			id = t.Item.CallID
		}
	}
	p.line.mu.Unlock()
	if id == "" {
		p.amiss("%s was not called", s.Tool)
		return nil
	}
	return p.sends("returns", result(id, s.Text))
}
