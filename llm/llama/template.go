package llama

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ardanlabs/jinja"

	"riposte/llm"
	"riposte/llm/toolcall"
)

// chatTemplate writes conversations the way that a model was trained to read them.
type chatTemplate struct {
	jinja    *jinja.Template // Nil for ChatML.
	source   string          // What it was compiled from.
	bos, eos string          // The texts of the tokens that begin and end a document.

	style toolcall.Style // How the model calls tools.
	knows bool           // The template has words for tools, calls and results. Otherwise they are spelled as text.
	tools []llm.Tool     // What the conversations that are written have of them.
}

// newChatTemplate compiles a model's own template. Without one, and with one that cannot be compiled, it returns a
// usable ChatML template together with an error that says why.
func newChatTemplate(source, bos, eos string) (*chatTemplate, error) {
	t := &chatTemplate{bos: bos, eos: eos}
	if source == "" {
		return t, errors.New("the model has no chat template")
	}
	compiled, err := compileJinja(source)
	if err != nil { // An apostrophe in a comment is taken for the beginning of a string.
		compiled, err = compileJinja(comments.ReplaceAllString(source, "$1$2"))
	}
	if err != nil {
		return t, fmt.Errorf("the model's chat template: %w", err)
	}
	t.jinja, t.source = compiled, source
	if t.style, t.knows = toolcall.StyleOf(source); t.knows && !t.writesTools() {
		t.style, t.knows = toolcall.Hermes, false
	}
	return t, nil
}

// with returns the template for conversations with these tools.
func (t *chatTemplate) with(tools []llm.Tool) *chatTemplate {
	c := *t
	c.tools = tools
	return &c
}

// comments are those of a template; the ends that are kept say what happens to the white space around them.
var comments = regexp.MustCompile(`(?s)(\{#-?).*?(-?#\})`)

// writes reports whether the template itself, and not only a message, may write a text.
func (t *chatTemplate) writes(text string) bool {
	if t.jinja == nil {
		return strings.Contains(chatML([]llm.Message{{}}), text)
	}
	return strings.Contains(t.source, text) || text == t.bos || text == t.eos
}

// stops are strings that end an answer in addition to the model's own end: the template's markers, where the model may
// not know them as tokens, and the marks of tools, but for those that begin calls where there is something to be called.
func (t *chatTemplate) stops() []string {
	stops := slices.DeleteFunc(t.style.Markers(), func(s string) bool {
		return len(t.tools) > 0 && slices.Contains(t.style.Signs(), s)
	})
	if t.jinja == nil {
		stops = append(stops, "<|im_end|>", "<|im_start|>")
	}
	return stops
}

// render writes a conversation and the beginning of the assistant's next message. Templates are particular: some want
// the roles to alternate, some want the user to begin, some know no system prompt. So a conversation that a template
// refuses, or of which it leaves something out, is offered in other forms that say the same. It never fails: what no
// form of is accepted is written in ChatML.
func (t *chatTemplate) render(messages []llm.Message) string {
	plain := spelled(t.tools, messages)
	if !t.knows {
		messages = plain
	}
	if t.jinja == nil {
		return chatML(plain)
	}
	second, found := "", false // A form that was accepted but did not come out whole.
	for _, form := range []func([]llm.Message) []llm.Message{asTheyAre, oneByOne, alternating, withoutSystem} {
		m := form(messages)
		text, err := t.apply(m)
		if err != nil {
			continue
		}
		if containsAll(text, m) && t.offers(text) {
			return text
		}
		if !found {
			second, found = text, true
		}
	}
	if found {
		return second
	}
	return chatML(plain)
}

// apply runs the template. The engine that runs it is written for well-behaved templates, and this one came with a file
// from somewhere, so a panic in there is an error here.
func (t *chatTemplate) apply(messages []llm.Message) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("chat template: %v", p)
		}
	}()
	data := map[string]jinja.Value{
		"messages":              messageValues(messages),
		"add_generation_prompt": jinja.NewBool(true),
		"bos_token":             jinja.NewString(t.bos),
		"eos_token":             jinja.NewString(t.eos),
		"enable_thinking":       jinja.NewBool(false), // A caller cannot wait for it.
		jsonFilter:              jinja.NewCallable(jsonFilter, writeJSON),
	}
	if t.knows && len(t.tools) > 0 {
		data["tools"] = toolValues(t.tools)
	}
	return t.jinja.RenderValues(data)
}

func compileJinja(source string) (t *jinja.Template, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return jinja.Compile(toJSON.ReplaceAllString(source, "| "+jsonFilter))
}

// chatML is the most common of the formats, and plain enough for a model that knows none.
func chatML(messages []llm.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "<|im_start|>%s\n%s<|im_end|>\n", m.Role, m.Text)
	}
	b.WriteString("<|im_start|>assistant\n")
	return b.String()
}

func asTheyAre(messages []llm.Message) []llm.Message { return messages }

// opener is what a caller is taken to have said where the assistant spoke first and the template wants the user to.
const opener = "Hello."

// alternating puts all that the system says first, makes one message of several by the same speaker, and lets the user
// begin.
func alternating(messages []llm.Message) []llm.Message {
	var system []string
	var rest []llm.Message
	for _, m := range oneByOne(messages) {
		last := len(rest) - 1
		switch {
		case m.Role == llm.System:
			system = append(system, m.Text)
		case last >= 0 && rest[last].Role == m.Role && m.Role != llm.ToolRole && len(m.Calls)+len(rest[last].Calls) == 0:
			rest[last].Text += "\n" + m.Text
		default:
			rest = append(rest, m)
		}
	}
	var out []llm.Message
	if len(system) > 0 {
		out = append(out, llm.Message{Role: llm.System, Text: strings.Join(system, "\n")})
	}
	if len(rest) == 0 || rest[0].Role == llm.Assistant {
		out = append(out, llm.Message{Role: llm.User, Text: opener})
	}
	return append(out, rest...)
}

// withoutSystem lets the user say what the system does, before the first of what the user says.
func withoutSystem(messages []llm.Message) []llm.Message {
	m := alternating(messages)
	if len(m) > 1 && m[0].Role == llm.System {
		m[1].Text = m[0].Text + "\n\n" + m[1].Text
		m = m[1:]
	}
	return m
}

// containsAll reports whether every message made it into the text. Templates may trim them.
func containsAll(text string, messages []llm.Message) bool {
	for _, m := range messages {
		if !strings.Contains(text, strings.TrimSpace(m.Text)) {
			return false
		}
		for _, c := range m.Calls {
			if !strings.Contains(text, c.Name) {
				return false
			}
		}
	}
	return true
}
