package pipeline

import (
	"time"

	"riposte/transport"
)

// settingsLine changes settings: those with which the call begins, or those that it has.
func settingsLine(p *phrase) func(*play) {
	change := choose(p, "setting", settingVerbs)
	return func(y *play) {
		change(y)
		if y.begun {
			y.sends(transport.Configure{Settings: y.settings})
			y.phone.follow(y.settings)
		}
	}
}

var settingVerbs = map[string]verb{
	"silence": timed(func(y *play, d time.Duration) { y.detection().Silence = d }),
	"meaning": meaning,
	"padding": timed(func(y *play, d time.Duration) { y.detection().Padding = d }),
	"push": func(p *phrase) func(*play) {
		p.expects("to", "talk")
		return func(y *play) { y.settings.Detection, y.unanswered = nil, true }
	},
	"holds": plain(func(y *play) { y.settings.Holds = true }),
	"no": among("thing to do without", map[string]verb{
		"answers":       plain(func(y *play) { y.detection().Respond, y.unanswered = false, true }),
		"interruptions": plain(func(y *play) { y.detection().Interrupt = false }),
	}),
	"instructions": quoting(func(y *play, s string) { y.settings.Instructions = s }),
}

// meaning lets what is said, and how, decide when a turn is over.
func meaning(p *phrase) func(*play) {
	eager := transport.Medium
	for _, e := range []transport.Eagerness{transport.Low, transport.Medium, transport.High} {
		if p.takes(string(e)) {
			eager = e
		}
	}
	return func(y *play) {
		d := y.detection()
		d.Silence, d.Eagerness = 0, eager
	}
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

// limitsLine sets a limit, with which the call begins.
func limitsLine(p *phrase) func(*play) {
	set := choose(p, "limit", limitVerbs)
	return func(y *play) {
		if y.begun {
			y.amiss("limits have to stand before the call begins")
		}
		set(y)
	}
}

var limitVerbs = map[string]verb{
	"utterance": timed(func(y *play, d time.Duration) { y.session.Limits.Utterance = d }),
	"turns":     counted(func(y *play, n int) { y.session.Limits.Turns = n }),
	"guesses": counted(func(y *play, n int) {
		y.session.Limits.Guesses = n
		if n == 0 {
			y.session.Limits.Guesses = -1
		}
	}),
}
