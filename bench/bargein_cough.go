package bench

import (
	"fmt"
	"strings"
	"time"

	"riposte/audio"
	"riposte/caller"
)

// disturbance is what happened when the caller made a sound over an answer without wanting the word.
type disturbance struct {
	interjection
	from, to time.Time     // When its first loud sample is captured, and when the last one has been.
	asked    bool          // The answer had just asked something.
	moment   caller.Moment // What is known when all is over.
	answer   caller.Answer // As it is then.
}

// asks reports whether the text of what is being played of an answer, or was before that, ends in a question.
func asks(a caller.Answer) bool {
	var text string
	for _, c := range a.Clauses {
		if c.From <= a.Played {
			text = c.Text
		}
	}
	return strings.HasSuffix(strings.TrimSpace(text), "?")
}

// add counts a disturbance. rate is that of the answer's sound. turned reports that the service took it for a turn.
func (r *CoughsResult) add(x disturbance, voice *Overheard, rate int) (came string, bad, turned bool, err error) {
	r.Times++
	r.Kinds[x.kind]++
	r.Starved += starved(x.answer)
	soonest := x.from.Add(-early)
	held := false
	var paused time.Duration
	var resumed time.Time
	for _, h := range x.moment.Holds {
		if h.From.Before(soonest) {
			continue
		}
		held = true
		if !h.Until.IsZero() && !h.Taken {
			paused += h.Until.Sub(h.From)
			resumed = h.Until
		}
	}
	if held {
		r.Held[x.kind]++
		came = "held"
	}
	for _, at := range x.moment.Onsets {
		turned = turned || !at.Before(soonest)
	}
	var heard []string
	for _, s := range x.moment.Said {
		if s.At.After(x.from) {
			heard = append(heard, s.Transcript)
		}
	}
	switch {
	case x.answer.Cut() && x.asked:
		r.Answered++
		return came + " and taken for an answer to a question", false, true, nil
	case x.answer.Cut():
		r.False[x.kind]++
		return fmt.Sprintf("%s and TAKEN for an interruption: %q", came, strings.Join(heard, " ")), true, true, nil
	case turned:
		r.Turns++
		came += fmt.Sprintf(", taken for a turn behind the answer: %q", strings.Join(heard, " "))
	}
	if !resumed.IsZero() {
		after := max(0, resumed.Sub(x.to))
		r.resumed, r.paused = append(r.resumed, after), append(r.paused, paused)
		came += fmt.Sprintf(" for %.0f ms, until %.0f ms after the sound", ms(paused), ms(after))
	}
	lost, text, at, err := r.compare(x.answer, voice, rate)
	if lost > 0 {
		came += fmt.Sprintf(", %d samples LOST, the first of them %v into %q", lost, at.Round(time.Millisecond), text)
	}
	return came, lost > 0, turned, err
}

// compare looks for sound that did not come of an answer that was heard to its end. It returns how many samples that is, and where in
// which clause the first of them is.
func (r *CoughsResult) compare(a caller.Answer, voice *Overheard, rate int) (lost int, text string, at time.Duration, err error) {
	for i, c := range a.Clauses {
		end := len(a.Sound)
		if i+1 < len(a.Clauses) {
			end = a.Clauses[i+1].From
		}
		var l likeness
		if voice != nil {
			spoken, err := voice.as(c.Text, rate)
			if err != nil {
				return lost, text, at, err
			}
			l = compare(a.Sound[c.From:end], spoken)
		}
		if !l.any {
			r.Uncompared++
			continue
		}
		r.Compared++
		if lost == 0 && l.lost > 0 {
			text, at = c.Text, audio.Duration(l.from, rate)
		}
		lost += l.lost
	}
	r.LostSamples += lost
	return lost, text, at, nil
}

// add counts an answer that the caller listened to in silence, while it came back to the microphone.
func (r *EchoResult) add(m caller.Moment, a caller.Answer) (came string, bad bool) {
	r.Answers++
	r.Starved += starved(a)
	n, total := earlyHolds(m, a, m.Now)
	r.SelfHolds += n
	if n > 0 {
		r.held = append(r.held, total)
		came = fmt.Sprintf("held %d times, %.0f ms in all", n, ms(total))
	}
	if a.Cut() {
		r.SelfInterruptions++
		return came + " INTERRUPTED ITSELF", true
	}
	for _, at := range m.Onsets {
		if at.After(a.Begins) {
			r.SelfTurns++
			return came + " TOOK ITS OWN END for a turn", true
		}
	}
	return came, false
}
