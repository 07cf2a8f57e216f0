package pipeline

import (
	"strings"
	"time"

	"riposte/audio"
	"riposte/llm"
	"riposte/transport"
)

var callerVerbs = map[string]verb{
	"says":     says,
	"coughs":   timed(func(y *play, d time.Duration) { y.say(tone(audio.Samples(d, rate), wordless)) }),
	"waits":    waits,
	"floods":   floods,
	"commits":  plain(func(y *play) { y.sends(transport.Commit{}) }),
	"clears":   plain(func(y *play) { y.sends(transport.Clear{}) }),
	"cancels":  plain(func(y *play) { y.sends(transport.Cancel{}) }),
	"responds": responds,
	"adds":     quoting(func(y *play, s string) { y.sends(transport.Add{Item: transport.Item{Role: llm.User, Text: s}}) }),
	"truncates": timed(func(y *play, d time.Duration) {
		if r, ok := y.latest(); ok {
			y.corrected = append(y.corrected, r.ID)
			y.sends(transport.Truncate{Item: r.Item, Heard: d})
		}
	}),
	"hangs": func(p *phrase) func(*play) {
		p.expects("up")
		return func(y *play) {
			y.begin()
			y.instant()
			y.hangUp()
			y.hungUp = true
		}
	},
}

func says(p *phrase) func(*play) {
	text := p.spoken()
	word := time.Duration(wordSpoken)
	if p.takes("at") {
		word = p.duration()
		p.expects("a", "word")
	}
	return func(y *play) { y.say(y.speech(text, word)) }
}

// spoken reads a text that is spoken, with pauses.
func (p *phrase) spoken() string {
	text := p.text()
	for w := range strings.FieldsSeq(text) {
		if pause, ok := strings.CutPrefix(w, "["); ok {
			pause = strings.TrimSuffix(pause, "]")
			if _, err := time.ParseDuration(pause); err != nil {
				p.fail("%q is no pause: [600ms] is", pause)
			}
		}
	}
	return text
}

func waits(p *phrase) func(*play) {
	if p.takes("for") {
		w := p.wanted()
		return func(y *play) { y.waitFor(w) }
	}
	d := p.duration()
	return func(y *play) {
		y.begin()
		y.speak(make(audio.PCM, audio.Samples(d, rate)))
	}
}

func floods(p *phrase) func(*play) {
	text, times := p.spoken(), p.number()
	p.expects("times")
	return func(y *play) {
		var pcm audio.PCM
		for range times {
			pcm = append(pcm, y.speech(text, wordSpoken)...)
		}
		y.sends(transport.Sound{PCM: pcm, Rate: rate, At: time.Now()})
	}
}

func responds(p *phrase) func(*play) {
	r := transport.Respond{}
	if p.takes("in") {
		p.expects("writing")
		written := true
		r.Written = &written
	}
	return func(y *play) { y.sends(r) }
}
