package pipeline

import "time"

// verb reads the rest of a line and returns what it does.
type verb = func(*phrase) func(*play)

// statements are the lines that there are, by their first word.
var statements = map[string]verb{
	"caller":   among("thing that the caller does", callerVerbs),
	"line":     among("thing that happens to the line", lineVerbs),
	"service":  among("thing that the service does", map[string]verb{"shuts": shuts}),
	"settings": settingsLine,
	"limits":   limitsLine,
	"stt":      engine("stt", func(c *cast) *part { return &c.stt }, sttVerbs),
	"model":    engine("model", func(c *cast) *part { return &c.llm }, modelVerbs),
	"voice":    engine("voice", func(c *cast) *part { return &c.tts }, voiceVerbs),
	"vad": among("thing that the vad does", map[string]verb{
		"lags": timed(func(y *play, d time.Duration) {
			y.cast.mu.Lock()
			defer y.cast.mu.Unlock()
			y.cast.lag = d
		}),
	}),
	"pending": quoting(func(y *play, why string) { y.pending = why }),
	"prosody": among("thing that the prosody does", map[string]verb{
		"says": likely(func(c *cast) *float32 { return &c.prosody }),
	}),
	"expect": expectLine,
	"now":    nowLine,
}

// among returns a verb that is one of several, by its next word.
func among(what string, by map[string]verb) verb {
	return func(p *phrase) func(*play) { return choose(p, what, by) }
}

// plain returns a verb without anything behind it.
func plain(do func(*play)) verb { return func(*phrase) func(*play) { return do } }

// timed returns a verb with a time behind it.
func timed(do func(*play, time.Duration)) verb {
	return func(p *phrase) func(*play) {
		d := p.duration()
		return func(y *play) { do(y, d) }
	}
}

// counted returns a verb with a number behind it.
func counted(do func(*play, int)) verb {
	return func(p *phrase) func(*play) {
		n := p.number()
		return func(y *play) { do(y, n) }
	}
}

// quoting returns a verb with a text behind it.
func quoting(do func(*play, string)) verb {
	return func(p *phrase) func(*play) {
		text := p.text()
		return func(y *play) { do(y, text) }
	}
}

var lineVerbs = map[string]verb{
	"echoes": timed(func(y *play, d time.Duration) {
		y.phone.side.Lock()
		defer y.phone.side.Unlock()
		y.phone.echo = d
	}),
	"stalls": timed((*play).stalls),
	"dies":   timed((*play).dead),
	"breaks": plain(func(y *play) {
		y.instant()
		y.phone.side.Lock()
		defer y.phone.side.Unlock()
		y.phone.broken = true
	}),
}

func shuts(p *phrase) func(*play) {
	p.expects("down")
	return func(y *play) {
		y.begin()
		y.instant()
		close(y.drain)
	}
}
