package pipeline

import (
	"time"

	"riposte/audio"
	"riposte/llm"
	"riposte/scenario"
	"riposte/transport"
)

// caller acts what the caller does.
func (p *play) caller(s scenario.Statement) bool {
	switch s := s.(type) {
	case scenario.Says:
		word := s.Word
		if word == 0 {
			word = wordSpoken
		}
		p.say(p.speech(s.Speech, word))
	case scenario.Coughs:
		p.say(tone(audio.Samples(s.For, rate), wordless))
	case scenario.Waits:
		p.begin()
		p.speak(make(audio.PCM, audio.Samples(s.For, rate)))
	case scenario.WaitsFor:
		p.waitFor(s.Event)
	case scenario.Floods:
		var pcm audio.PCM
		for range s.Times {
			pcm = append(pcm, p.speech(s.Speech, wordSpoken)...)
		}
		p.sends(transport.Sound{PCM: pcm, Rate: rate, At: time.Now()})
	case scenario.Commits:
		p.sends(transport.Commit{})
	case scenario.Clears:
		p.sends(transport.Clear{})
	case scenario.Cancels:
		p.sends(transport.Cancel{})
	case scenario.Responds:
		r := transport.Respond{}
		if s.Written {
			r.Written = &s.Written
		}
		p.sends(r)
	case scenario.Adds:
		p.sends(transport.Add{Item: transport.Item{Role: llm.User, Text: s.Text}})
	case scenario.Truncates:
		if r, ok := p.latest(); ok {
			p.corrected = append(p.corrected, r.ID)
			p.sends(transport.Truncate{Item: r.Item, Heard: s.Heard})
		}
	case scenario.Returns:
		p.returns(s)
	case scenario.HangsUp:
		p.begin()
		p.instant()
		p.hangUp()
		p.hungUp = true
	default:
		return false
	}
	return true
}
