package scenario

import (
	"slices"
	"strings"
)

// These say how things stand at this moment.
type (
	// Happened says how often an event has happened in the call.
	Happened struct {
		statement
		Times int
		Event Wanted
	}
	// Holds says what the conversation is.
	Holds struct {
		statement
		Messages []Message
	}
	// Read says what the model was to answer last. The instructions may be left out.
	Read struct {
		statement
		Messages []Message
	}
	// Played says which words of the newest answer were played to their end.
	Played struct {
		statement
		Text string
	}
	// Asked says how often an engine was asked.
	Asked struct {
		statement
		Engine Engine
		Times  int
	}
)

// Message is one of a conversation.
type Message struct {
	Role string // system, user, assistant, call or result.
	Text string
}

func nowLine(p *phrase) Statement {
	if p.sees("number") {
		n := p.number()
		if len(p.tokens) > 0 {
			if one, ok := strings.CutSuffix(p.tokens[0].text, "s"); ok && !known(p.tokens[0].text) && known(one) {
				p.tokens[0].text = one
			}
		}
		return Happened{Times: n, Event: p.wanted()}
	}
	return choose(p, "state", map[string]verb{
		"history": func(p *phrase) Statement { return Holds{Messages: p.messages()} },
		"read":    func(p *phrase) Statement { return Read{Messages: p.messages()} },
		"played":  quoting(func(s string) Statement { return Played{Text: s} }),
		"stt":     asked(STT),
		"model":   asked(Model),
		"voice":   asked(Voice),
	})
}

// asked reads how often an engine was asked.
func asked(e Engine) verb {
	return func(p *phrase) Statement {
		p.expects("asked")
		n := p.number()
		if !p.takes("time") {
			p.expects("times")
		}
		return Asked{Engine: e, Times: n}
	}
}

// roles are what a message of a conversation can be from.
var roles = []string{"system", "user", "assistant", "call", "result"}

// messages reads a conversation.
func (p *phrase) messages() []Message {
	if p.takes("empty") {
		return nil
	}
	var out []Message
	for len(p.tokens) > 0 && p.err == nil {
		role := p.word()
		if !slices.Contains(roles, role) {
			p.fail("%q says nothing: %s do", role, strings.Join(roles, ", "))
		}
		out = append(out, Message{Role: role, Text: p.text()})
	}
	if len(out) == 0 {
		p.fail("who said it is missing")
	}
	return out
}
