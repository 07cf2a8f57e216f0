package llama

import (
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	native "github.com/hybridgroup/yzma/pkg/llama"

	"riposte/llm"
	"riposte/llm/grammar"
	"riposte/llm/schema"
	"riposte/llm/toolcall"
)

// llama.cpp's own grammar sampler allows the same tokens at every place of a text, but for control tokens, the zero byte,
// and ends within a character, which it also allows.
func TestGrammarAgreesWithLlama(t *testing.T) {
	e := commonEngine(t)
	l := e.model.lexicon()
	texts := map[string][]string{}
	for name, s := range formSchemas {
		gbnf, err := schema.Compile([]byte(s))
		if err != nil {
			t.Fatal(err)
		}
		texts[gbnf] = map[string][]string{
			"person":  {`{"name": "Ann \"é😀\"", "age": 42, "email": null}`, "{\n  \"name\":\"\",\"age\":0\n}"},
			"order":   {`{"items": [{"sku": "ABC-12", "count": 3}, {"sku": "XYZ-00", "count": 1}], "when": "2024-02-29"}`},
			"mood":    {`"angry"`},
			"number":  {`-42`, `7`},
			"either":  {`{"kind": "wait", "seconds": 60}`, `{"kind": "call", "number": "+12345678"}`},
			"letters": {`["a", "bcd", "é€😀x"]`},
		}[name]
	}
	tools, err := toolcall.Grammar(toolcall.Hermes, []llm.Tool{weather}, llm.ChoiceAuto, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts[tools] = []string{"I will <b>look</b>.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"unit\": \"C\", \"city\": \"Rome\"}}\n</tool_call>"}
	texts["root ::= ([^a-y] | \"ab\"{2,4} | . \"é\")+ [€-😀]?"] = []string{"zabababé ü", "\n\n-éé€"}
	var ours, theirs time.Duration
	places := 0
	for gbnf, list := range texts {
		g, err := grammar.Parse(gbnf)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range list {
			sampler := native.SamplerInitGrammar(e.model.words, gbnf, "root")
			if sampler == 0 {
				t.Fatalf("llama.cpp refuses\n%s", gbnf)
			}
			f := &form{words: l, text: g.Matcher()}
			candidates := make([]native.TokenData, e.model.size)
			var said []byte
			for i, next := range append(e.model.tokenize(text), -1) {
				began := time.Now()
				got := slices.Clone(f.allowed())
				ours += time.Since(began)
				slices.Sort(got)
				for i := range candidates {
					candidates[i] = native.TokenData{Id: native.Token(i)}
				}
				a := &native.TokenDataArray{Data: &candidates[0], Size: uint64(len(candidates)), Selected: -1}
				began = time.Now()
				native.SamplerApply(sampler, a)
				theirs += time.Since(began)
				var want []int32
				for i, c := range candidates {
					isText := len(l.text.Text(int32(c.Id))) > 0
					if c.Logit == 0 && (isText || native.VocabIsEOG(e.model.words, c.Id) && utf8.Valid(said)) {
						want = append(want, int32(i))
					}
				}
				places++
				if !slices.Equal(got, want) {
					differ := slices.DeleteFunc(slices.Concat(got, want), func(t int32) bool { return slices.Contains(got, t) && slices.Contains(want, t) })
					t.Fatalf("%q, token %d: %d tokens are allowed, %d by llama.cpp, the first that differs is %q", text, i, len(got), len(want), l.text.Text(differ[0]))
				}
				if next < 0 {
					break
				}
				if !f.allows(next) {
					t.Fatalf("%q: token %d is not allowed", text, i)
				}
				f.take(next)
				said = append(said, l.text.Text(next)...)
				native.SamplerAccept(sampler, native.Token(next))
			}
			native.SamplerFree(sampler)
		}
	}
	t.Logf("%d places; ours %v, llama.cpp's %v for each", places, ours/time.Duration(places), theirs/time.Duration(places))
}
