package pipeline

import (
	"strings"
	"time"
)

// likely returns a verb with a number of percent behind it.
func likely(what func(*cast) *float32) verb {
	return counted(func(y *play, n int) {
		y.cast.mu.Lock()
		defer y.cast.mu.Unlock()
		*what(y.cast) = float32(n) / 100
	})
}

// engine returns the verbs of an engine: how long it takes, how it fails, and those of its own.
func engine(name string, part func(*cast) *part, own map[string]verb) verb {
	set := func(fault string, after int) func(*play) {
		return func(y *play) {
			y.cast.mu.Lock()
			defer y.cast.mu.Unlock()
			e := part(y.cast)
			e.fault, e.after, e.voiced = fault, after, 0
		}
	}
	faulty := func(fault string) verb {
		return func(p *phrase) func(*play) {
			after := 0
			if name != "stt" && p.takes("after") {
				after = p.number()
			}
			return set(fault, after)
		}
	}
	verbs := map[string]verb{"fails": faulty("fails"), "hangs": faulty("hangs"), "recovers": plain(set("", 0))}
	for w, v := range own {
		verbs[w] = v
	}
	return func(p *phrase) func(*play) {
		if !p.sees("time") {
			return choose(p, "thing that the "+name+" does", verbs)
		}
		takes, more := p.duration(), time.Duration(0)
		switch {
		case name == "stt" && p.takes("every"), name != "stt" && p.sees("time"):
			more = p.duration()
		}
		return func(y *play) {
			y.cast.mu.Lock()
			defer y.cast.mu.Unlock()
			part(y.cast).takes = takes
			if more > 0 {
				*map[string]*time.Duration{"stt": &y.cast.every, "model": &y.cast.token, "voice": &y.cast.letter}[name] = more
			}
		}
	}
}

var sttVerbs = map[string]verb{
	"believes": quoting(func(y *play, s string) {
		y.cast.mu.Lock()
		defer y.cast.mu.Unlock()
		y.cast.believes = s
	}),
}

var modelVerbs = map[string]verb{
	"says": quoting(func(y *play, s string) {
		y.cast.mu.Lock()
		defer y.cast.mu.Unlock()
		y.cast.says = s
	}),
	"finds": likely(func(c *cast) *float32 { return &c.over }),
	"answers": func(p *phrase) func(*play) {
		question := p.text()
		p.expects("with")
		answer := p.text()
		return func(y *play) {
			y.cast.mu.Lock()
			defer y.cast.mu.Unlock()
			y.cast.answers[strings.Join(words(question), " ")] = answer
		}
	},
}

var voiceVerbs = map[string]verb{
	"places": func(p *phrase) func(*play) {
		p.expects("words")
		return func(y *play) {
			y.cast.mu.Lock()
			defer y.cast.mu.Unlock()
			y.cast.places = true
		}
	},
}
