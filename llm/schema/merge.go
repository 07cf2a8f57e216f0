package schema

import "slices"

// merge returns the schema of what both a and b allow, where that can be said.
func (d *document) merge(a, b any, p place) any {
	if !d.step(p) {
		return true
	}
	switch {
	case a == true:
		return b
	case b == true:
		return a
	}
	x, ok1 := a.(*object)
	y, ok2 := b.(*object)
	if !ok1 || !ok2 {
		d.fail(p, "only schemas that are objects can hold together")
		return true
	}
	if ref, ok := y.values["$ref"]; ok {
		target, at, ok := d.resolve(ref, p)
		if !ok {
			return true
		}
		return d.merge(d.merge(x, y.without("$ref"), p.beside("$ref")), target, at)
	}
	if all, ok := y.values["allOf"].([]any); ok {
		var merged any = d.merge(x, y.without("allOf"), p.beside("allOf"))
		for _, part := range all {
			merged = d.merge(merged, part, p.beside("allOf"))
		}
		return merged
	}
	x, y = x.without(annotations...), y.without(annotations...)
	if closed(x) || closed(y) {
		if !sameKeys(x, y) {
			d.fail(p, "additionalProperties closes one of the schemas that are to hold together: say it once, beside all properties")
			return true
		}
	}
	out := x.without()
	for _, k := range y.keys {
		mine, both := out.values[k]
		theirs := y.values[k]
		switch {
		case !both, text(mine) == text(theirs):
			out.set(k, theirs)
		case k == "properties":
			out.set(k, d.mergeProperties(mine, theirs, p))
		case k == "required":
			one, ok1 := mine.([]any)
			two, ok2 := theirs.([]any)
			if !ok1 || !ok2 {
				d.fail(p, "required is a list of names")
				return true
			}
			out.set(k, slices.Concat(one, two))
		case k == "type":
			var common []any
			for _, t := range d.types(x, p) {
				if other := d.types(y, p); slices.Contains(other, t) || t == "integer" && slices.Contains(other, "number") {
					common = append(common, t)
				} else if t == "number" && slices.Contains(other, "integer") {
					common = append(common, "integer")
				}
			}
			if len(common) == 0 {
				d.fail(p, "nothing is both %s and %s", text(mine), text(theirs))
				return true
			}
			out.set(k, common)
		default:
			d.fail(p, "%q is said twice of what is to hold together: say it once", k)
			return true
		}
	}
	return out
}

func (d *document) mergeProperties(a, b any, p place) any {
	x, ok1 := a.(*object)
	y, ok2 := b.(*object)
	if !ok1 || !ok2 {
		d.fail(p, "properties is an object of schemas")
		return a
	}
	out := x.without()
	for _, k := range y.keys {
		if mine, ok := out.values[k]; ok {
			out.set(k, d.merge(mine, y.values[k], p.in("properties/"+k)))
		} else {
			out.set(k, y.values[k])
		}
	}
	return out
}

// closed reports whether a schema says something of properties that it does not name.
func closed(o *object) bool {
	more, ok := o.values["additionalProperties"]
	return ok && more != true
}

// sameKeys reports whether y names no property that x does not, nor the other way round. One that names none at all does
// not matter to a closed one.
func sameKeys(x, y *object) bool {
	a, _ := x.values["properties"].(*object)
	b, _ := y.values["properties"].(*object)
	names := func(o *object) []string {
		if o == nil {
			return nil
		}
		return slices.Sorted(slices.Values(o.keys))
	}
	switch {
	case closed(x) && closed(y):
		return slices.Equal(names(a), names(b)) && text(x.values["additionalProperties"]) == text(y.values["additionalProperties"])
	case closed(x):
		return subset(names(b), names(a))
	}
	return subset(names(a), names(b))
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// apart reports whether certainly no value is allowed by both of two schemas.
func (d *document) apart(a, b any, depth int) bool {
	d.g.steps++
	x, ok1 := d.follow(a)
	y, ok2 := d.follow(b)
	if !ok1 || !ok2 || depth > maxDepth {
		return false
	}
	if u, v := listed(x), listed(y); u != nil && v != nil {
		return !slices.ContainsFunc(u, func(e any) bool {
			return slices.ContainsFunc(v, func(f any) bool { return same(e, f) })
		})
	} else if u != nil {
		return d.allOfOthers(u, y)
	} else if v != nil {
		return d.allOfOthers(v, x)
	}
	// Types are only those that are said: others are about what may still be any other type, but a grammar takes them
	// for their own.
	quiet := document{g: &Grammar{}}
	s, t := quiet.types(x, place{}), quiet.types(y, place{})
	if quiet.g.err != nil || slices.Contains(s, "any") || slices.Contains(t, "any") || x.values["type"] == nil || y.values["type"] == nil {
		return false
	}
	common := slices.ContainsFunc(s, func(e string) bool {
		return slices.Contains(t, e) || e == "integer" && slices.Contains(t, "number") || e == "number" && slices.Contains(t, "integer")
	})
	if !common {
		return true
	}
	if len(s) > 1 || len(t) > 1 || s[0] != "object" || t[0] != "object" {
		return false
	}
	// Objects: a property that both require and that differs.
	p, _ := x.values["properties"].(*object)
	q, _ := y.values["properties"].(*object)
	r1, _ := x.values["required"].([]any)
	r2, _ := y.values["required"].([]any)
	if p == nil || q == nil {
		return false
	}
	for _, k := range p.keys {
		if other, ok := q.values[k]; ok && slices.Contains(r1, any(k)) && slices.Contains(r2, any(k)) && d.apart(p.values[k], other, depth+1) {
			return true
		}
	}
	return false
}

// allOfOthers reports whether none of the values is of the types of a schema.
func (d *document) allOfOthers(values []any, s *object) bool {
	if s.values["type"] == nil {
		return false
	}
	quiet := document{g: &Grammar{}}
	types := quiet.types(s, place{})
	return quiet.g.err == nil && !slices.ContainsFunc(values, func(v any) bool {
		return slices.ContainsFunc(types, func(t string) bool { return isOf(t, v) })
	})
}

// follow returns a schema, or what it refers to.
func (d *document) follow(s any) (*object, bool) {
	for range maxDepth {
		o, ok := s.(*object)
		if !ok {
			return nil, false
		}
		o = o.without(annotations...)
		ref, ok := o.values["$ref"]
		if !ok {
			for _, k := range []string{"anyOf", "oneOf", "allOf"} {
				if _, ok := o.values[k]; ok {
					return nil, false
				}
			}
			return o, true
		}
		quiet := document{g: &Grammar{}, root: d.root}
		if s, _, ok = quiet.resolve(ref, place{}); !ok || len(o.keys) > 1 {
			return nil, false
		}
	}
	return nil, false
}

// listed returns the values of an enum or const.
func listed(s *object) []any {
	if v, ok := s.values["const"]; ok {
		return []any{v}
	}
	list, _ := s.values["enum"].([]any)
	return list
}

// same reports whether two values may be equal. Numbers are compared by value.
func same(a, b any) bool {
	if isOf("number", a) && isOf("number", b) {
		x, y := rational(number(a)), rational(number(b))
		return x == nil || y == nil || x.Cmp(y) == 0
	}
	switch a.(type) {
	case *object, []any:
		return true // Nearly always wrong, and never a mistake.
	}
	return text(a) == text(b)
}
