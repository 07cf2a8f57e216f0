package pipeline

import (
	"cmp"
	"context"
	"errors"
	"time"

	"riposte/audio"
	"riposte/audio/answering"
	"riposte/budget/trace"
	"riposte/transport"
)

// Answering is how a call that was placed begins: with finding out who has answered. Until then nothing is said, and nothing that is heard is
// part of the conversation. A person is greeted, as is nobody; a machine is told a message, and the call ends with transport.ErrMachine.
type Answering struct {
	Detector answering.Detector // How they are told apart.
	By       transport.Answerer // Who has answered, where the line says so: it is believed.
	Message  string             // Said to a machine once it records, as a whole. Empty says nothing, and ends the call at once.
	Patience time.Duration      // How long a machine may speak before it records; then the call ends. It defaults to a minute.
	// Told is told who has answered: answering.Human, Machine or Nobody, and Machine again where one of the others was wrong. nil is nobody. It
	// must return at once.
	Told func(who answering.Event)
}

// gate is what is known of who has answered, and keeps what is heard from being part of the conversation.
type gate struct {
	Answering
	shut    bool
	machine bool
	since   int64 // Where in the call that was known.
	message *turn // Which is being said; nil before.
	began   int64 // Where in the call that began,
	again   int   // and how often it was begun again.
}

// Some machines beep twice. A message that had just begun then is begun again; but a line that is busy, or where nobody is, may beep for ever.
const (
	justBegun = 3 * time.Second
	mostAgain = 2
)

// shuts reports whether nothing that is heard counts.
func (g *gate) shuts() bool { return g != nil && g.shut }

// beginCall says what is to be said when the call begins, as soon as there is somebody who may be told.
func (l *listener) beginCall() error {
	if l.Answering == nil {
		return l.greet()
	}
	l.gate = &gate{Answering: *l.Answering, shut: true}
	switch l.gate.By {
	case transport.Human:
		err := l.meet(answering.Human)
		l.gate = nil
		return err
	case transport.Machine, transport.Fax:
		return l.machine()
	case transport.Recorder:
		return l.leave(answering.Beeped)
	}
	return nil
}

// greet says what callers are told first.
func (l *listener) greet() error {
	if l.Settings.Listens {
		return nil
	}
	if l.Notice != "" {
		if err := l.say(l.Notice, trace.Greeting, true); err != nil {
			return err
		}
	}
	if l.Greeting.Text == "" {
		return nil
	}
	return l.say(l.Greeting.Text, trace.Greeting, l.Greeting.Firm)
}

// answers hears who has answered in the next frame, which may have speech in it. What it has heard of a person counts until that person has said
// something more: a machine with a short greeting is known by its beep.
func (l *listener) answers(speech float32, frame audio.PCM) error {
	g := l.gate
	if g == nil {
		return nil
	}
	switch event := g.Detector.Step(speech, frame); event {
	case answering.Human, answering.Nobody:
		return l.meet(event)
	case answering.Machine:
		return l.machine()
	case answering.Beeped, answering.Over:
		return l.leave(event)
	}
	if g.machine && g.message == nil && l.ear.at(l.ear.ends.Position()-g.since) > cmp.Or(g.Patience, time.Minute) {
		return transport.ErrMachine
	}
	return nil
}

// meet greets a person, or nobody: there may be somebody who waits for a word.
func (l *listener) meet(who answering.Event) error {
	l.gate.shut = false
	l.tell(who)
	l.ear.commit()
	return l.greet()
}

// tell tells who has answered.
func (l *listener) tell(who answering.Event) {
	if l.gate.Told != nil {
		l.gate.Told(who)
	}
}

// machine notes that it is a machine that has answered. What was said to it, and what it has said, was a mistake.
func (l *listener) machine() error {
	g := l.gate
	g.machine, g.shut, g.since, g.Detector.Known = true, true, l.ear.ends.Position(), answering.Machine
	l.tell(answering.Machine)
	if g.Message == "" || g.By == transport.Fax {
		return transport.ErrMachine
	}
	for _, t := range l.live.unsent() {
		t.end(errCancelled)
	}
	l.ear.commit()
	return l.giveBack()
}

// leave leaves the message, since the machine has beeped or fallen silent.
func (l *listener) leave(event answering.Event) error {
	g := l.gate
	if !g.machine {
		if err := l.machine(); err != nil {
			return err
		}
	}
	if g.message != nil {
		if g.again == mostAgain || event != answering.Beeped || l.ear.at(l.ear.ends.Position()-g.began) > justBegun {
			return nil
		}
		g.again++
		g.message.end(errCancelled)
	}
	t := &turn{clock: clockOf(time.Now()), line: g.Message, origin: trace.Message, firm: true, respond: true, settings: l.settings}
	g.message, g.began = t, l.ear.ends.Position()
	if err := l.enqueue(t, ""); err != nil {
		return err
	}
	l.group.Go(func() error {
		select {
		case <-t.settled:
		case <-l.ctx.Done():
			return nil
		}
		if errors.Is(context.Cause(t.ctx), errCancelled) {
			return nil // it is said again
		}
		return transport.ErrMachine
	})
	return nil
}
