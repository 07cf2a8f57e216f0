package schema

import (
	"fmt"
	"slices"
	"strings"
)

// The basic rules. What a rule needs stands behind it.
var basics = map[string]struct {
	body  string
	needs []string
}{
	"char":     {`[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u00" [01] [0-9a-fA-F])`, nil},
	"plain":    {`[^"\\\x00-\x1F\x7F]`, nil},
	"string":   {`"\"" char* "\""`, []string{"char"}},
	"integer":  {`"0" | "-"? [1-9] [0-9]{0,14}`, nil},
	"number":   {`"-"? unsigned`, []string{"unsigned"}},
	"unsigned": {`("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?`, nil},
	"value":    {`object | array | string | number | "true" | "false" | "null"`, []string{"object", "array", "string", "number"}},
	"object":   {`"{" ws (string colon value (comma string colon value)* ws)? "}"`, []string{"ws", "string", "colon", "comma", "value"}},
	"array":    {`"[" ws (value (comma value)* ws)? "]"`, []string{"ws", "comma", "value"}},
	"comma":    {`"," ws`, []string{"ws"}},
	"colon":    {`":" " "?`, nil},
	// Bounded, because some models would rather go on with white space than end.
	"ws": {`(" " | "\n" " "{0,16})?`, nil},
}

// tightBasics are those that differ where white space is to be just so.
var tightBasics = map[string]string{"comma": `", "`, "colon": `": "`, "ws": `""`}

// use returns the name of a basic rule, and writes it if it is used for the first time.
func (g *Grammar) use(name string) string {
	if g.basic == nil {
		g.basic = map[string]bool{}
	}
	if !g.basic[name] {
		g.basic[name] = true
		b := basics[name]
		if tight, ok := tightBasics[name]; ok && g.Tight {
			b.body, b.needs = tight, nil
		}
		g.Rule(name, b.body)
		for _, n := range b.needs {
			g.use(n)
		}
	}
	return name
}

// any is any JSON.
func (g *Grammar) any() string { return g.use("value") }

// properties writes objects: the properties that are named in their order, then others.
func (d *document) properties(s *object, p place) string {
	named := &object{values: map[string]any{}}
	if v, ok := s.values["properties"]; ok {
		if named, ok = v.(*object); !ok {
			return d.fail(p, "properties is an object of schemas")
		}
	}
	required, ok := d.required(s, p)
	if !ok {
		return nothing
	}
	more, said := s.values["additionalProperties"]
	if more == false {
		for _, k := range required {
			if _, ok := named.values[k]; !ok {
				return d.fail(p, "the property %q is required, and additionalProperties forbids it", k)
			}
		}
	}
	if !said {
		more = len(named.keys) == 0
	}
	named = named.without()
	for _, k := range required {
		if _, ok := named.values[k]; !ok {
			named.set(k, !said || more == true)
			if other, ok := more.(*object); ok {
				named.set(k, other)
			}
		}
	}
	comma, colon, ws := d.g.use("comma"), d.g.use("colon"), d.g.use("ws")
	type property struct {
		rule     string
		required bool
	}
	var list []property
	for _, k := range named.keys {
		if named.values[k] == false && !slices.Contains(required, k) {
			continue
		}
		value := d.write(named.values[k], p.in("properties/"+k))
		list = append(list, property{d.g.rule(quote(encode(k)) + " " + colon + " " + value), slices.Contains(required, k)})
	}
	tail := `""`
	var others string // One or more other properties.
	if more != false {
		value := d.write(more, p.in("additionalProperties"))
		one := d.g.rule(d.otherKey(named.keys) + " " + colon + " " + value)
		others = one + " (" + comma + " " + one + ")*"
		tail = d.g.rule("(" + comma + " " + one + ")*")
	}
	if d.g.err != nil {
		return nothing
	}
	// head is what may come from some property on if none came before, tail if one did.
	head := ""
	if others != "" {
		head = d.g.rule("(" + others + ")?")
	}
	for _, q := range slices.Backward(list) {
		switch {
		case q.required:
			head = d.g.rule(q.rule + " " + tail)
			tail = d.g.rule(comma + " " + q.rule + " " + tail)
		case head == "":
			head = d.g.rule("(" + q.rule + " " + tail + ")?")
			tail = d.g.rule("(" + comma + " " + q.rule + ")? " + tail)
		default:
			head = d.g.rule(q.rule + " " + tail + " | " + head)
			tail = d.g.rule("(" + comma + " " + q.rule + ")? " + tail)
		}
	}
	if head == "" {
		return `"{" ` + ws + ` "}"`
	}
	return `"{" ` + ws + ` ` + head + ` ` + ws + ` "}"`
}

// required reads the names of required properties.
func (d *document) required(s *object, p place) ([]string, bool) {
	v, ok := s.values["required"]
	if !ok {
		return nil, true
	}
	list, ok := v.([]any)
	var out []string
	for _, e := range list {
		name, isString := e.(string)
		ok = ok && isString
		out = append(out, name)
	}
	if !ok {
		d.fail(p, "required is a list of names")
	}
	return out, ok
}

// otherKey writes the keys that are none of those that are named, without escapes, behind which one of these could hide.
func (d *document) otherKey(names []string) string {
	plain := d.g.use("plain")
	type node struct {
		next map[rune]*node
		ends bool
	}
	root := &node{next: map[rune]*node{}}
	for _, name := range names {
		at := root
		for _, c := range name {
			if at.next[c] == nil {
				at.next[c] = &node{next: map[rune]*node{}}
			}
			at = at.next[c]
		}
		at.ends = true
	}
	var write func(n *node) string
	write = func(n *node) string {
		var forms []string
		var except strings.Builder
		runes := make([]rune, 0, len(n.next))
		for c := range n.next {
			runes = append(runes, c)
		}
		slices.Sort(runes)
		for _, c := range runes {
			if c == '"' || c == '\\' || c < ' ' || c == 0x7F {
				continue // Only an escape could write it.
			}
			fmt.Fprintf(&except, `\U%08X`, c)
			forms = append(forms, quote(string(c))+" "+d.g.rule(write(n.next[c])))
		}
		forms = append(forms, `[^"\\\x00-\x1F\x7F`+except.String()+`] `+plain+`*`)
		if !n.ends {
			forms = append(forms, `""`)
		}
		return either(forms)
	}
	return `"\"" ` + write(root) + ` "\""`
}

// array writes lists.
func (d *document) array(s *object, p place) string {
	least, ok1 := d.length(s, "minItems", 0, p)
	most, ok2 := d.length(s, "maxItems", -1, p)
	if !ok1 || !ok2 {
		return nothing
	}
	if most >= 0 && most < least {
		return d.fail(p, "minItems is more than maxItems")
	}
	if v, ok := s.values["uniqueItems"]; ok && v != false {
		return d.fail(p, "uniqueItems is not supported: leave it out")
	}
	var first []any
	if v, ok := s.values["prefixItems"]; ok {
		if first, ok = v.([]any); !ok {
			return d.fail(p, "prefixItems is a list of schemas")
		}
	}
	var rest any = true
	if v, ok := s.values["items"]; ok {
		rest = v
	} else if len(first) > 0 {
		rest = false
	}
	if _, old := rest.([]any); old {
		return d.fail(p, "items is one schema: use prefixItems for a list of them")
	}
	if most >= 0 && len(first) > most {
		first = first[:most]
	}
	if rest == false || most == len(first) {
		if rest, most = false, len(first); least > most {
			return d.fail(p, "minItems is more than there can be")
		}
	}
	comma, ws := d.g.use("comma"), d.g.use("ws")
	tail, head := `""`, "" // As in properties.
	if rest != false {
		one := d.g.rule(d.write(rest, p.in("items")))
		after := func(n, done int) string { // {from,to} of a repetition of which so many are done.
			low := max(n-done, 0)
			if most < 0 {
				return fmt.Sprintf("{%d,}", low)
			}
			return fmt.Sprintf("{%d,%d}", low, most-done)
		}
		tail = d.g.rule("(" + comma + " " + one + ")" + after(least, len(first)))
		if len(first) == 0 {
			head = one + " (" + comma + " " + one + ")" + after(least, 1)
			if least == 0 {
				head = "(" + head + ")?"
			}
			head = d.g.rule(head)
		}
	}
	for i, part := range slices.Backward(first) {
		item := d.write(part, p.in(fmt.Sprintf("prefixItems/%d", i)))
		head, tail = item+" "+tail, comma+" "+item+" "+tail
		if i >= least {
			head, tail = "("+head+")?", "("+tail+")?"
		}
		head, tail = d.g.rule(head), d.g.rule(tail)
	}
	if head == "" {
		return `"[" ` + ws + ` "]"`
	}
	return `"[" ` + ws + ` ` + head + ` ` + ws + ` "]"`
}

// length reads a number of items or characters.
func (d *document) length(s *object, keyword string, otherwise int, p place) (int, bool) {
	v, ok := s.values[keyword]
	if !ok {
		return otherwise, true
	}
	n, ok := whole(v)
	if !ok || n < 0 || n > maxLength {
		d.fail(p, "%s is a whole number from 0 to %d, not %s", keyword, maxLength, text(v))
		return 0, false
	}
	return int(n), true
}

// maxLength is how many items or characters can be asked for.
const maxLength = 50_000

// string writes strings.
func (d *document) string(s *object, p place) string {
	least, ok1 := d.length(s, "minLength", 0, p)
	most, ok2 := d.length(s, "maxLength", -1, p)
	if !ok1 || !ok2 {
		return nothing
	}
	bounded := least > 0 || most >= 0
	pattern, hasPattern := s.values["pattern"]
	format, hasFormat := s.values["format"]
	if (bounded && hasPattern) || (bounded && hasFormat) || (hasPattern && hasFormat) {
		return d.fail(p, "only one of pattern, format and a length is supported: say all of it in the pattern")
	}
	switch {
	case hasPattern:
		return d.pattern(pattern, p)
	case hasFormat:
		name, _ := format.(string)
		if f, ok := formats[name]; ok {
			return `"\"" ` + f + ` "\""`
		}
		if slices.Contains(numberFormats, name) {
			return d.g.use("string") // It is about numbers.
		}
		return d.fail(p, "the format %s is not supported: leave it out or write a pattern", text(format))
	case !bounded:
		return d.g.use("string")
	case most < 0:
		return fmt.Sprintf(`"\"" %s{%d,} "\""`, d.g.use("char"), least)
	case most < least:
		return d.fail(p, "minLength is more than maxLength")
	}
	return fmt.Sprintf(`"\"" %s{%d,%d} "\""`, d.g.use("char"), least, most)
}

// formats are those of strings.
var formats = map[string]string{
	"date":      date,
	"time":      clock,
	"date-time": date + ` "T" ` + clock,
	"uuid":      `[0-9a-fA-F]{8} ("-" [0-9a-fA-F]{4}){3} "-" [0-9a-fA-F]{12}`,
}

const (
	day28 = `("0" [1-9] | "1" [0-9] | "2" [0-8])`
	// Years that can be divided by 4 and not by 100, or by 400.
	leap = `([0-9]{2} ("0" [48] | [2468] [048] | [13579] [26]) | ([02468] [048] | [13579] [26]) "00")`
	date = `([0-9]{4} "-" (("0" [13578] | "1" [02]) "-" ("0" [1-9] | [12] [0-9] | "3" [01])` +
		` | ("0" [469] | "11") "-" ("0" [1-9] | [12] [0-9] | "30") | "02-" ` + day28 + `) | ` + leap + ` "-02-29")`
	hour  = `([01] [0-9] | "2" [0-3]) ":" [0-5] [0-9]`
	clock = hour + ` ":" [0-5] [0-9] ("." [0-9]{1,9})? ("Z" | [-+] ` + hour + `)`
)
