package pipeline

import (
	"riposte/audio"
	"riposte/llm"
	"riposte/scenario"
	"riposte/transport"
)

// does acts a line.
func (p *play) does(s scenario.Statement) {
	switch s := s.(type) {
	case scenario.Expect:
		p.expect(s)
	case scenario.Pending:
		p.pending = s.Why
	case scenario.Runs:
		p.tools.set(s)
	case scenario.OpensWith:
		p.session.Openers, p.session.Phrases = []string{s.Text}, p.cast
	case scenario.WaitsWith:
		p.session.Waiting, p.session.Phrases = Waiting{s.After, []string{s.Text}}, p.cast
	case scenario.Brings:
		p.say(make(audio.PCM, audio.Samples(s.For, rate)))
	case scenario.ShutsDown:
		p.begin()
		p.instant()
		close(p.drain)
	default:
		if !p.caller(s) && !p.line(s) && !p.setting(s) && !p.limit(s) && !p.cast.does(s) && !p.stands(s) {
			p.amiss("%T cannot be acted", s)
		}
	}
}

// line acts what happens to the line.
func (p *play) line(s scenario.Statement) bool {
	switch s := s.(type) {
	case scenario.Stalls:
		p.stalls(s.For)
	case scenario.Dies:
		p.dead(s.For)
	case scenario.Echoes:
		p.phone.side.Lock()
		defer p.phone.side.Unlock()
		p.phone.echo = s.After
	case scenario.Breaks:
		p.instant()
		p.phone.side.Lock()
		defer p.phone.side.Unlock()
		p.phone.broken = true
	default:
		return false
	}
	return true
}

// setting changes settings: those with which the call begins, or those that it has.
func (p *play) setting(s scenario.Statement) bool {
	switch s := s.(type) {
	case scenario.SetSilence:
		p.detection().Silence = s.For
	case scenario.SetMeaning:
		d := p.detection()
		d.Silence, d.Eagerness = 0, transport.Eagerness(s.Eagerness)
	case scenario.SetIdle:
		p.detection().Idle = s.After
	case scenario.SetPadding:
		p.detection().Padding = s.For
	case scenario.SetPushToTalk:
		p.settings.Detection, p.unanswered = nil, true
	case scenario.SetHolds:
		p.settings.Holds = true
	case scenario.SetNoAnswers:
		p.detection().Respond, p.unanswered = false, true
	case scenario.SetNoInterruptions:
		p.detection().Interrupt = false
	case scenario.SetInstructions:
		p.settings.Instructions = s.Text
	case scenario.SetTools:
		p.settings.Tools = offered(s.Names)
	case scenario.SetOneCall:
		p.settings.OneCall = true
	case scenario.SetChoice:
		p.settings.Choice = llm.Choice(s.Choice)
	default:
		return false
	}
	if p.begun {
		p.sends(transport.Configure{Settings: p.settings})
		p.phone.follow(p.settings)
	}
	return true
}

// detection returns the settings' detection, to be changed: not the one that the call has already.
func (p *play) detection() *transport.Detection {
	d := transport.Detection{Threshold: 0.5, Padding: 300 * ms, Silence: 300 * ms, Respond: true, Interrupt: true}
	if p.settings.Detection != nil {
		d = *p.settings.Detection
	}
	p.settings.Detection = &d
	return &d
}

// limit sets a limit, with which the call begins.
func (p *play) limit(s scenario.Statement) bool {
	limits := &p.session.Limits
	switch s := s.(type) {
	case scenario.LimitUtterance:
		limits.Utterance = s.To
	case scenario.LimitTurns:
		limits.Turns = s.To
	case scenario.LimitGuesses:
		limits.Guesses = s.To
		if s.To == 0 {
			limits.Guesses = -1
		}
	case scenario.LimitSteps:
		limits.Steps = s.To
	default:
		return false
	}
	if p.begun {
		p.amiss("limits have to stand before the call begins")
	}
	return true
}
