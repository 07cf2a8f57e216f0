package toolcall

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"riposte/llm"
	"riposte/llm/schema"
)

// maxCalls is how many calls one answer may make.
const maxCalls = 8

// toolName is what OpenAI's protocol allows for a name, and unfit is what a name may not have.
var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	unfit    = regexp.MustCompile(`[^a-zA-Z0-9_.-]+`)
)

// CheckName refuses a name that no tool can have, and says what a name may have in it.
func CheckName(name string) error {
	if toolName.MatchString(name) {
		return nil
	}
	such := "get_weather"
	if fit := unfit.ReplaceAllString(name, "_"); fit != name && len(fit) <= 64 && strings.Trim(fit, "_") != "" {
		such = fit
	}
	return fmt.Errorf("a tool is called %.80q: its name may have 1 to 64 of the letters a to z and A to Z, digits, dots, _ and -, and nothing else, such as %s", name, such)
}

// Check refuses tools that cannot be offered, and a choice that means none of them. Its errors are llm.ErrFormat.
func Check(tools []llm.Tool, choice llm.Choice) error {
	known := map[string]bool{}
	for _, t := range tools {
		switch {
		case CheckName(t.Name) != nil:
			return fmt.Errorf("%w: %w", llm.ErrFormat, CheckName(t.Name))
		case t.Name == string(llm.ChoiceNone) || t.Name == string(llm.ChoiceRequired):
			return fmt.Errorf("%w: a tool cannot be called %q, which is a choice: rename it", llm.ErrFormat, t.Name)
		case known[t.Name]:
			return fmt.Errorf("%w: two tools are called %q: rename one", llm.ErrFormat, t.Name)
		}
		known[t.Name] = true
	}
	switch {
	case choice == llm.ChoiceAuto || choice == llm.ChoiceNone || known[string(choice)]:
		return nil
	case len(tools) == 0:
		return fmt.Errorf("%w: tools are to be used, and there are none", llm.ErrFormat)
	case choice == llm.ChoiceRequired:
		return nil
	}
	return fmt.Errorf("%w: the tool %q is to be used, and it is none of the tools", llm.ErrFormat, choice)
}

// Grammar is the grammar in GBNF that holds an answer to a style and a choice of tools, which have passed Check. Arguments keep
// to their schemas. There is one call at most if one is set, or else several may be made. An answer that need not be a call is a text
// without one, or keeps to the schema answer if that is not empty. Its errors are llm.ErrFormat.
func Grammar(style Style, tools []llm.Tool, choice llm.Choice, one bool, answer json.RawMessage) (string, error) {
	g := schema.Grammar{Tight: true}
	if choice != llm.ChoiceNone {
		var names []string
		for _, t := range tools {
			if choice != llm.ChoiceAuto && choice != llm.ChoiceRequired && string(choice) != t.Name {
				continue
			}
			parameters, err := objectSchema(t)
			if err != nil {
				return "", err
			}
			arguments, err := g.Schema(parameters)
			if err != nil {
				return "", fmt.Errorf("the parameters of the tool %q: %w", t.Name, err)
			}
			id := ""
			if style == Mistral {
				id = ` (", \"id\": \"" [a-zA-Z0-9]{9} "\"")?`
			}
			name := fmt.Sprintf("call%d", len(names))
			g.Rule(name, fmt.Sprintf(`"{\"name\": \"%s\", \"%s\": " %s%s "}"`, t.Name, style.arguments(), arguments, id))
			names = append(names, name)
		}
		g.Rule("call", strings.Join(names, " | "))
		more := maxCalls - 1
		if one || choice != llm.ChoiceAuto && choice != llm.ChoiceRequired {
			more = 0
		}
		// What follows the sign that opens a call, and all of it.
		switch style {
		case Llama:
			g.Rule("calls", "call") // Its template takes one at a time.
		case Mistral:
			g.Rule("opened", fmt.Sprintf(`"[" call (", " call){0,%d} "]"`, more))
			g.Rule("calls", `"[TOOL_CALLS]" opened`)
		default:
			g.Rule("opened", fmt.Sprintf(`"\n" call "\n</tool_call>" ("\n<tool_call>\n" call "\n</tool_call>"){0,%d}`, more))
			g.Rule("calls", `"<tool_call>" opened`)
		}
	}
	switch {
	case choice != llm.ChoiceAuto && choice != llm.ChoiceNone:
		g.Rule("root", "calls")
	case len(answer) > 0:
		name, err := g.Schema(answer)
		if err != nil {
			return "", err
		}
		if g.Rule("answer", name); choice == llm.ChoiceNone {
			g.Rule("root", "answer")
		} else {
			g.Rule("root", "answer | calls")
		}
	case style == Llama:
		// A text that begins with a brace would be taken for a call.
		g.Rule("text", `"" | [ \n] text | [^ \n{] .*`)
		if choice == llm.ChoiceNone {
			g.Rule("root", "text")
		} else {
			g.Rule("root", "text | calls")
		}
	default:
		then := "opened"
		if choice == llm.ChoiceNone {
			then = ""
		}
		g.Rule("root", "text0")
		until(&g, style.open(), then)
	}
	return g.String(), nil
}

// until writes the rules text0, text1 and so on for a text that ends, or comes to a sign and then goes on with a rule. It
// cannot come to the sign if that rule is empty. The number says how much of the sign the text ends with.
func until(g *schema.Grammar, sign, then string) {
	// longest is how much of the sign a text ends with that ended with n of it and then has c.
	longest := func(n int, c byte) int {
		s := sign[:n] + string(c)
		for k := min(len(s), len(sign)); k > 0; k-- {
			if strings.HasSuffix(s, sign[:k]) {
				return k
			}
		}
		return 0
	}
	letters := slices.Compact(slices.Sorted(slices.Values([]byte(sign))))
	for n := range len(sign) {
		forms := []string{`""`}
		var others strings.Builder
		for _, c := range letters {
			k := longest(n, c)
			if k == 0 {
				continue
			}
			fmt.Fprintf(&others, `\x%02X`, c)
			switch {
			case k < len(sign):
				forms = append(forms, fmt.Sprintf(`[\x%02X] text%d`, c, k))
			case then != "":
				forms = append(forms, fmt.Sprintf(`[\x%02X] %s`, c, then))
			}
		}
		forms = append(forms, "[^"+others.String()+"] text0")
		g.Rule(fmt.Sprintf("text%d", n), strings.Join(forms, " | "))
	}
}

// objectSchema returns a tool's parameters as a schema that allows objects only.
func objectSchema(t llm.Tool) (json.RawMessage, error) {
	raw := bytes.TrimSpace(t.Parameters)
	if len(raw) == 0 {
		return json.RawMessage(`{"type": "object", "additionalProperties": false}`), nil
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(raw, &top); err != nil || top == nil {
		return nil, fmt.Errorf("%w: the parameters of the tool %q are no JSON schema of an object", llm.ErrFormat, t.Name)
	}
	var kind string
	switch kindRaw, ok := top["type"]; {
	case !ok && len(top) == 0:
		return json.RawMessage(`{"type": "object"}`), nil
	case !ok:
		return json.RawMessage(`{"type": "object", ` + string(raw[1:])), nil
	case json.Unmarshal(kindRaw, &kind) != nil || kind != "object":
		return nil, fmt.Errorf("%w: the parameters of the tool %q have the type %s: it can be \"object\" only", llm.ErrFormat, t.Name, kindRaw)
	}
	return json.RawMessage(raw), nil
}
