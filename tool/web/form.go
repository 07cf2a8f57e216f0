package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// form is an address with places for arguments.
type form struct {
	scheme, host string
	parts        []part // Of the path and the query.
}

// part is a text, or the place of an argument.
type part struct {
	text, name string // One of them.
	query      bool   // It is in the query.
}

// parse reads an address such as https://example.com/weather/{city}?unit={unit}. Scheme and host are fixed: no argument leads elsewhere.
func parse(address string) (form, error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok || scheme != "http" && scheme != "https" {
		return form{}, fmt.Errorf("%.100q does not begin with http:// or https://", address)
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	f := form{scheme: scheme, host: rest[:end]}
	if f.host == "" || strings.ContainsAny(f.host, "{}@#\\ ") {
		return form{}, fmt.Errorf("%.100q is no host: it can hold no argument, no name and no password (put those into headers)", f.host)
	}
	rest = rest[end:]
	if strings.Contains(rest, "#") {
		return form{}, errors.New("it has a #, and what is behind that is never sent")
	}
	query := false
	for rest != "" {
		open := strings.Index(rest, "{")
		if open < 0 {
			open = len(rest)
		}
		text := rest[:open]
		query = query || strings.Contains(text, "?")
		f.parts = append(f.parts, part{text: text})
		if rest = rest[open:]; rest == "" {
			break
		}
		name, behind, closed := strings.Cut(rest[1:], "}")
		if !closed || name == "" || strings.ContainsAny(name, "{/?&") {
			return form{}, fmt.Errorf("%.100q is no place of an argument: it has to read {name}", rest)
		}
		f.parts, rest = append(f.parts, part{name: name, query: query}), behind
	}
	_, err := url.Parse(f.scheme + "://" + f.host)
	return f, err
}

// names returns the arguments that have a place in it.
func (f form) names() (names []string) {
	for _, p := range f.parts {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	return names
}

// fill puts arguments into their places, and returns those that have none.
func (f form) fill(values map[string]any) (*url.URL, map[string]any, error) {
	var b strings.Builder
	b.WriteString(f.scheme + "://" + f.host)
	rest := map[string]any{}
	for name, v := range values {
		if !slices.Contains(f.names(), name) {
			rest[name] = v
		}
	}
	for _, p := range f.parts {
		value := written(values[p.name])
		switch {
		case p.name == "":
			b.WriteString(p.text)
		case p.query:
			b.WriteString(url.QueryEscape(value))
		case value == "" || value == "." || value == "..":
			return nil, nil, fmt.Errorf("the argument %q stands in a path, and cannot be %q", p.name, value)
		default:
			b.WriteString(url.PathEscape(value))
		}
	}
	u, err := url.Parse(b.String())
	return u, rest, err
}

// written writes an argument as it stands in an address: texts as they are, nothing for none, all else as JSON.
func written(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	b, _ := json.Marshal(value) // it was JSON before
	return string(b)
}
