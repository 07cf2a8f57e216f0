package toolcall

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
	"riposte/llm/grammar"
)

var tools = []llm.Tool{
	{Name: "get_weather", Description: "The weather <now>.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","maxLength":30},"days":{"type":"integer","minimum":1,"maximum":7}},"required":["city"]}`)},
	{Name: "hang_up"},
}

type made struct{ Name, Arguments string }

func TestReader(t *testing.T) {
	for name, test := range map[string]struct {
		style  Style
		answer string
		spoken string
		calls  []made
		fails  bool
	}{
		"text":                  {Hermes, "It is <b>sunny</b>.", "It is <b>sunny</b>.", nil, false},
		"text that ends nearly": {Hermes, "It is <tool_", "It is <tool_", nil, false},
		"white space":           {Hermes, " a \n b \n", " a \n b \n", nil, false},
		"call": {Hermes, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>", "",
			[]made{{"get_weather", `{"city": "Paris"}`}}, false},
		"text and call": {Hermes, "Let me look.\n\n<tool_call>{\"name\": \"hang_up\", \"arguments\": {}}</tool_call>\n", "Let me look.",
			[]made{{"hang_up", `{}`}}, false},
		"several": {Hermes, "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"A\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"hang_up\"}\n</tool_call>", "",
			[]made{{"get_weather", `{"city": "A"}`}, {"hang_up", `{}`}}, false},
		"marks in strings": {Hermes, `<tool_call>{"name": "get_weather", "arguments": {"city": "}</tool_call>\"]{"}}</tool_call>`, "",
			[]made{{"get_weather", `{"city": "}</tool_call>\"]{"}`}}, false},
		"text after a call":   {Hermes, `<tool_call>{"name": "hang_up"}</tool_call> Bye.`, " Bye.", []made{{"hang_up", "{}"}}, false},
		"not closed":          {Hermes, `<tool_call>{"name": "hang_up"}`, "", []made{{"hang_up", "{}"}}, false},
		"arguments as text":   {Hermes, `<tool_call>{"name": "get_weather", "arguments": "{\"city\": \"B\"}"}</tool_call>`, "", []made{{"get_weather", `{"city": "B"}`}}, false},
		"broken":              {Hermes, `So: <tool_call>{"name": "hang_up", arguments}</tool_call>`, "So:", nil, true},
		"no JSON":             {Hermes, `<tool_call>hang_up()</tool_call>`, "", nil, true},
		"incomplete":          {Hermes, `<tool_call>{"name": "hang_`, "", nil, true},
		"unknown tool":        {Hermes, `<tool_call>{"name": "rm", "arguments": {}}</tool_call>`, "", nil, true},
		"arguments of a list": {Hermes, `<tool_call>{"name": "hang_up", "arguments": [1]}</tool_call>`, "", nil, true},

		"Llama":                  {Llama, `{"name": "get_weather", "parameters": {"city": "Rome"}}`, "", []made{{"get_weather", `{"city": "Rome"}`}}, false},
		"Llama after a sign":     {Llama, `<|python_tag|>{"name": "hang_up", "parameters": {}}`, "", []made{{"hang_up", "{}"}}, false},
		"Llama after text":       {Llama, "One moment. \n<|python_tag|>{\"type\": \"function\", \"name\": \"hang_up\"}", "One moment.", []made{{"hang_up", "{}"}}, false},
		"Llama, several":         {Llama, ` {"name": "hang_up", "parameters": {}}; {"name": "get_weather", "parameters": {"city": "C"}}`, "", []made{{"hang_up", "{}"}, {"get_weather", `{"city": "C"}`}}, false},
		"Llama, a brace in text": {Llama, `Use {"name": "hang_up"} here.`, `Use {"name": "hang_up"} here.`, nil, false},
		"Llama, other JSON":      {Llama, `{"answer": 42} is it.`, `{"answer": 42} is it.`, nil, false},
		"Llama, a smile":         {Llama, `{smiles} Hi.`, `{smiles} Hi.`, nil, false},
		"Llama, broken":          {Llama, `<|python_tag|>print(1)`, "", nil, true},
		"Llama, incomplete":      {Llama, `{"name": "hang`, "", nil, true},

		"Mistral":            {Mistral, `[TOOL_CALLS][{"name": "get_weather", "arguments": {"city": "Nice"}, "id": "abcdefghi"}]`, "", []made{{"get_weather", `{"city": "Nice"}`}}, false},
		"Mistral, several":   {Mistral, `Well. [TOOL_CALLS] [{"name": "hang_up", "arguments": {}}, {"name": "hang_up", "arguments": {}}]`, "Well.", []made{{"hang_up", "{}"}, {"hang_up", "{}"}}, false},
		"Mistral, text":      {Mistral, "See [1] and [TOOL", "See [1] and [TOOL", nil, false},
		"Mistral, broken":    {Mistral, `[TOOL_CALLS][{"name": }]`, "", nil, true},
		"Mistral, not alist": {Mistral, `[TOOL_CALLS]{"name": "hang_up"}`, "", []made{{"hang_up", "{}"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ids := map[string]bool{}
			// Cut at every byte, into bytes, and not at all.
			for cut := range len(test.answer) + 2 {
				var parts []string
				if cut == len(test.answer)+1 {
					parts = strings.Split(test.answer, "")
				} else {
					parts = []string{test.answer[:min(cut, len(test.answer))], test.answer[min(cut, len(test.answer)):]}
				}
				r := NewReader(test.style, tools)
				var spoken strings.Builder
				var calls []made
				var err error
				for _, p := range parts {
					text, c, e := r.Push(p)
					spoken.WriteString(text)
					for _, call := range c {
						if ids[call.ID] || !strings.HasPrefix(call.ID, "call_") {
							t.Fatalf("the ID %q is not unique", call.ID)
						}
						ids[call.ID] = true
						calls = append(calls, made{call.Name, string(call.Arguments)})
					}
					if err = e; err != nil {
						break
					}
				}
				if err == nil {
					var text string
					text, err = r.End(false)
					spoken.WriteString(text)
				}
				if spoken.String() != test.spoken || (err != nil) != test.fails || err != nil && !errors.Is(err, ErrCall) {
					t.Fatalf("cut at %d: spoken %q, err %v", cut, spoken.String(), err)
				}
				if diff := cmp.Diff(test.calls, calls); diff != "" {
					t.Fatalf("cut at %d: %s", cut, diff)
				}
			}
		})
	}
}

// Text is spoken as soon as it can be nothing else.
func TestReaderHoldsLittle(t *testing.T) {
	r := NewReader(Hermes, tools)
	for _, step := range []struct{ push, want string }{
		{"One", "One"}, {" moment", " moment"}, {". ", "."}, {"I", " I"}, {" <", ""}, {"b>", " <b>"}, {"\n<tool_", ""}, {"call>", ""}, {"{\"na", ""},
	} {
		if got, _, err := r.Push(step.push); got != step.want || err != nil {
			t.Errorf("after %q: %q, %v, want %q", step.push, got, err, step.want)
		}
	}
	if text, err := r.End(true); text != "" || err != nil {
		t.Errorf("cut off in a call: %q, %v", text, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(0, `a <tool_call>{"name": "hang_up"}</tool_call>`, 3)
	f.Add(1, `{"name": "hang_up", "parameters": {}}; {"`, 2)
	f.Add(2, `[TOOL_CALLS][{"name": "hang_up"}]`, 5)
	f.Fuzz(func(t *testing.T, style int, answer string, step int) {
		if style < 0 || style > 2 || step < 1 || len(answer) > 2000 {
			return
		}
		read := func(step int) (string, int, bool) {
			r := NewReader(Style(style), tools)
			var spoken strings.Builder
			n := 0
			for rest := answer; rest != ""; {
				k := min(step, len(rest))
				text, calls, err := r.Push(rest[:k])
				rest = rest[k:]
				spoken.WriteString(text)
				n += len(calls)
				if err != nil {
					return spoken.String(), n, false
				}
			}
			text, err := r.End(false)
			spoken.WriteString(text)
			if strings.Contains(spoken.String(), Style(style).open()) {
				t.Fatalf("%q is spoken", spoken.String())
			}
			return spoken.String(), n, err == nil
		}
		a, n, ok := read(step)
		b, m, ok2 := read(len(answer) + 1)
		if a != b || n != m || ok != ok2 {
			t.Fatalf("%q in steps of %d: %q, %d calls, %v; at once: %q, %d, %v", answer, step, a, n, ok, b, m, ok2)
		}
	})
}

func TestGrammar(t *testing.T) {
	const (
		paris = `{"name": "get_weather", "arguments": {"city": "Paris"}}`
		bye   = `{"name": "hang_up", "arguments": {}}`
	)
	call := func(s string) string { return "<tool_call>\n" + s + "\n</tool_call>" }
	llama := func(s string) string { return strings.ReplaceAll(s, "arguments", "parameters") }
	for name, test := range map[string]struct {
		style   Style
		choice  llm.Choice
		answer  string
		yes, no []string
	}{
		"auto": {Hermes, llm.ChoiceAuto, "", []string{"", "Hello.", "a <b> <tool> <<tool_cal", call(paris), "So.\n" + call(bye), call(paris) + "\n" + call(bye), "<" + call(bye)},
			[]string{call(`{"name": "other", "arguments": {}}`), call(`{"name": "get_weather", "arguments": {}}`), call(`{"name": "get_weather", "arguments": {"city": "Paris", "days": 8}}`),
				call(`{"name":"hang_up","arguments":{}}`), "<tool_call>", call(bye) + " So.", "a<tool_<tool_call>x", strings.Repeat(call(bye)+"\n", 8) + call(bye)}},
		"none":               {Hermes, llm.ChoiceNone, "", []string{"", "Hello <tool_call", "<<tool_call"}, []string{"<tool_call>", "a" + call(bye), "<<tool_call>"}},
		"required":           {Hermes, llm.ChoiceRequired, "", []string{call(paris), call(bye) + "\n" + call(paris)}, []string{"", "Hello.", "So.\n" + call(bye)}},
		"required, one call": {Hermes, llm.ChoiceRequired, "", []string{call(paris), call(bye)}, []string{"", call(bye) + "\n" + call(paris)}},
		"one":                {Hermes, "hang_up", "", []string{call(bye)}, []string{call(paris), call(bye) + "\n" + call(bye), ""}},
		"auto and a form":    {Hermes, llm.ChoiceAuto, `{"enum": ["a", "b"]}`, []string{`"a"`, call(bye)}, []string{"a", `"c"`, ""}},
		"none and a form":    {Hermes, llm.ChoiceNone, `{"enum": ["a", "b"]}`, []string{`"a"`}, []string{call(bye)}},
		"Llama":              {Llama, llm.ChoiceAuto, "", []string{"", "Hi {x}.", "\n Hi.", llama(paris)}, []string{"{", " {x}", paris, llama(bye) + "; " + llama(bye)}},
		"Llama, none":        {Llama, llm.ChoiceNone, "", []string{"Hi {x}."}, []string{llama(bye)}},
		"Llama, required":    {Llama, llm.ChoiceRequired, "", []string{llama(bye)}, []string{"Hi.", ""}},
		"Mistral":            {Mistral, llm.ChoiceAuto, "", []string{"Hi [1].", "[TOOL_CALLS][" + paris + ", " + bye + "]", `a [TOOL_CALLS][{"name": "hang_up", "arguments": {}, "id": "abcdefgh1"}]`}, []string{"[TOOL_CALLS][]", "[TOOL_CALLS]" + bye}},
		"Mistral, required":  {Mistral, llm.ChoiceRequired, "", []string{"[TOOL_CALLS][" + bye + "]"}, []string{"Hi.", "[" + bye + "]"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := Grammar(test.style, tools, test.choice, strings.HasSuffix(name, "one call"), json.RawMessage(test.answer))
			if err != nil {
				t.Fatal(err)
			}
			g, err := grammar.Parse(text)
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			matches := func(s string) bool {
				m := g.Matcher()
				return m.Advance([]byte(s)) && m.MayEnd()
			}
			for _, s := range test.yes {
				if !matches(s) {
					t.Errorf("%q should be allowed", s)
				}
				if test.answer != "" {
					continue
				}
				// What the grammar allows, the reader reads.
				r := NewReader(test.style, tools)
				if _, _, err := r.Push(s); err != nil {
					t.Errorf("%q: %v", s, err)
				}
				if _, err := r.End(false); err != nil {
					t.Errorf("%q: %v", s, err)
				}
			}
			for _, s := range test.no {
				if matches(s) {
					t.Errorf("%q should not be allowed", s)
				}
			}
		})
	}
}

func TestRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		tools  []llm.Tool
		choice llm.Choice
		says   string
	}{
		"no name":         {[]llm.Tool{{}}, "", "a tool is called"},
		"strange name":    {[]llm.Tool{{Name: `a"b`}}, "", "a tool is called"},
		"a choice":        {[]llm.Tool{{Name: "none"}}, "", "rename it"},
		"twice":           {[]llm.Tool{{Name: "a"}, {Name: "a"}}, "", "two tools"},
		"unknown":         {tools, "other", "none of the tools"},
		"none":            {nil, llm.ChoiceRequired, "there are none"},
		"no schema":       {[]llm.Tool{{Name: "a", Parameters: json.RawMessage(`{`)}}, "", "no JSON schema"},
		"a list":          {[]llm.Tool{{Name: "a", Parameters: json.RawMessage(`[]`)}}, "", "no JSON schema"},
		"null":            {[]llm.Tool{{Name: "a", Parameters: json.RawMessage(`null`)}}, "", "no JSON schema"},
		"another type":    {[]llm.Tool{{Name: "a", Parameters: json.RawMessage(`{"type": "string"}`)}}, "", "object"},
		"what isn't kept": {[]llm.Tool{{Name: "a", Parameters: json.RawMessage(`{"properties": {"x": {"not": {}}}}`)}}, "", `"a": the form that is asked for cannot be kept to: #/properties/x`},
	} {
		err := Check(test.tools, test.choice)
		if err == nil {
			_, err = Grammar(Hermes, test.tools, test.choice, false, nil)
		}
		if !errors.Is(err, llm.ErrFormat) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: err = %v, should say %q", name, err, test.says)
		}
	}
}

func TestDescribe(t *testing.T) {
	text := Describe(tools)
	for _, want := range []string{
		`{"type": "function", "function": {"name": "get_weather", "description": "The weather <now>.", "parameters": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 30}, `,
		`{"type": "function", "function": {"name": "hang_up", "description": "", "parameters": {"type": "object", "properties": {}}}}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	// What is spelled is read again.
	calls := []llm.ToolCall{{Name: "get_weather", Arguments: json.RawMessage(`{"city":"a: b, \"c\"","days":2}`)}, {Name: "hang_up", Arguments: json.RawMessage("{}")}}
	r := NewReader(Hermes, tools)
	_, got, err := r.Push(Spell(calls))
	if err != nil || len(got) != 2 || string(got[0].Arguments) != `{"city": "a: b, \"c\"", "days": 2}` || got[1].Name != "hang_up" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStyleOf(t *testing.T) {
	for text, want := range map[string]struct {
		style Style
		ok    bool
	}{
		"":                                       {Hermes, false},
		"messages content":                       {Hermes, false},
		"tools tool_calls":                       {Hermes, false},
		"tools <tool_call> tool_calls arguments": {Hermes, true},
		"tools <tool_call> tool_calls arguments <function=": {Hermes, false},
		"tools <tool_call> tool_calls arguments <arg_key>":  {Hermes, false},
		`tools tool_calls ipython "parameters"`:             {Llama, true},
		"tools tool_calls [TOOL_CALLS] arguments":           {Mistral, true},
		"tools tool_calls [TOOL_CALLS]name[ARGS] arguments": {Hermes, false},
	} {
		if style, ok := StyleOf(text); style != want.style || ok != want.ok {
			t.Errorf("%q: %v, %v", text, style, ok)
		}
	}
}
