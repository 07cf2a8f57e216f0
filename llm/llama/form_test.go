package llama

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"riposte/llm"
)

// The forms that the model is made to keep to.
var formSchemas = map[string]string{
	"person":  `{"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer", "minimum": 0, "maximum": 120}, "email": {"type": ["string", "null"], "maxLength": 30}}, "required": ["name", "age"], "additionalProperties": false}`,
	"order":   `{"type": "object", "properties": {"items": {"type": "array", "items": {"type": "object", "properties": {"sku": {"type": "string", "pattern": "^[A-Z]{3}-\\d{2}$"}, "count": {"type": "integer", "minimum": 1, "maximum": 9}}, "required": ["sku", "count"]}, "minItems": 1, "maxItems": 3}, "when": {"type": "string", "format": "date"}}, "required": ["items", "when"]}`,
	"mood":    `{"enum": ["happy", "sad", "angry", "neutral"]}`,
	"number":  `{"type": "integer", "minimum": -50, "maximum": 50}`,
	"either":  `{"oneOf": [{"type": "object", "properties": {"kind": {"const": "call"}, "number": {"type": "string", "pattern": "^\\+[0-9]{5,9}$"}}, "required": ["kind", "number"]}, {"type": "object", "properties": {"kind": {"const": "wait"}, "seconds": {"type": "integer", "minimum": 1, "maximum": 60}}, "required": ["kind", "seconds"]}]}`,
	"letters": `{"type": "array", "items": {"type": "string", "maxLength": 4}, "minItems": 2, "maxItems": 5}`,
}

func TestEngineKeepsToSchemas(t *testing.T) {
	e := commonEngine(t)
	for name, text := range formSchemas {
		t.Run(name, func(t *testing.T) {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			c := jsonschema.NewCompiler()
			c.AssertFormat()
			if err := c.AddResource("s.json", v); err != nil {
				t.Fatal(err)
			}
			judge := c.MustCompile("s.json")
			for seed := range uint32(3) {
				r := asking("", "Invent something and answer in JSON.")
				r.MaxTokens, r.Format.Schema = 400, json.RawMessage(text)
				if seed > 0 {
					r.Sampling = llm.Sampling{Temperature: 1.5, Seed: seed}
				}
				a := answer(t, e, r)
				if a.usage.Finish != llm.FinishStop {
					t.Errorf("seed %d: %q ends with %q", seed, a.text, a.usage.Finish)
					continue
				}
				x, err := jsonschema.UnmarshalJSON(strings.NewReader(a.text))
				if err == nil {
					err = judge.Validate(x)
				}
				if err != nil {
					t.Errorf("seed %d: %q: %v", seed, a.text, err)
				}
				if seed < 2 {
					t.Log(a.text)
				}
			}
		})
	}
}

func TestEngineKeepsToAnyObject(t *testing.T) {
	e := commonEngine(t)
	r := asking("", "Describe Paris as a JSON object.")
	r.MaxTokens, r.Format.Schema = 12, json.RawMessage(" { } ")
	if a := answer(t, e, r); !strings.HasPrefix(a.text, "{") || a.usage.Finish != llm.FinishLength {
		t.Errorf("%q, %+v: an object that is cut off should end for its length", a.text, a.usage)
	}
}

func TestEngineKeepsToGrammars(t *testing.T) {
	e := commonEngine(t)
	for grammar, want := range map[string]func(string) bool{
		`root ::= "yes" | "no"`:                              func(s string) bool { return s == "yes" || s == "no" },
		"root ::= word (\" \" word){2}\nword ::= [a-z]{2,5}": func(s string) bool { return len(strings.Fields(s)) == 3 && s == strings.ToLower(s) },
		`root ::= "äöü€😀"`:                                   func(s string) bool { return s == "äöü€😀" },
		`root ::= "<|im_end|>" [a-c]`:                        func(s string) bool { return strings.HasPrefix(s, "<|im_end|>") && len(s) == 11 },
	} {
		r := asking("", "Is the sky blue?")
		r.Format.Grammar = grammar
		for _, temperature := range []float32{0, 1.5} {
			r.Sampling.Temperature = temperature
			if a := answer(t, e, r); !want(a.text) || a.usage.Finish != llm.FinishStop {
				t.Errorf("%s: %q, %+v", grammar, a.text, a.usage)
			}
		}
	}
}

func TestEngineRefusesForms(t *testing.T) {
	e := commonEngine(t)
	for name, f := range map[string]llm.Format{
		"no grammar":     {Grammar: "root"},
		"left recursion": {Grammar: "root ::= root \"a\" | \"b\""},
		"hidden":         {Grammar: "root ::= e root | \"b\"\ne ::= f\nf ::= \"\""},
		"endless":        {Grammar: "root ::= \"a\" root"},
		"no schema":      {Schema: json.RawMessage("{")},
		"not kept":       {Schema: json.RawMessage(`{"not": {}}`)},
		"endless schema": {Schema: json.RawMessage(`{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}`)},
		"both":           {Schema: json.RawMessage("{}"), Grammar: `root ::= "a"`},
	} {
		r := asking("", "Hi.")
		r.Format = f
		if a := ask(t.Context(), e, r); !errors.Is(a.err, llm.ErrFormat) {
			t.Errorf("%s: %q, err = %v", name, a.text, a.err)
		}
	}
	if a := answer(t, e, asking("", "Hi.")); a.text == "" {
		t.Error("afterwards there are no answers any more")
	}
}

// An ambiguous grammar ends its own answer, in time.
func TestEngineGivesUpAmbiguousForms(t *testing.T) {
	e := commonEngine(t)
	r := asking("", "Say x.")
	r.MaxTokens = 200
	r.Format.Grammar = "root ::= a a a a a a a a \"!\"\na ::= \"x\" a \"y\" a a | \"x\" a a \"z\"? a a \"w\"? | \"x\" | \"\""
	began := time.Now()
	a := ask(t.Context(), e, r)
	if a.err != nil && !errors.Is(a.err, llm.ErrFormat) {
		t.Errorf("err = %v", a.err)
	}
	t.Log(a.err, a.usage.Finish, time.Since(began))
	if d := time.Since(began); d > 30*time.Second {
		t.Errorf("it took %v", d)
	}
}
