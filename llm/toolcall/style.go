// Package toolcall is how models are told of tools, how they are made to call them rightly, and how their calls are read.
package toolcall

import (
	"strings"

	"riposte/llm"
)

// Style is a way to write calls. Models are trained for one.
type Style int

const (
	// Hermes puts a JSON object with name and arguments between <tool_call> and </tool_call>: Qwen, Hermes, Granite and
	// many others. It is also what models are asked for that know no tools.
	Hermes Style = iota
	// Llama answers with nothing but a JSON object with name and parameters, perhaps after <|python_tag|>: Llama 3.
	Llama
	// Mistral writes [TOOL_CALLS] and a list of JSON objects with name and arguments: Mistral up to the year 2024.
	Mistral
)

// StyleOf says which style a chat template is written for. It is false, and Hermes, for one that knows no tools, or writes
// calls in a way that is not known here.
func StyleOf(template string) (Style, bool) {
	has := func(all ...string) bool {
		for _, s := range all {
			if !strings.Contains(template, s) {
				return false
			}
		}
		return true
	}
	switch {
	case !has("tools"), !has("tool_calls"):
		return Hermes, false
	case has("[TOOL_CALLS]") && !has("[ARGS]"):
		return Mistral, true
	case has("<tool_call>", "arguments"):
		return Hermes, !has("<function=") && !has("<arg_key>")
	case has("ipython", `"parameters"`), has("<|python_tag|>", `"parameters"`):
		return Llama, true
	}
	return Hermes, false
}

// open is what a call begins with, after any text.
func (s Style) open() string {
	switch s {
	case Llama:
		return "<|python_tag|>"
	case Mistral:
		return "[TOOL_CALLS]"
	}
	return "<tool_call>"
}

// arguments is what the arguments are called.
func (s Style) arguments() string {
	if s == Llama {
		return "parameters"
	}
	return "arguments"
}

// Signs are the marks that begin and end calls. A model may know them as tokens that are not text: they are to be
// taken for text where tools are offered.
func (s Style) Signs() []string {
	if s == Hermes {
		return []string{"<tool_call>", "</tool_call>"}
	}
	return []string{s.open()}
}

// Opens returns where in a text a call begins, or -1. begun says that other text came before it.
func (s Style) Opens(text string, begun bool) int {
	if s == Llama && !begun {
		if rest := strings.TrimLeft(text, whitespace); strings.HasPrefix(rest, "{") {
			return len(text) - len(rest)
		}
	}
	return strings.Index(text, s.open())
}

// Markers are all marks that mean something where tools are offered, so that nobody may write them into a conversation.
func (s Style) Markers() []string {
	switch s {
	case Mistral:
		return []string{"[TOOL_CALLS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"}
	case Llama:
		return []string{"<|python_tag|>"}
	}
	return []string{"<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<tools>", "</tools>"}
}

// Describe tells a model of tools that was not trained for any.
func Describe(tools []llm.Tool) string {
	var b strings.Builder
	b.WriteString("# Tools\n\nYou can call these functions:\n<tools>\n")
	for _, t := range tools {
		b.WriteString(Spaced(Definition(t)) + "\n")
	}
	b.WriteString("</tools>\n\nTo call one, answer with its name and its arguments as JSON, like this:\n<tool_call>\n" +
		`{"name": "the function's name", "arguments": {"the argument's name": "its value"}}` +
		"\n</tool_call>\nIts result then comes between <tool_response> and </tool_response>.")
	return b.String()
}

// Spell writes calls the way that Describe asks for.
func Spell(calls []llm.ToolCall) string {
	var parts []string
	for _, c := range calls {
		parts = append(parts, "<tool_call>\n"+`{"name": `+encode(c.Name)+`, "arguments": `+Spaced(c.Arguments)+"}\n</tool_call>")
	}
	return strings.Join(parts, "\n")
}

// Result writes the result of a call the way that Describe says.
func Result(text string) string { return "<tool_response>\n" + text + "\n</tool_response>" }
