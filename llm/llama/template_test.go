package llama

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"riposte/llm"
)

// The three kinds of templates there are: one that takes what it gets, one that insists, and one that also knows no
// system prompt.
const (
	easyTemplate = `{% for m in messages %}{% if loop.first and messages[0]['role'] != 'system' %}[system]Default.{% endif %}` +
		`[{{ m['role'] }}]{{ m['content'] }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}`
	strictTemplate = `{{ bos_token }}{% if messages[0]['role'] == 'system' %}{% set s = messages[0]['content'] %}{% set rest = messages[1:] %}` +
		`{% else %}{% set s = '' %}{% set rest = messages %}{% endif %}` +
		`{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}` +
		`[{{ m['role'] }}]{% if loop.first %}{{ s }}|{% endif %}{{ m['content'] | trim }}{% endfor %}[assistant]`
	userTemplate = `{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}` +
		`{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}` +
		`[{{ m['role'] }}]{{ m['content'] }}{% endfor %}[assistant]`
	droppingTemplate = `{% for m in messages %}{% if m['role'] != 'system' %}[{{ m['role'] }}]{{ m['content'] }}{% endif %}{% endfor %}[assistant]`
)

func TestTemplateRender(t *testing.T) {
	say := func(pairs ...string) []llm.Message {
		var m []llm.Message
		for i := 0; i < len(pairs); i += 2 {
			m = append(m, llm.Message{Role: llm.Role(pairs[i]), Text: pairs[i+1]})
		}
		return m
	}
	for name, test := range map[string]struct {
		template string
		messages []llm.Message
		want     string
	}{
		"easy":                        {easyTemplate, say("system", "S", "user", "Q"), "[system]S[user]Q[assistant]"},
		"the model's default":         {easyTemplate, say("user", "Q"), "[system]Default.[user]Q[assistant]"},
		"greeting first":              {easyTemplate, say("system", "S", "assistant", "Hi!", "user", "Q"), "[system]S[assistant]Hi![user]Q[assistant]"},
		"same role twice":             {easyTemplate, say("user", "A", "user", "B"), "[system]Default.[user]A[user]B[assistant]"},
		"strict":                      {strictTemplate, say("system", "S", "user", "Q"), "<s>[user]S|Q[assistant]"},
		"strict, greeting first":      {strictTemplate, say("system", "S", "assistant", "Hi!", "user", "Q"), "<s>[user]S|Hello.[assistant]Hi![user]Q[assistant]"},
		"strict, same role twice":     {strictTemplate, say("user", "A", "user", "B", "assistant", "C"), "<s>[user]|A\nB[assistant]C[assistant]"},
		"strict, system in between":   {strictTemplate, say("system", "S", "user", "A", "assistant", "B", "system", "T", "user", "C"), "<s>[user]S\nT|A[assistant]B[user]C[assistant]"},
		"strict, nothing but system":  {strictTemplate, say("system", "S"), "<s>[user]S|Hello.[assistant]"},
		"no system":                   {userTemplate, say("system", "S", "user", "Q"), "[user]S\n\nQ[assistant]"},
		"no system, greeting first":   {userTemplate, say("system", "S", "assistant", "Hi!", "user", "Q"), "[user]S\n\nHello.[assistant]Hi![user]Q[assistant]"},
		"no system, not said":         {droppingTemplate, say("system", "S", "user", "Q"), "[user]S\n\nQ[assistant]"},
		"comments":                    {"{#- we're here #}{{ messages[0]['content'] }} {#- that's \"it -#} !", say("user", "Q"), "Q!"},
		"none":                        {"", say("system", "S", "user", "Q"), "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"},
		"one that refuses everything": {"{{ raise_exception('no') }}", say("user", "Q"), "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"},
	} {
		t.Run(name, func(t *testing.T) {
			tmpl, err := newChatTemplate(test.template, "<s>", "</s>")
			if (err != nil) != (test.template == "") {
				t.Fatal(err)
			}
			before := append([]llm.Message(nil), test.messages...)
			got := tmpl.render(test.messages)
			if got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
			if diff := cmp.Diff(before, test.messages); diff != "" {
				t.Errorf("the caller's messages were changed: %s", diff)
			}
		})
	}
}

func TestTemplateThatCannotBeCompiled(t *testing.T) {
	tmpl, err := newChatTemplate("{% for %}", "", "")
	if err == nil {
		t.Error("no error")
	}
	if got := tmpl.render([]llm.Message{{Role: llm.User, Text: "Q"}}); !strings.HasPrefix(got, "<|im_start|>user\nQ") {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(append(tmpl.style.Markers(), "<|im_end|>", "<|im_start|>"), tmpl.stops()); diff != "" {
		t.Errorf("a model that does not know ChatML must still end: %s", diff)
	}
}

func FuzzTemplate(f *testing.F) {
	for _, s := range []string{easyTemplate, strictTemplate, userTemplate, droppingTemplate, "{% for %}", "{{ a.b.c[1:2] | x }}", "{% macro m(a) %}{{ m(a) }}{% endmacro %}"} {
		f.Add(s, "text")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if strings.Contains(source, "macro") || strings.Contains(source, "range") || strings.Contains(source, "*") {
			return // A file can hold a program that never ends, and whoever chose the file chose that too.
		}
		tmpl, _ := newChatTemplate(source, "<s>", "</s>")
		tmpl.render([]llm.Message{{Role: llm.Assistant, Text: text}, {Role: llm.User, Text: text}})
	})
}
