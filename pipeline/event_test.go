package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"riposte/audio"
	"riposte/transport"
)

// event is something that happened in a call, as scripts name it.
type event struct {
	at    time.Time
	name  string
	text  string
	notes []string // What else can be said of it.
}

// eventNotes are the events that there are, with what can be said of each.
var eventNotes = map[string][]string{
	"speech": nil, "stopped": nil, "committed": nil, "removed": nil, "hypothesis": nil, "turn": nil, "unheard": nil,
	"held": nil, "released": nil, "answer": nil, "words": nil, "sound": nil, "cleared": nil, "added": nil, "truncated": nil,
	"done":    {"completed", "cancelled", "incomplete", "failed"},
	"report":  {"met", "over", "failed", "continued"},
	"guesses": {"0", "1", "2", "3", "stood", "fell"},
	"fault":   {"commit_empty", "buffer_full", "too_many_turns", "active_response", "not_active", "invalid_value", "invalid_item_id"},
	"end":     {"hung-up", "shutdown", "slow", "otherwise"},
	"quiet":   nil,
}

// happened returns what has happened so far.
func (p *play) happened() []event {
	p.phone.mu.Lock()
	out := slices.Clone(p.phone.out)
	p.phone.mu.Unlock()
	var events []event
	voiced := false // Sound of the answer has come since it began or went on.
	for _, s := range out {
		add := func(name, text string, notes ...string) {
			events = append(events, event{s.at, name, text, notes})
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
		case transport.Cleared:
			add("cleared", "")
		case transport.Added:
			add("added", o.Item.Text)
		case transport.Truncated:
			add("truncated", "")
		case transport.Fault:
			notes := slices.DeleteFunc(slices.Clone(eventNotes["fault"]), func(n string) bool { return !strings.Contains(o.Code, n) })
			add("fault", o.Message, notes...)
		}
	}
	if p.ended() {
		events = append(events, p.ending())
	}
	return events
}

// ending returns how the call ended, as an event.
func (p *play) ending() event {
	note := "otherwise"
	for n, err := range map[string]error{"hung-up": transport.ErrHungUp, "shutdown": transport.ErrShutdown, "slow": transport.ErrSlowReader} {
		if errors.Is(p.err, err) {
			note = n
		}
	}
	return event{p.endedAt, "end", "", []string{note}}
}

// transcript tells what has happened, for whoever has to find out what is wrong.
func (p *play) transcript() string {
	var b strings.Builder
	var last event
	for _, e := range p.happened() {
		if last.at.IsZero() {
			last = e
		}
		fmt.Fprintf(&b, "%8v %+8v %s %s %q\n", e.at.Sub(p.began), e.at.Sub(last.at), e.name, strings.Join(e.notes, " "), e.text)
		last = e
	}
	return b.String()
}
