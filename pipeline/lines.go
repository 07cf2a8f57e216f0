package pipeline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
	"riposte/transport"
)

// Greeting is what is said when a call begins.
type Greeting struct {
	Text string // Empty says nothing.
	Firm bool   // Whoever talks over it is not listened to.
}

// Silence is what is done about a caller who says nothing.
type Silence struct {
	After   time.Duration // Of silence on both sides. 0 does nothing.
	Prompts []string      // What is said then, one after the other. After the last one the call ends.
}

// say answers with a line that no model is asked for.
func (l *listener) say(text string, why trace.Origin, firm bool) error {
	return l.enqueue(&turn{clock: clockOf(time.Now()), line: text, origin: why, firm: firm, respond: true, settings: l.settings}, "")
}

// idle speaks up, and in the end hangs up, when nothing is said for too long. The time is that of the caller's sound. Where the
// caller's side says when, the model speaks up; the service's own lines only say how often it does before the call ends.
func (l *listener) idle() error {
	after := cmp.Or(l.settings.Detection.Idle, l.Silence.After)
	if after == 0 || l.settings.Listens {
		return nil
	}
	if l.gate.shuts() || l.item != "" || l.challenge != nil || len(l.live.all()) > 0 || l.history.waiting(time.Now().Add(-longestTool)) {
		l.active = l.ear.tape.End()
		return nil
	}
	since := l.active
	if l.ear.at(l.ear.tape.End()-since) < after {
		return nil
	}
	l.active = l.ear.tape.End()
	if l.Silence.After > 0 && l.prompts >= len(l.Silence.Prompts) {
		return transport.ErrSilent
	}
	l.prompts++
	if l.settings.Detection.Idle > 0 {
		return l.timeOut(since)
	}
	return l.say(l.Silence.Prompts[l.prompts-1], trace.Prompt, false)
}

// nothingSaid is what the model reads where the caller's side has it answer a silence.
const nothingSaid = "[the caller says nothing]"

// timeOut makes the silence since a position of the call a turn.
func (l *listener) timeOut(since int64) error {
	it := transport.Item{ID: newID("item"), Role: llm.User, Text: nothingSaid}
	out := transport.TimedOut{Item: it.ID, From: l.ear.at(since), Until: l.ear.at(l.ear.tape.End())}
	if err := l.Call.Send(l.ctx, out); err != nil {
		return err
	}
	previous, err := l.history.add(it)
	if err != nil {
		return l.fault("", "invalid_value", err.Error())
	}
	if err := l.Call.Send(l.ctx, transport.Committed{Item: it.ID, Previous: previous}); err != nil {
		return err
	}
	return l.enqueue(&turn{clock: clockOf(time.Now()), item: it.ID, typed: it.Text, origin: trace.Prompt, respond: true, settings: l.settings}, "")
}

// clockOf returns the clock of a turn that is decided as it begins, since nobody has to recognise it.
func clockOf(now time.Time) *budget.Turn {
	clock := budget.NewTurn(now)
	clock.Mark(budget.Received, now)
	clock.Mark(budget.Decided, now)
	return clock
}

// longestTool is how long a caller is not asked to speak because a tool is at work: the caller waits for it.
const longestTool = time.Minute

// deaf reports whether the caller is not listened to, since something is being said that nobody can interrupt, or nobody is known to be there.
func (l *listener) deaf() bool {
	if l.gate.shuts() {
		return true
	}
	for _, t := range l.live.answering() {
		if t.firm {
			return true
		}
	}
	return false
}

// keyPause is the time without another key after which a number is whole; a # ends it at once.
const keyPause = 1500 * time.Millisecond

// mostKeys is how many keys make a turn at most: a card's number and what goes with it are shorter.
const mostKeys = 32

// key takes a key of the caller's telephone, which interrupts as words do.
func (l *listener) key(in transport.Key) error {
	if !strings.ContainsRune("0123456789*#ABCD", in.Digit) {
		return l.fault(in.Ref, "invalid_value", fmt.Sprintf("%q is no key of a telephone: these are 0 to 9, *, # and A to D.", in.Digit))
	}
	if l.gate.shuts() {
		return nil
	}
	if l.settings.Detection == nil || l.settings.Detection.Interrupt {
		l.interrupt(time.Now(), l.limits)
	}
	l.keys += string(in.Digit)
	l.keyed = l.ear.tape.End()
	if in.Digit == '#' || len(l.keys) >= mostKeys {
		return l.keysDone()
	}
	return nil
}

// keysDone makes the keys that were pressed a turn, once it is clear that they are all.
func (l *listener) keysDone() error {
	now := time.Now()
	it := transport.Item{ID: newID("item"), Role: llm.User, Text: "[keypad] " + l.keys}
	l.keys, l.prompts = "", 0
	previous, err := l.history.add(it)
	if err != nil {
		return l.fault("", "invalid_value", err.Error())
	}
	if err := l.Call.Send(l.ctx, transport.Added{Item: it, Previous: previous}); err != nil {
		return err
	}
	return l.enqueue(&turn{clock: clockOf(now), item: it.ID, typed: it.Text, respond: true, settings: l.settings}, "")
}

// waitForKeys ends a number when no more keys come. The time is that of the caller's sound.
func (l *listener) waitForKeys() error {
	if l.keys == "" || l.ear.tape.End()-l.keyed < int64(audio.Samples(keyPause, audio.SpeechRate)) {
		return nil
	}
	return l.keysDone()
}
