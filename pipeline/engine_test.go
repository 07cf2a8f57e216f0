package pipeline

import (
	"strings"

	"riposte/scenario"
)

// does has an engine do from now on as a script says.
func (c *cast) does(s scenario.Statement) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := s.(type) {
	case scenario.Takes:
		c.part(s.Engine).takes = s.First
		if s.Next > 0 {
			switch s.Engine {
			case scenario.STT:
				c.every = s.Next
			case scenario.Model:
				c.token = s.Next
			case scenario.Voice:
				c.letter = s.Next
			}
		}
	case scenario.Fails:
		e := c.part(s.Engine)
		e.fault, e.after, e.voiced = "fails", s.After, 0
		if s.Hangs {
			e.fault = "hangs"
		}
	case scenario.Recovers:
		e := c.part(s.Engine)
		e.fault, e.after, e.voiced = "", 0, 0
	case scenario.Believes:
		c.believes = s.Text
	case scenario.Answers:
		if s.Question == "" {
			c.says = s.Text
		}
		question := strings.Join(words(s.Question), " ")
		c.answers[question], c.calls[question] = s.Text, s.Calls
	case scenario.Finds:
		c.over = float32(s.Percent) / 100
	case scenario.ProsodySays:
		c.prosody = float32(s.Percent) / 100
	case scenario.PlacesWords:
		c.places = true
	case scenario.VADLags:
		c.lag = s.For
	default:
		return false
	}
	return true
}

// part returns what an engine does.
func (c *cast) part(e scenario.Engine) *part {
	switch e {
	case scenario.STT:
		return &c.stt
	case scenario.Model:
		return &c.llm
	}
	return &c.tts
}
