package live

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"riposte/audio"
	"riposte/scenario"
)

// happened returns what has happened so far, in the words of scripts and in the order of time.
func (p *play) happened() []scenario.Event {
	p.line.mu.Lock()
	said := slices.Clone(p.line.told)
	endedAt, err := p.line.endedAt, p.line.err
	p.line.mu.Unlock()
	var events []scenario.Event
	voiced := false // Sound of the answer has come since it began or went on.
	for _, t := range said {
		add := func(name, text string, notes ...string) {
			events = append(events, scenario.Event{At: t.at, Name: name, Text: text, Notes: notes})
		}
		switch t.Type {
		case "input_audio_buffer.speech_started":
			add("speech", "")
		case "input_audio_buffer.speech_stopped":
			add("stopped", "")
		case "input_audio_buffer.timeout_triggered":
			add("timeout", "")
		case "input_audio_buffer.committed":
			add("committed", "")
		case "input_audio_buffer.cleared":
			add("cleared", "")
		case "conversation.item.deleted":
			add("removed", "")
		case "conversation.item.truncated":
			add("truncated", "")
		case "conversation.item.added":
			if t.Item.written() {
				add("added", t.Item.text())
			}
		case "riposte.hypothesis":
			add("hypothesis", t.Text)
		case "conversation.item.input_audio_transcription.completed":
			if t.Transcript != "" {
				add("turn", t.Transcript)
			}
		case "conversation.item.input_audio_transcription.failed":
			add("unheard", "")
		case "riposte.hold":
			add("held", "")
		case "riposte.release":
			voiced = false
			add("released", "")
		case "response.created":
			voiced = false
			add("answer", "")
		case "response.function_call_arguments.done":
			add("call", about(t.Name, t.Arguments))
		case "response.output_audio_transcript.delta", "response.output_text.delta":
			add("words", strings.TrimSpace(t.Delta))
		case "response.output_audio.delta":
			n, ok := audio.FirstAudible(t.pcm, Rate)
			if ok && !voiced && !t.plays.IsZero() {
				voiced = true
				t.at = t.plays.Add(audio.Duration(n, Rate))
				add("sound", "")
			}
		case "response.done":
			add("done", strings.TrimSpace(t.Response.text()), t.Response.Status)
		case "riposte.turn":
			notes := []string{t.Verdict}
			if t.Continued {
				notes = append(notes, "continued")
			}
			add("report", t.Answer, notes...)
			add("guesses", "", strconv.Itoa(t.Guesses.Tries), map[bool]string{true: "stood", false: "fell"}[t.Guesses.Stood])
		case "error":
			notes := slices.DeleteFunc(slices.Clone(scenario.Notes["fault"]), func(n string) bool { return !strings.Contains(t.Error.Code, n) })
			add("fault", t.Error.Message, notes...)
		}
	}
	if err != nil {
		events = append(events, scenario.Event{At: endedAt, Name: "end", Notes: []string{ending(err)}})
	}
	slices.SortStableFunc(events, func(a, b scenario.Event) int { return a.At.Compare(b.At) })
	return events
}

// ending returns why a line ended, as scripts say it.
func ending(err error) string {
	closed := new(websocket.CloseError)
	switch {
	case errors.Is(err, errHungUp):
		return "hung-up"
	case !errors.As(err, &closed):
	case closed.Code == websocket.CloseGoingAway:
		return "shutdown"
	case closed.Code == websocket.ClosePolicyViolation:
		return "slow"
	}
	return "otherwise"
}

// fits reports whether an event is one that a script speaks of: its text need not be the same to the letter.
func fits(w scenario.Wanted, e scenario.Event) bool {
	text := w.Text
	w.Text = nil
	return w.Fits(e) && (text == nil || same(*text, e.Text))
}

// find returns the first such event between two times, both included; a zero until is the end of the call.
func (p *play) find(w scenario.Wanted, since, until time.Time) (scenario.Event, bool) {
	for _, e := range p.happened() {
		if fits(w, e) && !e.At.Before(since) && (until.IsZero() || !e.At.After(until)) {
			return e, true
		}
	}
	return scenario.Event{}, false
}

// transcript tells what has happened, for whoever has to find out what is wrong: when, since the call began and since what was
// before it.
func (p *play) transcript() string {
	if p.line == nil {
		return ""
	}
	events := p.happened()
	for _, a := range p.acts {
		events = append(events, scenario.Event{At: a.onset, Name: "(" + a.of + ")", Notes: []string{"until", ms(a.end.Sub(a.onset))}})
	}
	slices.SortStableFunc(events, func(a, b scenario.Event) int { return a.At.Compare(b.At) })
	var b strings.Builder
	var last time.Time
	for _, e := range events {
		if last.IsZero() {
			last = p.began
		}
		fmt.Fprintf(&b, "%9s %+9s %s %s %s\n", ms(e.At.Sub(p.began)), ms(e.At.Sub(last)), e.Name, strings.Join(e.Notes, " "), cmp.Or(e.Text, ""))
		last = e.At
	}
	return b.String()
}

// ms writes a time as people read it here.
func ms(d time.Duration) string { return d.Round(time.Millisecond).String() }
