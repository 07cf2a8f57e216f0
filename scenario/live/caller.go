package live

import (
	"time"

	"riposte/audio"
	"riposte/audio/room"
	"riposte/scenario"
)

// does acts a line. The error is one that is not the script's.
func (p *play) does(s scenario.Statement) error {
	switch s := s.(type) {
	case scenario.Expect:
		p.expect(s)
	case scenario.Pending:
		p.pending = s.Why
	case scenario.Answers, scenario.PlacesWords, scenario.LimitUtterance, scenario.LimitGuesses, scenario.LimitSteps:
		// The model was taught, a real voice places its words, and the service was begun with the limits.
	case scenario.Happened, scenario.Holds, scenario.Played:
		p.stands(s)
	case scenario.Says:
		return p.say("says", p.next())
	case scenario.Coughs:
		return p.say("coughs", p.next())
	case scenario.Brings:
		return p.say("noise", p.next())
	case scenario.Waits:
		if err := p.begin(); err != nil {
			return err
		}
		p.speak(make(audio.PCM, audio.Samples(s.For, Rate)))
	case scenario.WaitsFor:
		if err := p.begin(); err != nil {
			return err
		}
		p.waitFor(s.Event)
	case scenario.Floods:
		return p.flood(p.next(), s.Times)
	case scenario.Truncates:
		return p.truncate(s.Heard)
	case scenario.Returns:
		return p.returns(s)
	case scenario.HangsUp:
		return p.leave()
	default:
		if err, ok := p.happens(s); ok {
			return err
		}
		if o, of := button(s); o != nil {
			return p.sends(of, o)
		}
		if !p.settings.change(s) {
			p.amiss("%T cannot be acted", s)
			return nil
		}
		return p.changed(s)
	}
	return nil
}

// button returns what a client's button sends.
func button(s scenario.Statement) (o object, of string) {
	switch s := s.(type) {
	case scenario.Commits:
		return object{"type": "input_audio_buffer.commit"}, "commits"
	case scenario.Clears:
		return object{"type": "input_audio_buffer.clear"}, "clears"
	case scenario.Cancels:
		return object{"type": "response.cancel"}, "cancels"
	case scenario.Responds:
		o := object{"type": "response.create"}
		if s.Written {
			o["response"] = object{"output_modalities": []string{"text"}}
		}
		return o, "responds"
	case scenario.Adds:
		return say("user", s.Text), "adds"
	}
	return nil, ""
}

// changed tells the service of settings that have changed in the call.
func (p *play) changed(s scenario.Statement) error {
	switch s.(type) {
	case scenario.SetPushToTalk, scenario.SetNoAnswers:
		p.unanswered = true
	}
	if p.line == nil {
		return nil
	}
	p.follow()
	return p.sends("settings", p.settings.update())
}

// happens acts what happens to the line, and to the service.
func (p *play) happens(s scenario.Statement) (error, bool) {
	switch s := s.(type) {
	case scenario.Echoes:
		if err := p.begin(); err != nil {
			return err, true
		}
		p.line.mu.Lock()
		defer p.line.mu.Unlock()
		p.line.mic.echo = nil
		if s.After > 0 {
			p.line.mic.echo = speakerphone(s.After).Open(Rate)
		}
	case scenario.Dies:
		if err := p.begin(); err != nil {
			return err, true
		}
		p.instant("line dies")
		p.line.mu.Lock()
		p.line.mic.dead = p.cursor.Add(s.For)
		p.line.mu.Unlock()
		p.speak(make(audio.PCM, audio.Samples(s.For, Rate)))
	case scenario.ShutsDown:
		if err := p.begin(); err != nil {
			return err, true
		}
		p.instant("service shuts down")
		p.Stop()
	default:
		return nil, false
	}
	return nil, true
}

// speakerphone returns the way from the loudspeaker to the microphone of a telephone that stands on a table.
func speakerphone(delay time.Duration) room.Room {
	return room.Room{Delay: delay, Gain: -12, RT60: 300 * time.Millisecond, Direct: 6, Noise: -70, Seed: 1}
}

// waitFor is silent until something happens.
func (p *play) waitFor(w scenario.Wanted) {
	since := p.act.onset
	for began := time.Now(); ; time.Sleep(frame / 2) {
		if _, ok := p.find(w, since, time.Now()); ok {
			p.cursor = time.Now()
			return
		}
		if p.line.ended() || time.Since(began) > longestAnswer {
			p.amiss("%v has not come", w)
			return
		}
	}
}

// flood sends a sound several times, at once.
func (p *play) flood(s Sound, times int) error {
	if err := p.begin(); err != nil {
		return err
	}
	p.instant("floods")
	for range times {
		if err := p.line.sound(s.PCM); err != nil {
			return err
		}
	}
	return nil
}

// truncate says that of the newest answer no more was heard.
func (p *play) truncate(heard time.Duration) error {
	r, item, ok := p.latest()
	if !ok {
		return nil
	}
	p.corrected = append(p.corrected, r)
	return p.sends("truncates", object{
		"type": "conversation.item.truncate", "item_id": item, "content_index": 0, "audio_end_ms": heard.Milliseconds(),
	})
}

// leave hangs up.
func (p *play) leave() error {
	if err := p.begin(); err != nil {
		return err
	}
	p.instant("hangs up")
	p.hangUp()
	p.hungUp = true
	return nil
}

// latest returns the newest answer that has begun, and its item.
func (p *play) latest() (answer, item string, ok bool) {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	for _, t := range p.line.told {
		switch {
		case t.Type == "response.created":
			answer, item = t.Response.ID, ""
		case t.Type == "response.output_audio.delta" && t.ResponseID == answer:
			item = t.ItemID
		}
	}
	if answer == "" {
		p.amiss("no answer has begun")
	}
	return answer, item, answer != ""
}
