package main

import (
	"fmt"
	"strings"

	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// origins are what turns answer that nobody asked for aloud, as text.
var origins = []struct {
	origin    trace.Origin
	before    string // What stands before the words, of which there are only written ones.
	one, many string
}{
	{trace.Greeting, "(the greeting: a call began)", "greeting", "greetings"},
	{trace.Prompt, "(a prompt: the caller said nothing)", "prompt", "prompts"},
	{trace.Message, "(a message: a machine had answered)", "message to a machine", "messages to machines"},
	{trace.Written, "(written)", "written", "written"},
	{trace.Requested, "(asked for by the client)", "asked for by the client", "asked for by the client"},
	{store.Unknown, "", "greeting or prompt of an older version", "greetings or prompts of an older version"},
}

// saidOf returns what a turn answers, in words.
func saidOf(origin trace.Origin, said string) string {
	for _, o := range origins {
		if o.origin == origin {
			return strings.TrimSpace(o.before + " " + said)
		}
	}
	return said
}

// unasked says how many turns nobody asked for aloud, and what they were; nothing where there are none.
func unasked(counts map[trace.Origin]int) string {
	var parts []string
	all := 0
	for _, o := range origins {
		if n := counts[o.origin]; n > 0 {
			all += n
			name := o.many
			if n == 1 {
				name = o.one
			}
			parts = append(parts, fmt.Sprintf("%d %s", n, name))
		}
	}
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("%d unasked: %s", all, strings.Join(parts, ", "))
}

// apart says what a set holds besides the turns that have a verdict.
func apart(g store.Group) string {
	var parts []string
	if n := g.Verdicts[store.NoVerdict]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d not answered aloud", n))
	}
	if text := unasked(g.Unasked); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}
