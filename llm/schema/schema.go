// Package schema writes JSON schemas as grammars in llama.cpp's GBNF, so that a model cannot answer with anything else.
//
// Every text that the grammar takes is JSON that the schema allows. The other way round it takes less: what comes in the order of
// the schema's properties, with little white space, in plain characters, with at most 15 digits in a number and 16 behind
// its point. Where a schema leaves open what may come, the grammar takes what is likely meant: without a type, the one that
// the other keywords are about; without additionalProperties, none beside those that are named.
//
// Understood are type (also as a list), properties, required, additionalProperties, items, prefixItems, minItems,
// maxItems, enum, const, anyOf, oneOf (if no two of its forms can be the same value), allOf, $ref to a part of the same schema, minLength, maxLength,
// pattern (without lookaround, backreferences and \b), the formats date, time, date-time and uuid for strings and int32, int64, float
// and double for numbers, and minimum, maximum, exclusiveMinimum and exclusiveMaximum for integers. Keywords that only describe
// (title, description, default, examples and the like) are ignored. Everything else is refused, by its path: a form that
// is only half kept to is worse than none.
package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"riposte/llm"
)

// Grammar is a grammar in the making. The zero value is empty. Rules named root and those that are added have to be written
// by the caller; those of schemas have names of their own.
type Grammar struct {
	// Tight allows one space behind each comma and colon, and no others, which is how Python writes JSON. Otherwise lines may
	// be broken.
	Tight bool

	rules strings.Builder
	basic map[string]bool // Which of the basic rules are written.
	count int
	steps int
	err   error
}

// Limits of a schema.
const (
	MaxBytes = 256 << 10
	maxDepth = 64
	maxRules = 8000
	maxSteps = 100_000 // A small schema can refer to itself often.
)

// Compile writes a schema as a grammar. Its errors are llm.ErrFormat, with the path of what is wrong.
func Compile(schema json.RawMessage) (string, error) {
	var g Grammar
	name, err := g.Schema(schema)
	if err != nil {
		return "", err
	}
	g.Rule("root", name)
	return g.String(), nil
}

// Rule adds a rule.
func (g *Grammar) Rule(name, body string) { fmt.Fprintf(&g.rules, "%s ::= %s\n", name, body) }

// String returns the grammar as it is.
func (g *Grammar) String() string { return g.rules.String() }

// Schema adds the rules for a schema and returns the name of the first. Its errors are llm.ErrFormat.
func (g *Grammar) Schema(raw json.RawMessage) (string, error) {
	if len(raw) > MaxBytes {
		return "", fmt.Errorf("%w: the schema has %d bytes, it can have %d", llm.ErrFormat, len(raw), MaxBytes)
	}
	root, err := decode(raw)
	if err != nil {
		return "", fmt.Errorf("%w: the schema is no JSON: %w", llm.ErrFormat, err)
	}
	d := document{g: g, root: root, refs: map[string]string{}}
	expr := d.write(root, place{path: "#"})
	if g.err != nil {
		return "", g.err
	}
	return g.rule(expr), g.err
}

// rule gives a part a name.
func (g *Grammar) rule(body string) string {
	name := g.name()
	g.Rule(name, body)
	return name
}

func (g *Grammar) name() string {
	if g.count++; g.count > maxRules && g.err == nil {
		g.err = fmt.Errorf("%w: the schema needs more than %d rules: make it smaller", llm.ErrFormat, maxRules)
	}
	return "r" + strconv.Itoa(g.count)
}

// place is where in a schema something stands.
type place struct {
	path  string
	depth int
	refs  []string // What is being referred to, since the last brace or bracket.
}

// in is the place of a part of what is written in braces or brackets.
func (p place) in(name string) place {
	return place{path: p.path + "/" + name, depth: p.depth + 1}
}

// beside is the place of something that is to hold for the same value.
func (p place) beside(name string) place {
	return place{path: p.path + "/" + name, depth: p.depth + 1, refs: p.refs}
}

// document is a schema that is being written as a grammar.
type document struct {
	g    *Grammar
	root any
	refs map[string]string // The rules of what was referred to.
}

// nothing is a part that no text is. It is never part of a grammar, because what may contain it is refused.
const nothing = ""

// fail notes the first thing that cannot be kept to.
func (d *document) fail(p place, format string, args ...any) string {
	if d.g.err == nil {
		d.g.err = fmt.Errorf("%w: %s: %s", llm.ErrFormat, p.path, fmt.Sprintf(format, args...))
	}
	return nothing
}

// step reports whether there is anything to go on with, and counts it.
func (d *document) step(p place) bool {
	if d.g.steps++; d.g.steps > maxSteps {
		d.fail(p, "the schema combines too much: say it with fewer references and alternatives")
	}
	if p.depth > maxDepth {
		d.fail(p, "schemas are nested more than %d deep", maxDepth)
	}
	return d.g.err == nil
}

// Keywords that say nothing about which values are allowed.
var annotations = []string{"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly",
	"$schema", "$id", "$comment", "$defs", "definitions", "contentMediaType", "contentEncoding"}

// Keywords by the types of values that they are about.
var about = map[string][]string{
	"object":  {"properties", "required", "additionalProperties"},
	"array":   {"items", "prefixItems", "minItems", "maxItems", "uniqueItems"},
	"string":  {"minLength", "maxLength", "pattern", "format"},
	"number":  {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "format"},
	"integer": {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "format"},
}

var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

// write returns the part of a grammar for one schema.
func (d *document) write(schema any, p place) string {
	if !d.step(p) {
		return nothing
	}
	switch s := schema.(type) {
	case bool:
		if s {
			return d.g.any()
		}
		return d.fail(p, "false allows no value: leave the property out")
	case *object:
		return d.object(s, p)
	}
	return d.fail(p, "a schema is an object, true or false, not %s", text(schema))
}

// object writes a schema that is one.
func (d *document) object(s *object, p place) string {
	s = s.without(annotations...)
	for _, k := range s.keys {
		if !known(k) {
			return d.fail(p, "%q is not supported: leave it out or say it with other keywords", k)
		}
	}
	if ref, ok := s.values["$ref"]; ok {
		if len(s.keys) == 1 {
			return d.reference(ref, p)
		}
		target, at, ok := d.resolve(ref, p)
		if !ok {
			return nothing
		}
		return d.write(d.merge(s.without("$ref"), target, at), at)
	}
	if all, ok := s.values["allOf"]; ok {
		list, ok := all.([]any)
		if !ok || len(list) == 0 {
			return d.fail(p, "allOf is a list of schemas")
		}
		var merged any = s.without("allOf")
		for i, part := range list {
			merged = d.merge(merged, part, p.beside("allOf/"+strconv.Itoa(i)))
		}
		return d.write(merged, p.beside("allOf"))
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		if _, ok := s.values[k]; ok {
			return d.alternatives(s, k, p)
		}
	}
	if v, ok := s.values["const"]; ok {
		return d.oneOfThese(s.without("const"), []any{v}, p)
	}
	if v, ok := s.values["enum"]; ok {
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return d.fail(p, "enum is a list of values")
		}
		return d.oneOfThese(s.without("enum"), list, p)
	}
	var forms []string
	for _, t := range d.types(s, p) {
		forms = append(forms, d.typed(t, s, p))
	}
	return either(forms)
}

func known(keyword string) bool {
	if slices.Contains([]string{"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"}, keyword) {
		return true
	}
	for _, list := range about {
		if slices.Contains(list, keyword) {
			return true
		}
	}
	return false
}

// types returns the types that a schema allows, or is about if it does not say.
func (d *document) types(s *object, p place) []string {
	var out []string
	switch t := s.values["type"].(type) {
	case nil:
		if _, ok := s.values["type"]; ok {
			break
		}
		for _, name := range types {
			if name == "integer" { // These are numbers as well.
				continue
			}
			for _, k := range about[name] {
				if _, ok := s.values[k]; ok && k != "format" && !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
		if f, ok := s.values["format"].(string); ok && len(out) == 0 {
			out = append(out, "string")
			if slices.Contains(numberFormats, f) {
				out[0] = "number"
			}
		}
		if len(out) == 0 {
			out = []string{"any"}
		}
		return out
	case string:
		out = []string{t}
	case []any:
		for _, e := range t {
			name, ok := e.(string)
			if !ok || slices.Contains(out, name) {
				out = nil
				break
			}
			out = append(out, name)
		}
		if slices.Contains(out, "number") { // Which integers are.
			out = slices.DeleteFunc(out, func(s string) bool { return s == "integer" })
		}
	}
	for _, name := range out {
		if !slices.Contains(types, name) {
			out = nil
			break
		}
	}
	if len(out) == 0 {
		d.fail(p, "type is one of %s, or a list of these", strings.Join(types, ", "))
	}
	return out
}

// typed writes what a schema says about one type of values.
func (d *document) typed(name string, s *object, p place) string {
	switch name {
	case "object":
		return d.properties(s, p)
	case "array":
		return d.array(s, p)
	case "string":
		return d.string(s, p)
	case "integer":
		return d.integer(s, p)
	case "number":
		return d.number(s, p)
	case "boolean":
		return `("true" | "false")`
	case "null":
		return `"null"`
	}
	return d.g.any()
}

// oneOfThese writes values that are listed. The schema s beside them may restrict their types only.
func (d *document) oneOfThese(s *object, values []any, p place) string {
	if len(s.keys) > 0 && (len(s.keys) > 1 || s.keys[0] != "type") {
		return d.fail(p, "%q beside enum or const is not supported: list only what it allows", s.without("type").keys[0])
	}
	var forms []string
	for _, v := range values {
		if len(s.keys) > 0 && !slices.ContainsFunc(d.types(s, p), func(t string) bool { return isOf(t, v) }) {
			continue
		}
		forms = append(forms, quote(d.g.json(v)))
	}
	if len(forms) == 0 {
		return d.fail(p, "none of the values is of the type")
	}
	return either(forms)
}

// isOf reports whether a value is of a type.
func isOf(name string, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case []any:
		return name == "array"
	case *object:
		return name == "object"
	case json.Number:
		return name == "number" || name == "integer" && isWhole(v)
	}
	return false
}

// alternatives writes anyOf or oneOf, each form with what stands beside them.
func (d *document) alternatives(s *object, keyword string, p place) string {
	list, ok := s.values[keyword].([]any)
	if !ok || len(list) == 0 {
		return d.fail(p, "%s is a list of schemas", keyword)
	}
	base := s.without(keyword)
	var forms []string
	merged := make([]any, len(list))
	for i, part := range list {
		at := p.beside(keyword + "/" + strconv.Itoa(i))
		merged[i] = part
		if len(base.keys) > 0 {
			merged[i] = d.merge(base, part, at)
		}
		forms = append(forms, d.write(merged[i], at))
	}
	if keyword == "oneOf" && d.g.err == nil {
		for i := range merged {
			for j := range i {
				if d.step(p) && !d.apart(merged[i], merged[j], p.depth) {
					return d.fail(p, "a value could be of the forms %d and %d of oneOf: use anyOf, or tell them apart by a required property with a const", j, i)
				}
			}
		}
	}
	return either(forms)
}

// reference writes a $ref as a rule of its own, which may refer to itself from within braces or brackets.
func (d *document) reference(ref any, p place) string {
	target, at, ok := d.resolve(ref, p)
	if !ok {
		return nothing
	}
	if name, ok := d.refs[at.path]; ok {
		return name
	}
	name := d.g.name()
	d.refs[at.path] = name
	if body := d.write(target, at); d.g.err == nil {
		d.g.Rule(name, body)
	}
	return name
}

// resolve finds what a $ref means.
func (d *document) resolve(ref any, p place) (target any, at place, ok bool) {
	path, _ := ref.(string)
	if path != "#" && !strings.HasPrefix(path, "#/") {
		d.fail(p, "$ref is %s: only parts of the same schema can be referred to, like #/$defs/name", text(ref))
		return nil, p, false
	}
	if slices.Contains(p.refs, path) {
		d.fail(p, "%s refers to itself without an object or a list in between", path)
		return nil, p, false
	}
	target = d.root
	for _, step := range strings.Split(path, "/")[1:] {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(step))
		switch t := target.(type) {
		case *object:
			target, ok = t.values[step]
		case []any:
			i, err := strconv.Atoi(step)
			if ok = err == nil && i >= 0 && i < len(t); ok {
				target = t[i]
			}
		default:
			ok = false
		}
		if !ok {
			d.fail(p, "$ref is %q, and there is nothing at %q", path, step)
			return nil, p, false
		}
	}
	return target, place{path: path, depth: p.depth + 1, refs: append(slices.Clone(p.refs), path)}, true
}

// either joins forms of which any may come.
func either(forms []string) string {
	if len(forms) == 1 {
		return forms[0]
	}
	return "(" + strings.Join(forms, " | ") + ")"
}

// quote writes a text as a literal of a grammar.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c < ' ' || c == 0x7F:
			fmt.Fprintf(&b, `\x%02X`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
