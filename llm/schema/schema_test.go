package schema_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"riposte/llm"
	"riposte/llm/grammar"
	"riposte/llm/schema"
)

// validator is somebody else's judgement of what a schema allows.
func validator(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("test.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compile makes a matcher of a schema.
func compile(t testing.TB, text string) *grammar.Grammar {
	t.Helper()
	gbnf, err := schema.Compile(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	g, err := grammar.Parse(gbnf)
	if err != nil {
		t.Fatalf("%v in\n%s", err, gbnf)
	}
	return g
}

func matches(g *grammar.Grammar, text string) bool {
	m := g.Matcher()
	return m.Advance([]byte(text)) && m.MayEnd()
}

// wander writes a text that a grammar takes, at random, with a liking for what ends it.
func wander(g *grammar.Grammar, r *rand.Rand) (string, bool) {
	m := g.Matcher()
	var text []byte
	for len(text) < 4000 {
		if m.MustEnd() || m.MayEnd() && r.IntN(4) == 0 {
			return string(text), true
		}
		var may []byte
		for b := range 256 {
			if m.Allows([]byte{byte(b)}) {
				may = append(may, byte(b))
			}
		}
		if len(may) == 0 {
			return string(text), m.MayEnd()
		}
		b := may[r.IntN(len(may))]
		if end := []byte(`"}]`); r.IntN(3) == 0 || len(text) > 500 {
			for _, e := range end {
				if m.Allows([]byte{e}) {
					b = e
				}
			}
		}
		m.Advance([]byte{b})
		text = append(text, b)
	}
	return string(text), m.MayEnd()
}

var accepted = map[string]struct {
	schema  string
	yes, no []string // no may hold what the schema allows and the grammar does not.
}{
	"any":           {`{}`, []string{`{}`, `[1, "a", null]`, `{"a": {"b": []}}`, `-1.5e3`, `"é😀\n"`, `true`}, []string{``, `{`, `{"a"}`, `[1,]`, `01`, `"\q"`, `nul`}},
	"true":          {`true`, []string{`1`}, []string{`x`}},
	"string":        {`{"type": "string"}`, []string{`""`, `"a\"b"`, `"\u0001"`}, []string{`a`, `"a`, "\"\n\"", `1`}},
	"integer":       {`{"type": "integer"}`, []string{`0`, `-7`, `123456789012345`}, []string{`1.5`, `01`, `-0`, `+1`, `1234567890123456`, ``}},
	"number":        {`{"type": "number"}`, []string{`0`, `-0.5`, `1e5`, `12.25E-3`}, []string{`.5`, `1.`, `00`, `"1"`, `NaN`}},
	"not negative":  {`{"type": "number", "minimum": 0}`, []string{`0`, `0.5`}, []string{`-1`}},
	"boolean":       {`{"type": "boolean"}`, []string{`true`, `false`}, []string{`True`, `1`}},
	"null":          {`{"type": "null"}`, []string{`null`}, []string{`""`}},
	"types":         {`{"type": ["string", "null", "integer"]}`, []string{`"a"`, `null`, `5`}, []string{`true`, `1.5`}},
	"whole numbers": {`{"type": ["number", "integer"]}`, []string{`5`, `1.5`}, []string{`"a"`}},
	"annotations": {`{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "T", "description": "D", "type": "string", "default": "x", "examples": ["y"], "deprecated": true, "readOnly": true, "$comment": "c"}`,
		[]string{`"z"`}, []string{`1`}},

	"object": {`{"type": "object", "properties": {"b": {"type": "integer"}, "a": {"type": "string"}}, "required": ["b", "a"], "additionalProperties": false}`,
		[]string{`{"b": 1, "a": "x"}`, `{"b":1,"a":"x"}`, "{\n  \"b\": 1,\n  \"a\": \"x\"\n}"}, []string{`{"a": "x", "b": 1}`, `{"b": 1}`, `{}`, `{"b": 1, "a": "x", "c": 1}`, `{"b": 1, "a": "x",}`, "{\"b\":1,\n\n\"a\":\"x\"}"}},
	"optional": {`{"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c": {"type": "integer"}}, "required": ["b"]}`,
		[]string{`{"b": 1}`, `{"a": 1, "b": 1}`, `{"b": 1, "c": 1}`, `{"a": 1, "b": 1, "c": 1}`}, []string{`{}`, `{"a": 1}`, `{"a": 1, "c": 1}`, `{, "b": 1}`, `{"a": 1 "b": 1}`}},
	"all optional": {`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}`,
		[]string{`{}`, `{"a": 1}`, `{"b": 1}`, `{"a": 1, "b": 1}`, `{ }`}, []string{`{"b": 1, "a": 1}`, `{"c": 1}`, `{,}`}},
	"no properties":       {`{"type": "object", "additionalProperties": false}`, []string{`{}`}, []string{`{"a": 1}`}},
	"any object":          {`{"type": "object"}`, []string{`{}`, `{"a": [1]}`}, []string{`[]`, `1`}},
	"map":                 {`{"type": "object", "additionalProperties": {"type": "integer"}}`, []string{`{}`, `{"a": 1, "b": 2}`}, []string{`{"a": "x"}`}},
	"open":                {`{"type": "object", "properties": {"ab": {"type": "integer"}, "ac": {"type": "boolean"}}, "required": ["ab"], "additionalProperties": {"type": "string"}}`, []string{`{"ab": 1}`, `{"ab": 1, "a": "x", "abc": "y", "é": "z"}`, `{"ab": 1, "ac": true, "b": ""}`}, []string{`{"ab": 1, "ab": "x"}`, `{"ab": 1, "\u0061b": "x"}`, `{"a": "x"}`, `{"ab": "x"}`, `{"ab": 1, "ac": "x"}`}},
	"open and optional":   {`{"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": true}`, []string{`{}`, `{"b": "x"}`, `{"a": 1, "b": []}`, `{"a": 1}`}, []string{`{"b": "x", "a": 1}`, `{"a": "x"}`}},
	"required unnamed":    {`{"type": "object", "required": ["a"], "properties": {"b": {"type": "null"}}}`, []string{`{"a": 5}`, `{"b": null, "a": "x"}`}, []string{`{}`, `{"b": null}`}},
	"required in a map":   {`{"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}}`, []string{`{"a": 5}`, `{"a": 5, "b": 6}`}, []string{`{}`, `{"a": "x"}`}},
	"strange names":       {`{"type": "object", "properties": {"a\"b\\c\n": {"const": 1}, "": {"const": 2}, "ü]-": {"const": 3}}, "required": ["a\"b\\c\n", "", "ü]-"]}`, []string{`{"a\"b\\c\n": 1, "": 2, "ü]-": 3}`}, []string{`{}`}},
	"forbidden property":  {`{"type": "object", "properties": {"a": false, "b": true}}`, []string{`{"b": 1}`, `{}`}, []string{`{"a": 1}`}},
	"nested":              {`{"type": "object", "properties": {"p": {"type": "object", "properties": {"x": {"type": "array", "items": {"type": "integer"}}}, "required": ["x"]}}, "required": ["p"]}`, []string{`{"p": {"x": [1, 2]}}`}, []string{`{"p": {}}`, `{"p": {"x": ["a"]}}`}},
	"list":                {`{"type": "array", "items": {"type": "integer"}}`, []string{`[]`, `[1]`, `[1, 2]`, "[\n 1,\n 2\n]"}, []string{`[1 2]`, `["a"]`, `[,1]`}},
	"list of 2 to 3":      {`{"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}`, []string{`[1, 2]`, `[1, 2, 3]`}, []string{`[]`, `[1]`, `[1, 2, 3, 4]`}},
	"list of 1":           {`{"type": "array", "items": {"type": "null"}, "minItems": 1, "maxItems": 1}`, []string{`[null]`}, []string{`[]`, `[null, null]`}},
	"list up to 1":        {`{"type": "array", "maxItems": 1}`, []string{`[]`, `[{}]`}, []string{`[1, 2]`}},
	"empty list":          {`{"type": "array", "maxItems": 0}`, []string{`[]`}, []string{`[1]`}},
	"list of at least 2":  {`{"type": "array", "minItems": 2}`, []string{`[1, "a"]`, `[1, 2, 3]`}, []string{`[1]`}},
	"tuple":               {`{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]}`, []string{`[]`, `[1]`, `[1, "a"]`}, []string{`["a"]`, `[1, "a", 2]`, `[1, 2]`}},
	"tuple and more":      {`{"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "minItems": 2, "maxItems": 3}`, []string{`[1, "a"]`, `[1, "a", "b"]`}, []string{`[1]`, `[1, 2]`, `[1, "a", "b", "c"]`}},
	"tuple that is cut":   {`{"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 1, "maxItems": 1}`, []string{`[1]`}, []string{`[]`, `[1, "a"]`}},
	"closed tuple":        {`{"type": "array", "prefixItems": [{"type": "integer"}], "items": false, "minItems": 1}`, []string{`[1]`}, []string{`[]`, `[1, 2]`}},
	"enum":                {`{"enum": ["a", "b\"", 1, 1.5, null, true, {"x": [1, 2]}]}`, []string{`"a"`, `"b\""`, `1`, `1.5`, `null`, `true`, `{"x": [1, 2]}`}, []string{`"c"`, `2`, `false`}},
	"enum of a type":      {`{"type": "string", "enum": ["a", 1, "<b>"]}`, []string{`"a"`, `"<b>"`}, []string{`1`}},
	"const":               {`{"const": "x"}`, []string{`"x"`}, []string{`"y"`, `x`}},
	"const null":          {`{"const": null}`, []string{`null`}, []string{`0`}},
	"any of":              {`{"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]}`, []string{`1`, `"a"`}, []string{`"ab"`, `null`}},
	"any of with base":    {`{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}`, []string{`{"a": 1}`, `{"b": 1}`, `{"a": 1, "b": 1}`}, []string{`{}`}},
	"one of types":        {`{"oneOf": [{"type": "integer"}, {"type": "string"}]}`, []string{`1`, `"a"`}, []string{`null`}},
	"one of constants":    {`{"oneOf": [{"const": 1}, {"const": 2}, {"enum": ["a"]}, {"type": "null"}]}`, []string{`1`, `2`, `"a"`, `null`}, []string{`3`}},
	"one of kinds":        {`{"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}, "required": ["kind", "n"]}, {"type": "object", "properties": {"kind": {"enum": ["b", "c"]}}, "required": ["kind"]}]}`, []string{`{"kind": "a", "n": 1}`, `{"kind": "c"}`}, []string{`{"kind": "a"}`, `{"kind": "d"}`}},
	"all of":              {`{"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}]}`, []string{`{"a": 1, "b": "x"}`}, []string{`{"a": 1}`}},
	"all of the same":     {`{"type": "object", "properties": {"a": {"type": ["integer", "string"]}}, "allOf": [{"properties": {"a": {"type": ["number"], "minimum": 5, "maximum": 7}}}, {"required": ["a"]}]}`, []string{`{"a": 5}`}, []string{`{"a": "x"}`, `{"a": 4}`, `{}`}},
	"all of a reference":  {`{"$defs": {"base": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}}, "allOf": [{"$ref": "#/$defs/base"}, {"properties": {"n": {"type": "null"}}}]}`, []string{`{"id": 1}`, `{"id": 1, "n": null}`}, []string{`{}`}},
	"reference":           {`{"$defs": {"p~/q %": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/p~0~1q%20%25"}}`, []string{`[1]`}, []string{`["a"]`}},
	"old reference":       {`{"definitions": {"p": {"type": "integer"}}, "properties": {"x": {"$ref": "#/definitions/p", "description": "d"}}, "required": ["x"]}`, []string{`{"x": 1}`}, []string{`{"x": "a"}`}},
	"reference and more":  {`{"$defs": {"p": {"type": "object", "properties": {"a": {"type": "integer"}}}}, "$ref": "#/$defs/p", "required": ["a"]}`, []string{`{"a": 1}`}, []string{`{}`}},
	"tree":                {`{"$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"]}}, "$ref": "#/$defs/node"}`, []string{`{"v": 1, "next": null}`, `{"v": 1, "next": {"v": 2, "next": null}}`}, []string{`{"v": 1}`, `{"v": 1, "next": {}}`}},
	"root again":          {`{"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}`, []string{`{}`, `{"children": [{}, {"children": []}]}`}, []string{`{"children": [1]}`}},
	"two of each":         {`{"$defs": {"p": {"type": "integer"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/p"}, "b": {"$ref": "#/$defs/p"}}, "required": ["a", "b"]}`, []string{`{"a": 1, "b": 2}`}, []string{`{"a": 1, "b": "x"}`}},
	"short":               {`{"type": "string", "minLength": 1, "maxLength": 3}`, []string{`"a"`, `"é😀\n"`, `"\u001f\"x"`}, []string{`""`, `"abcd"`}},
	"long":                {`{"type": "string", "minLength": 2}`, []string{`"ab"`, `"abc"`}, []string{`"a"`}},
	"empty":               {`{"type": "string", "maxLength": 0}`, []string{`""`}, []string{`"a"`}},
	"date":                {`{"type": "string", "format": "date"}`, []string{`"2024-02-29"`, `"2000-02-29"`, `"2023-12-31"`, `"1999-04-30"`}, []string{`"2023-02-29"`, `"1900-02-29"`, `"2023-04-31"`, `"2023-13-01"`, `"2023-00-10"`, `"2023-01-00"`, `"23-01-01"`}},
	"time":                {`{"type": "string", "format": "time"}`, []string{`"23:59:59Z"`, `"00:00:00.123+01:30"`}, []string{`"24:00:00Z"`, `"12:00"`, `"12:60:00Z"`, `"12:00:00"`}},
	"date-time":           {`{"format": "date-time"}`, []string{`"2024-02-29T12:00:00Z"`}, []string{`"2024-02-29 12:00:00Z"`, `"2024-02-29"`}},
	"uuid":                {`{"type": "string", "format": "uuid"}`, []string{`"123e4567-e89b-12d3-A456-426614174000"`}, []string{`"123e4567"`}},
	"pattern":             {`{"type": "string", "pattern": "^[A-Z]{2}-\\d+(x|yz)?$"}`, []string{`"AB-1"`, `"AB-12yz"`}, []string{`"A-1"`, `"AB-"`, `"xAB-1"`, `"AB-1xx"`}},
	"pattern inside":      {`{"type": "string", "pattern": "b+"}`, []string{`"b"`, `"abba"`, `"\"b"`}, []string{`"a"`, `""`}},
	"pattern with quotes": {`{"type": "string", "pattern": "^[^a]\"\\\\.\\s$"}`, []string{`"b\"\\x "`, `"\\\"\\\"\n"`}, []string{`"a\"\\x "`, `"b"\x "`}},
	"pattern of two":      {`{"type": "string", "pattern": "^a$|^b"}`, []string{`"a"`, `"b"`, `"bc"`}, []string{`"ac"`, `"c"`}},
	"pattern of nothing":  {`{"type": "string", "pattern": "^$"}`, []string{`""`}, []string{`"a"`}},
	"up to 100":           {`{"type": "integer", "minimum": 0, "maximum": 100}`, []string{`0`, `7`, `42`, `100`}, []string{`-1`, `101`, `007`, `1000`}},
	"around zero":         {`{"type": "integer", "minimum": -5, "exclusiveMaximum": 12}`, []string{`-5`, `-1`, `0`, `9`, `11`}, []string{`-6`, `12`, `-0`}},
	"negative":            {`{"type": "integer", "minimum": -250, "maximum": -17}`, []string{`-250`, `-17`, `-100`, `-99`}, []string{`-251`, `-16`, `0`, `17`}},
	"at least 1234":       {`{"type": "integer", "minimum": 1234}`, []string{`1234`, `9999`, `10000`, `999999999999999`}, []string{`1233`, `999`, `0`, `-5000`}},
	"below":               {`{"type": "integer", "maximum": -1}`, []string{`-1`, `-100`}, []string{`0`, `1`}},
	"more than 1.5":       {`{"type": "integer", "minimum": 1.5, "maximum": 3.9}`, []string{`2`, `3`}, []string{`1`, `4`}},
	"more than -1.5":      {`{"type": "integer", "exclusiveMinimum": -1.5, "exclusiveMaximum": 1e1}`, []string{`-1`, `9`}, []string{`-2`, `10`}},
	"64 bits":             {`{"type": "integer", "minimum": -9223372036854775808, "maximum": 9223372036854775807}`, []string{`-9223372036854775808`, `9223372036854775807`, `0`}, []string{`-9223372036854775809`, `9223372036854775808`}},
	"one number":          {`{"type": "integer", "minimum": 7, "maximum": 7}`, []string{`7`}, []string{`6`, `8`}},
	"number format":       {`{"type": "integer", "format": "int32"}`, []string{`-2147483648`, `2147483647`}, []string{`2147483648`}},
	"vacuous":             {`{"type": "integer", "minLength": 5, "pattern": "x"}`, []string{`1`}, []string{`"x"`}},
}

func TestSchema(t *testing.T) {
	for name, test := range accepted {
		t.Run(name, func(t *testing.T) {
			g, v := compile(t, test.schema), validator(t, strings.ReplaceAll(test.schema, `, "format": "int32"`, ""))
			valid := func(s string) error {
				x, err := jsonschema.UnmarshalJSON(strings.NewReader(s))
				if err == nil {
					err = v.Validate(x)
				}
				return err
			}
			for _, s := range test.yes {
				if err := valid(s); err != nil {
					t.Errorf("the test is wrong: %s: %v", s, err)
				}
				if !matches(g, s) {
					t.Errorf("%s should be allowed", s)
				}
			}
			for _, s := range test.no {
				if matches(g, s) {
					t.Errorf("%s should not be allowed", s)
				}
			}
			r := rand.New(rand.NewPCG(1, 2))
			made := 0
			for range 20 {
				if s, ok := wander(g, r); ok {
					made++
					if err := valid(s); err != nil {
						t.Fatalf("the grammar allows %s: %v", s, err)
					}
				}
			}
			if made < 8 {
				t.Errorf("only %d texts came to an end", made)
			}
		})
	}
}

// Every bound of integers, exactly.
func TestSchemaIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		lo := r.IntN(2400) - 1200
		hi := lo + r.IntN(1300)
		raw, _ := json.Marshal(map[string]any{"type": "integer", "minimum": lo, "maximum": hi})
		g := compile(t, string(raw))
		for n := lo - 120; n <= hi+120; n++ {
			text, _ := json.Marshal(n)
			if matches(g, string(text)) != (lo <= n && n <= hi) {
				t.Fatalf("%d to %d: %d is wrong", lo, hi, n)
			}
		}
	}
}

func TestSchemaTight(t *testing.T) {
	g := schema.Grammar{Tight: true}
	name, err := g.Schema(json.RawMessage(`{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}, "b": {}}, "required": ["a", "b"]}`))
	if err != nil {
		t.Fatal(err)
	}
	g.Rule("root", name)
	m, err := grammar.Parse(g.String())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"a": [1, 2], "b": {"c": [{}, []]}}`: true,
		`{"a": [1,2], "b": 1}`:                false,
		`{"a":[1, 2], "b": 1}`:                false,
		`{ "a": [1, 2], "b": 1}`:              false,
		"{\"a\": [1, 2],\n\"b\": 1}":          false,
	} {
		if matches(m, text) != want {
			t.Errorf("%s: allowed: %v", text, !want)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type": "array", "items": `, 100) + `{}` + strings.Repeat(`}`, 100)
	for name, test := range map[string]struct{ schema, says string }{
		"no JSON":               {`{"type": }`, "no JSON"},
		"nothing":               {``, "no JSON"},
		"more":                  {`{} {}`, "something follows"},
		"twice":                 {`{"type": "string", "type": "null"}`, "twice"},
		"a list":                {`[]`, "a schema is an object"},
		"false":                 {`false`, "allows no value"},
		"unknown keyword":       {`{"type": "object", "properties": {"a": {"not": {}}}}`, `#/properties/a: "not" is not supported`},
		"conditional":           {`{"if": {}, "then": {}}`, `"if" is not supported`},
		"patternProperties":     {`{"patternProperties": {"^a": {}}}`, `"patternProperties" is not supported`},
		"multipleOf":            {`{"type": "integer", "multipleOf": 5}`, `"multipleOf" is not supported`},
		"unknown type":          {`{"type": "text"}`, "type is one of"},
		"no type":               {`{"type": null}`, "type is one of"},
		"type twice":            {`{"type": ["string", "string"]}`, "type is one of"},
		"bounds of a number":    {`{"type": "number", "maximum": 1}`, "for integers only"},
		"minimum of a number":   {`{"type": "number", "minimum": 1}`, "only 0 is"},
		"no integer":            {`{"type": "integer", "minimum": 5, "maximum": 4}`, "no integer"},
		"no integer between":    {`{"type": "integer", "minimum": 1.2, "maximum": 1.8}`, "no integer"},
		"large bound":           {`{"type": "integer", "minimum": 1e300}`, "beyond 64 bits"},
		"huge bound":            {`{"type": "integer", "minimum": 1e999999999}`, "is a number"},
		"bound of text":         {`{"type": "integer", "minimum": "1"}`, "is a number"},
		"unknown format":        {`{"type": "string", "format": "email"}`, `"email" is not supported`},
		"unknown number":        {`{"type": "integer", "format": "roman"}`, `"roman" is not supported`},
		"pattern and length":    {`{"type": "string", "pattern": "a", "maxLength": 5}`, "only one of"},
		"lookahead":             {`{"type": "string", "pattern": "(?=a)"}`, "not supported"},
		"backreference":         {`{"type": "string", "pattern": "(a)\\1"}`, "not supported"},
		"word boundary":         {`{"type": "string", "pattern": "\\ba"}`, "not supported"},
		"anchor inside":         {`{"type": "string", "pattern": "a(^b)"}`, "not supported"},
		"case":                  {`{"type": "string", "pattern": "(?i)a"}`, "upper from lower"},
		"control character":     {`{"type": "string", "pattern": "\\x01"}`, "U+0001"},
		"lengths":               {`{"type": "string", "minLength": 5, "maxLength": 4}`, "more than maxLength"},
		"negative length":       {`{"type": "string", "minLength": -1}`, "whole number"},
		"half a length":         {`{"type": "string", "minLength": 1.5}`, "whole number"},
		"long":                  {`{"type": "string", "minLength": 1000000}`, "whole number"},
		"lists":                 {`{"type": "array", "minItems": 5, "maxItems": 4}`, "more than maxItems"},
		"short tuple":           {`{"type": "array", "prefixItems": [{}], "items": false, "minItems": 2}`, "more than there can be"},
		"unique":                {`{"type": "array", "uniqueItems": true}`, "uniqueItems"},
		"old tuple":             {`{"type": "array", "items": [{}]}`, "prefixItems"},
		"required and closed":   {`{"type": "object", "required": ["a"], "additionalProperties": false}`, `"a" is required`},
		"forbidden and needed":  {`{"type": "object", "properties": {"a": false}, "required": ["a"]}`, "#/properties/a: false"},
		"required of numbers":   {`{"type": "object", "required": [1]}`, "list of names"},
		"properties":            {`{"type": "object", "properties": []}`, "object of schemas"},
		"empty enum":            {`{"enum": []}`, "list of values"},
		"enum of another type":  {`{"type": "string", "enum": [1]}`, "none of the values"},
		"enum and more":         {`{"enum": ["a"], "minLength": 1}`, "beside enum"},
		"empty anyOf":           {`{"anyOf": []}`, "list of schemas"},
		"overlapping oneOf":     {`{"oneOf": [{"type": "integer"}, {"type": "number"}]}`, "the forms 0 and 1"},
		"open oneOf":            {`{"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]}`, "use anyOf"},
		"optional kinds":        {`{"oneOf": [{"type": "object", "properties": {"k": {"const": 1}}}, {"type": "object", "properties": {"k": {"const": 2}}}]}`, "use anyOf"},
		"empty allOf":           {`{"allOf": []}`, "list of schemas"},
		"allOf of types":        {`{"allOf": [{"type": "string"}, {"type": "null"}]}`, "nothing is both"},
		"allOf said twice":      {`{"allOf": [{"minLength": 1}, {"minLength": 2}]}`, "said twice"},
		"allOf closed":          {`{"allOf": [{"properties": {"a": {}}, "additionalProperties": false}, {"properties": {"b": {}}}]}`, "additionalProperties closes"},
		"reference elsewhere":   {`{"$ref": "https://example.com/a.json"}`, "same schema"},
		"reference to nothing":  {`{"$ref": "#/$defs/a"}`, "nothing at"},
		"reference to no list":  {`{"anyOf": [{"type": "null"}, {"$ref": "#/anyOf/7"}]}`, "nothing at"},
		"reference to itself":   {`{"$ref": "#"}`, "refers to itself"},
		"references in a ring":  {`{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}`, "refers to itself"},
		"ring of allOf":         {`{"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}`, "refers to itself"},
		"deep":                  {deep, "nested more than"},
		"very deep":             {strings.Repeat(`{"items": `, 10000) + `{}` + strings.Repeat(`}`, 10000), "deeply"},
		"large":                 {`{"description": "` + strings.Repeat("x", schema.MaxBytes) + `"}`, "bytes"},
		"doubling references":   {doubling(`{"anyOf": [{"$ref": "#/$defs/%", "type": "string"}, {"$ref": "#/$defs/%", "type": "string"}]}`), "#"},
		"doubling properties":   {doubling(`{"type": "object", "properties": {"l": {"$ref": "#/$defs/%", "required": ["x"]}, "r": {"$ref": "#/$defs/%", "required": ["x"]}}}`), "#"},
		"doubling combinations": {doubling(`{"allOf": [{"$ref": "#/$defs/%"}, {"$ref": "#/$defs/%"}]}`), "#"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, err := schema.Compile(json.RawMessage(test.schema))
			if !errors.Is(err, llm.ErrFormat) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("err = %v, should say %q", err, test.says)
			}
			if d := time.Since(began); d > 5*time.Second {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// doubling is a schema of 40 steps, each of which needs the next one twice.
func doubling(step string) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/a", "$defs": {`)
	name := func(i int) string { return strings.Repeat("a", i+1) }
	for i := range 40 {
		b.WriteString(`"` + name(i) + `": ` + strings.ReplaceAll(step, "%", name(i+1)) + ", ")
	}
	return b.String() + `"` + name(40) + `": {"type": "string"}}}`
}

// Whatever the schema: it is refused, or becomes a grammar of which every text is JSON.
func FuzzSchema(f *testing.F) {
	for _, test := range accepted {
		f.Add(test.schema, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if len(text) > 2000 {
			return
		}
		gbnf, err := schema.Compile(json.RawMessage(text))
		if err != nil {
			if !errors.Is(err, llm.ErrFormat) {
				t.Fatalf("err = %v", err)
			}
			return
		}
		g, err := grammar.Parse(gbnf)
		if err != nil {
			if strings.Contains(err.Error(), "never ends") || strings.Contains(err.Error(), "too large") {
				return
			}
			t.Fatalf("%v in\n%s", err, gbnf)
		}
		if s, ok := wander(g, rand.New(rand.NewPCG(seed, 0))); ok && !json.Valid([]byte(s)) {
			t.Fatalf("%s allows %s", text, s)
		}
	})
}
