package scenario

import (
	"strings"
	"time"
)

// These are what the caller does.
type (
	// Says is speech, at the given time a word; 0 is the usual one.
	Says struct {
		statement
		Speech Speech
		Word   Time
	}
	// Coughs is a sound that is voice without words.
	Coughs struct {
		statement
		For Time
	}
	// Waits is silence.
	Waits struct {
		statement
		For Time
	}
	// WaitsFor is silence until something happens.
	WaitsFor struct {
		statement
		Event Wanted
	}
	// Floods is speech that is sent at once, several times.
	Floods struct {
		statement
		Speech Speech
		Times  int
	}
	// Commits ends a turn, as a button of a client does.
	Commits struct{ statement }
	// Clears throws away what was said and is no turn yet.
	Clears struct{ statement }
	// Cancels stops an answer.
	Cancels struct{ statement }
	// Responds asks for an answer, in writing or spoken.
	Responds struct {
		statement
		Written bool
	}
	// Adds is a message that is typed.
	Adds struct {
		statement
		Text string
	}
	// Truncates says that of the newest answer no more was heard.
	Truncates struct {
		statement
		Heard Time
	}
	// HangsUp ends the call.
	HangsUp struct{ statement }
)

// Speech is words and the pauses between them.
type Speech []Utterance

// Utterance is a word, or a pause.
type Utterance struct {
	Word  string // Empty for a pause.
	Pause Time
}

var callerVerbs = map[string]verb{
	"says":      says,
	"coughs":    timed(func(t Time) Statement { return Coughs{For: t} }),
	"waits":     waits,
	"floods":    floods,
	"commits":   plain(Commits{}),
	"clears":    plain(Clears{}),
	"cancels":   plain(Cancels{}),
	"responds":  responds,
	"returns":   returns,
	"adds":      quoting(func(s string) Statement { return Adds{Text: s} }),
	"truncates": timed(func(t Time) Statement { return Truncates{Heard: t} }),
	"hangs": func(p *phrase) Statement {
		p.expects("up")
		return HangsUp{}
	},
}

func says(p *phrase) Statement {
	s := Says{Speech: p.speech()}
	if p.takes("at") {
		s.Word = p.duration()
		p.expects("a", "word")
	}
	return s
}

// speech reads a text that is spoken, with pauses.
func (p *phrase) speech() Speech {
	var s Speech
	for w := range strings.FieldsSeq(p.text()) {
		pause, ok := strings.CutPrefix(w, "[")
		if !ok {
			s = append(s, Utterance{Word: w})
			continue
		}
		pause = strings.TrimSuffix(pause, "]")
		d, err := time.ParseDuration(pause)
		if err != nil || d < 0 || d > longest {
			p.fail("%q is no pause: [600ms] is", pause)
		}
		s = append(s, Utterance{Pause: d})
	}
	return s
}

func waits(p *phrase) Statement {
	if p.takes("for") {
		return WaitsFor{Event: p.wanted()}
	}
	return Waits{For: p.duration()}
}

func floods(p *phrase) Statement {
	f := Floods{Speech: p.speech(), Times: p.number()}
	p.expects("times")
	return f
}

func responds(p *phrase) Statement {
	if p.takes("in") {
		p.expects("writing")
		return Responds{Written: true}
	}
	return Responds{}
}
