package main

import (
	"errors"
	"fmt"
	"time"

	"riposte/audio/answering"
	"riposte/pipeline"
	"riposte/transport"
)

// answeringSettings are how calls begin that were placed.
type answeringSettings struct {
	Answering         string        `default:"off" enum:"off,detect" help:"Whether calls that were placed begin with finding out who has answered: off greets whoever does; detect greets a person once that one has spoken, and leaves a machine the message phone-voicemail. What the line says of it is believed." group:"phone"`
	Voicemail         string        `placeholder:"TEXT" help:"What a machine is told after its beep, with phone-answering detect; then the call ends. Empty hangs up on machines at once." group:"phone"`
	AnsweringSilence  time.Duration `default:"4s" help:"How long nobody may speak after a call was answered: then the greeting is said." group:"phone"`
	AnsweringGreeting time.Duration `default:"2.2s" help:"Longest first words of a person, short pauses included; a greeting that is longer is a machine's." group:"phone"`
	AnsweringWait     time.Duration `default:"700ms" help:"Silence after them in which a person waits for an answer. Less greets people sooner, and takes machines that pause for people." group:"phone"`
	AnsweringEnd      time.Duration `default:"2.5s" help:"Silence after a machine's greeting from which there is no beep to come, and the message is left." group:"phone"`
	AnsweringPatience time.Duration `default:"1m" help:"How long a machine may speak on: then the call ends without a message." group:"phone"`
}

// validate reports everything that is out of bounds. greeting is what callers are told first.
func (s *answeringSettings) validate(greeting string) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Answering != "detect" || greeting != "", "phone-answering is detect, but talk-greeting is empty: who has answered waits for the one who called to speak")
	check(s.Voicemail == "" || s.Answering == "detect", "phone-voicemail is set, but phone-answering is off: nobody would find a machine to tell it to (phone-answering: detect)")
	check(s.AnsweringSilence >= time.Second && s.AnsweringSilence <= time.Minute, "phone-answering-silence is %v: it must be 1s to 1m", s.AnsweringSilence)
	check(s.AnsweringGreeting >= 500*time.Millisecond && s.AnsweringGreeting <= time.Minute, "phone-answering-greeting is %v: it must be 500ms to 1m", s.AnsweringGreeting)
	check(s.AnsweringWait >= 200*time.Millisecond && s.AnsweringWait <= 5*time.Second, "phone-answering-wait is %v: it must be 200ms to 5s", s.AnsweringWait)
	check(s.AnsweringEnd >= 500*time.Millisecond && s.AnsweringEnd <= time.Minute, "phone-answering-end is %v: it must be 500ms to 1m", s.AnsweringEnd)
	check(s.AnsweringPatience >= time.Second && s.AnsweringPatience <= 10*time.Minute, "phone-answering-patience is %v: it must be 1s to 10m", s.AnsweringPatience)
	return errors.Join(errs...)
}

// begins returns how a call begins between its parties, of which told is told who has answered; nil where that is not asked.
func (s *answeringSettings) begins(p transport.Parties, told func(answering.Event)) *pipeline.Answering {
	if s.Answering != "detect" || !p.Placed {
		return nil
	}
	return &pipeline.Answering{
		Detector: answering.Detector{Initial: s.AnsweringSilence, Greeting: s.AnsweringGreeting, Waits: s.AnsweringWait, Quiet: s.AnsweringEnd},
		By:       p.Answerer, Message: s.Voicemail, Patience: s.AnsweringPatience, Told: told,
	}
}

// answeredBy notes who has answered a call that was placed.
func (r *record) answeredBy(who answering.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sum.AnsweredBy = who.String()
	r.log.Info("the call was answered", "call", r.call.ID, "by", r.sum.AnsweredBy)
}
