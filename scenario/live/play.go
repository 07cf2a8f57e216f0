package live

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"riposte/audio"
	"riposte/scenario"
)

// play is a script being acted.
type play struct {
	*Stage
	slack    Slack
	ctx      context.Context
	at       string // The line that is being acted.
	line     *line
	settings settings
	taught   []lesson
	sounds   []Sound // Those that the script needs, in its order,
	said     int     // of which so many have been used.

	began  time.Time // Zero before the call.
	cursor time.Time // Up to when the caller has said what there was to say.

	act      act   // The newest,
	acts     []act // and all.
	problems []string
	pending  string   // Why something is not, so far; empty where all should be.
	deferred []func() // Expectations, which are judged when it is known what happened.

	// These say what does not hold in this call.
	ends       bool     // The script expects the call to end by itself.
	hungUp     bool     // The script hung up, so not everything came to its end.
	unanswered bool     // Not every turn is to be answered.
	corrected  []string // Answers of which the caller's side said how much was heard.
}

// act is something that the caller does: where expectations count their time from.
type act struct {
	of         string
	onset, end time.Time // Of the sound of it; the same for what takes no time.
}

// rehearse makes all sounds that the script needs, so that nothing has to be made in the call.
func (p *play) rehearse(script scenario.Script) error {
	for _, line := range script.Lines {
		if line.With == scenario.Fake {
			continue
		}
		var s Sound
		var err error
		switch l := line.Statement.(type) {
		case scenario.Says:
			s, err = p.Mouth.Say(p.ctx, l.Speech, l.Word)
		case scenario.Floods:
			s, err = p.Mouth.Say(p.ctx, l.Speech, 0)
		case scenario.Coughs:
			s, err = p.Mouth.Cough(p.ctx, l.For)
		case scenario.Brings:
			s, err = p.Mouth.Noise(l.Noise, l.For)
		default:
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", line.At, err)
		}
		p.sounds = append(p.sounds, s)
	}
	return nil
}

// next returns the next sound of the script.
func (p *play) next() Sound {
	s := p.sounds[p.said]
	p.said++
	return s
}

// run acts a script, and checks what holds in every call. The error is one that is not the script's.
func (p *play) run(script scenario.Script) error {
	for _, l := range script.Lines {
		if p.at = l.At; l.With == scenario.Fake {
			continue
		}
		if err := p.does(l.Statement); err != nil {
			return fmt.Errorf("%s: %w", l.At, err)
		}
	}
	if err := p.begin(); err != nil {
		return err
	}
	p.finish()
	for _, judge := range p.deferred {
		judge()
	}
	p.rules()
	return context.Cause(p.ctx)
}

// begin begins the call, unless it has begun: the model is taught, and the microphone is on from then on.
func (p *play) begin() error {
	if p.line != nil {
		return nil
	}
	l, err := dial(p.ctx, p.URL)
	if err != nil {
		return err
	}
	p.line = l
	p.follow()
	var asked []object
	for i, lesson := range p.taught {
		asked = append(asked, lesson.items(i)...)
	}
	if err := l.agree("session.updated", p.settings.update()); err != nil {
		return fmt.Errorf("setting up the call: %w", err)
	}
	if err := l.agree("conversation.item.added", asked...); err != nil {
		return fmt.Errorf("teaching the model: %w", err)
	}
	l.talk()
	p.began = time.Now()
	p.cursor = p.began
	p.instant("call")
	return nil
}

// follow has the caller's side behave as the settings say.
func (p *play) follow() {
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	p.line.holds = p.settings.holds
	p.line.yields = p.settings.detection != nil && p.settings.detection.yields
}

// say is an act of sound. It returns when all of it has been sent.
func (p *play) say(of string, s Sound) error {
	if err := p.begin(); err != nil {
		return err
	}
	first, last := voiced(s.PCM)
	start := p.speak(s.PCM)
	p.did(act{of, start.Add(audio.Duration(first, Rate)), start.Add(audio.Duration(last, Rate))})
	return nil
}

// voiced returns where voice begins and ends in a sound: all of it where there is none.
func voiced(pcm audio.PCM) (first, last int) {
	last = audio.LastVoiced(pcm, Rate)
	if last == 0 {
		return 0, len(pcm)
	}
	back := make(audio.PCM, len(pcm))
	for i, s := range pcm {
		back[len(pcm)-1-i] = s
	}
	return len(pcm) - audio.LastVoiced(back, Rate), last
}

// speak sends sound, and returns when its first sample was captured once all of it has been sent.
func (p *play) speak(pcm audio.PCM) (start time.Time) {
	p.line.mu.Lock()
	start, p.cursor = p.line.mic.say(pcm, p.cursor)
	until := p.cursor
	p.line.mu.Unlock()
	p.pass(until)
	return start
}

// pass waits until a frame that is due by then has been sent, or the line is over.
func (p *play) pass(until time.Time) {
	l := p.line
	l.await(until.Add(setupWait), func() bool { return !l.mic.at(l.sent).Before(until) })
}

// did notes an act.
func (p *play) did(a act) {
	p.act = a
	p.acts = append(p.acts, a)
}

// instant is an act that takes no time.
func (p *play) instant(of string) {
	now := time.Now()
	p.did(act{of, now, now})
}

// sends does something else than to speak.
func (p *play) sends(of string, o object) error {
	if err := p.begin(); err != nil {
		return err
	}
	p.instant(of)
	if err := p.line.send(o); err != nil && !p.line.ended() {
		return err
	}
	return nil
}

// longestAnswer is how long a call goes on, after the last line of its script, for the answers to come to their end.
const longestAnswer = 60 * time.Second

// settle is how long nothing has to happen until nothing more is taken to happen.
const settle = 1500 * time.Millisecond

// finish lets the answers come to their end, unless the call is over, and hangs up.
func (p *play) finish() {
	l := p.line
	if p.ends {
		if !l.await(time.Now().Add(longestAnswer), func() bool { return l.err != nil }) && !l.ended() {
			p.amiss("the call has not ended after %v", longestAnswer)
		}
	}
	quiet := p.act.end
	for began := time.Now(); !l.ended() && !p.ends; {
		open, last := p.open()
		if !open && time.Since(latest(quiet, last)) > settle {
			break
		}
		if time.Since(began) > longestAnswer {
			p.amiss("an answer has not ended after %v", longestAnswer)
			break
		}
		time.Sleep(frame)
	}
	if l.ended() && !p.ends && !p.hungUp {
		p.amiss("the call ended by itself, with: %v", l.err)
	}
	p.hangUp()
}

// open reports whether an answer is being given or played, or speech is being heard, and when something was said last.
func (p *play) open() (open bool, last time.Time) {
	l := p.line
	l.mu.Lock()
	defer l.mu.Unlock()
	speaking, answers, heard, reported := false, 0, map[string]bool{}, map[string]bool{}
	silent := map[string]bool{} // Turns in which nobody has said anything.
	for _, t := range l.told {
		switch t.Type {
		case "input_audio_buffer.speech_started":
			speaking = true
		case "input_audio_buffer.speech_stopped", "input_audio_buffer.cleared", "session.updated":
			speaking = false
		case "response.created":
			answers++
			reported[t.Response.ID] = false
		case "response.done":
			answers--
		case "riposte.turn":
			delete(reported, t.ResponseID)
		case "input_audio_buffer.committed":
			speaking = false
			if !silent[t.ItemID] {
				heard[t.ItemID] = true
			}
		case "input_audio_buffer.timeout_triggered":
			silent[t.ItemID] = true
		case "conversation.item.input_audio_transcription.completed", "conversation.item.input_audio_transcription.failed", "conversation.item.deleted":
			delete(heard, t.ItemID)
		}
		last = t.at
	}
	return speaking || answers > 0 || len(heard) > 0 || len(reported) > 0 || l.phone.until().After(time.Now()), last
}

// hangUp ends the call, which has to free its place at once.
func (p *play) hangUp() {
	if p.line.ended() {
		p.line.close()
		return
	}
	p.line.close()
	if p.Ready == "" {
		return
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		n, err := p.calls()
		switch {
		case err == nil && n == 0:
			return
		case time.Since(began) > p.slack.End:
			p.amiss("the service holds %d calls %v after the caller had hung up (%v)", n, p.slack.End, err)
			return
		}
	}
}

// calls returns how many calls the service holds.
func (p *play) calls() (int, error) {
	r, err := http.Get(p.Ready)
	if err != nil {
		return 0, err
	}
	defer r.Body.Close()
	var status struct {
		Calls int `json:"calls"`
	}
	err = json.NewDecoder(r.Body).Decode(&status)
	return status.Calls, err
}

// latest returns the last of some times.
func latest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if t.After(out) {
			out = t
		}
	}
	return out
}
