package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"riposte/audio"
	"riposte/scenario"
	"riposte/transport"
)

// happened returns what has happened so far.
func (p *play) happened() []scenario.Event {
	p.phone.mu.Lock()
	out := slices.Clone(p.phone.out)
	p.phone.mu.Unlock()
	var events []scenario.Event
	voiced := false // Sound of the answer has come since it began or went on.
	for _, s := range out {
		add := func(name, text string, notes ...string) {
			events = append(events, scenario.Event{At: s.at, Name: name, Text: text, Notes: notes})
		}
		switch o := s.Outbound.(type) {
		case transport.SpeechStarted:
			add("speech", "")
		case transport.SpeechStopped:
			add("stopped", "")
		case transport.Committed:
			add("committed", "")
		case transport.Removed:
			add("removed", "")
		case transport.Hypothesis:
			add("hypothesis", o.Text)
		case transport.Transcribed:
			if o.Text != "" {
				add("turn", o.Text)
			}
		case transport.TranscriptionFailed:
			add("unheard", "")
		case transport.Held:
			add("held", "")
		case transport.Released:
			voiced = false
			add("released", "")
		case transport.ResponseStarted:
			voiced = false
			add("answer", "")
		case transport.Called:
			add("call", o.Item.Call.Name+" "+about(o.Item.Call.Arguments))
		case transport.Ran:
			add("result", o.Item.Text, o.Item.Outcome)
		case transport.Words:
			add("words", strings.TrimSpace(o.Text))
		case transport.Voice:
			if _, ok := audio.FirstAudible(o.PCM, rate); ok && !voiced {
				voiced = true
				add("sound", "")
			}
		case transport.ResponseDone:
			add("done", strings.TrimSpace(o.Text), string(o.Status))
		case transport.TurnReport:
			notes := []string{string(o.Report.Verdict)}
			if o.Continued {
				notes = append(notes, "continued")
			}
			add("report", o.Answer, notes...)
			add("guesses", "", strconv.Itoa(o.Guesses.Tries), map[bool]string{true: "stood", false: "fell"}[o.Guesses.Stood])
		case transport.TimedOut:
			add("timeout", "")
		case transport.Cleared:
			add("cleared", "")
		case transport.Added:
			add("added", o.Item.Text)
		case transport.Truncated:
			add("truncated", "")
		case transport.Fault:
			notes := slices.DeleteFunc(slices.Clone(scenario.Notes["fault"]), func(n string) bool { return !strings.Contains(o.Code, n) })
			add("fault", o.Message, notes...)
		}
	}
	if p.ended() {
		events = append(events, p.ending())
	}
	return events
}

// ending returns how the call ended, as an event.
func (p *play) ending() scenario.Event {
	note := "otherwise"
	for n, err := range map[string]error{"hung-up": transport.ErrHungUp, "shutdown": transport.ErrShutdown, "slow": transport.ErrSlowReader} {
		if errors.Is(p.err, err) {
			note = n
		}
	}
	return scenario.Event{At: p.endedAt, Name: "end", Notes: []string{note}}
}

// transcript tells what has happened, for whoever has to find out what is wrong.
func (p *play) transcript() string {
	var b strings.Builder
	var last scenario.Event
	for _, e := range p.happened() {
		if last.At.IsZero() {
			last = e
		}
		fmt.Fprintf(&b, "%8v %+8v %s %s %q\n", e.At.Sub(p.began), e.At.Sub(last.At), e.Name, strings.Join(e.Notes, " "), e.Text)
		last = e
	}
	return b.String()
}
