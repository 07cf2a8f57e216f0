package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"riposte/llm"
)

// Source is where tools come from. What it has may change. It is safe for use by several goroutines.
type Source interface {
	// Tools returns those that there are now.
	Tools() []*Tool
}

// List is a source that never changes.
type List []*Tool

// Tools returns all of it.
func (l List) Tools() []*Tool { return l }

// Set is what calls of one kind may use. It is safe for use by several goroutines. Set the fields before that.
type Set struct {
	Sources []Source // Of two tools of one name the first counts.
	// Ran is told of each call that has ended: what it was of, how it ended, and how long it took. nil is nobody.
	Ran func(t *Tool, k Kind, took time.Duration)
}

// Offered returns what the model may call now.
func (s *Set) Offered() []llm.Tool {
	var out []llm.Tool
	for _, t := range s.All() {
		out = append(out, t.Tool)
	}
	return out
}

// All returns the tools that there are now.
func (s *Set) All() []*Tool {
	var out []*Tool
	known := map[string]bool{}
	for _, from := range s.Sources {
		for _, t := range from.Tools() {
			if !known[t.Name] {
				known[t.Name], out = true, append(out, t)
			}
		}
	}
	return out
}

// Server returns who runs the tool of a name; empty where there is none.
func (s *Set) Server(name string) string {
	if t := s.find(name); t != nil {
		return cmp.Or(t.Server, "riposte")
	}
	return ""
}

func (s *Set) find(name string) *Tool {
	for _, from := range s.Sources {
		for _, t := range from.Tools() {
			if t.Name == name {
				return t
			}
		}
	}
	return nil
}

// Run runs a call and returns what the model is to read of it. Arguments are checked before. The error is an *Error, whose text is what
// the model is to read instead. When ctx ends it returns soon.
func (s *Set) Run(ctx context.Context, c llm.ToolCall) (string, error) {
	t := s.find(c.Name)
	if t == nil {
		return "", s.unknown(c.Name)
	}
	began := time.Now()
	text, err := t.run(ctx, c.Arguments)
	if s.Ran != nil {
		k := OK
		if e, bad := err.(*Error); bad {
			k = e.Kind
		}
		s.Ran(t, k, time.Since(began))
	}
	return text, err
}

// mostNamed is how many tools are named to who calls one that there is not.
const mostNamed = 16

// unknown says that there is no tool of a name, and which there are.
func (s *Set) unknown(name string) *Error {
	var names []string
	for _, t := range s.All() {
		names = append(names, t.Name)
	}
	text := fmt.Sprintf("There is no tool %.64q.", name)
	switch more := len(names) - mostNamed; {
	case len(names) == 0:
		text += " There are none."
	case more > 0:
		text += fmt.Sprintf(" There are %s and %d more.", strings.Join(names[:mostNamed], ", "), more)
	default:
		text += fmt.Sprintf(" There are: %s.", strings.Join(names, ", "))
	}
	return &Error{Kind: Unknown, Text: text}
}

func (t *Tool) run(ctx context.Context, arguments json.RawMessage) (string, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := t.check(arguments); err != nil {
		return "", err
	}
	timeout := cmp.Or(t.Timeout, DefaultTimeout)
	limited, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	text, err := t.Run(limited, arguments)
	if err = outcome(ctx, limited, timeout, err); err != nil {
		return "", err
	}
	return text, nil
}
