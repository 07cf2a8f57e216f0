package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Event is something that happened in a call, as scripts name it.
type Event struct {
	At    time.Time
	Name  string
	Text  string
	Notes []string // What else can be said of it.
}

// Notes are the events that there are, with what can be said of each.
var Notes = map[string][]string{
	"speech": nil, "stopped": nil, "committed": nil, "removed": nil, "hypothesis": nil, "turn": nil, "unheard": nil,
	"held": nil, "released": nil, "answer": nil, "call": nil, "words": nil, "sound": nil, "timeout": nil, "cleared": nil, "added": nil, "truncated": nil,
	"result":  {"ok", "failed", "wrong_arguments", "unavailable", "timed_out", "cancelled"},
	"done":    {"completed", "cancelled", "incomplete", "failed"},
	"report":  {"met", "masked", "over", "failed", "continued"},
	"guesses": {"0", "1", "2", "3", "stood", "fell"},
	"fault":   {"commit_empty", "buffer_full", "too_many_turns", "active_response", "not_active", "invalid_value", "invalid_item_id"},
	"end":     {"hung-up", "shutdown", "slow", "otherwise"},
	Quiet:     nil,
}

// Quiet is no event: it says that nothing more is sent of an answer.
const Quiet = "quiet"

func known(event string) bool {
	_, ok := Notes[event]
	return ok
}

// Wanted is an event that a script speaks of.
type Wanted struct {
	Name  string
	Text  *string // Nil for any.
	Notes []string
}

func (w Wanted) String() string {
	s := strings.Join(append([]string{w.Name}, w.Notes...), " ")
	if w.Text != nil {
		s += fmt.Sprintf(" %q", *w.Text)
	}
	return s
}

// Find returns the first such event between two times, both included; a zero until is the end of the call.
func (w Wanted) Find(events []Event, since, until time.Time) (Event, bool) {
	for _, e := range events {
		if w.Fits(e) && !e.At.Before(since) && (until.IsZero() || !e.At.After(until)) {
			return e, true
		}
	}
	return Event{}, false
}

// Fits reports whether it is such an event.
func (w Wanted) Fits(e Event) bool {
	return e.Name == w.Name && (w.Text == nil || *w.Text == e.Text) &&
		!slices.ContainsFunc(w.Notes, func(n string) bool { return !slices.Contains(e.Notes, n) })
}

// timing are the words that say when.
var timing = []string{"within", "after", "for", "of"}

// wanted reads an event.
func (p *phrase) wanted() Wanted {
	w := Wanted{Name: p.word()}
	notes := Notes[w.Name]
	if p.err == nil && !known(w.Name) {
		p.fail("%q is no event: known are %s", w.Name, strings.Join(slices.Sorted(maps.Keys(Notes)), ", "))
	}
	for p.err == nil && len(p.tokens) > 0 && !slices.ContainsFunc(timing, p.sees) {
		if p.sees("text") {
			text := p.text()
			w.Text = &text
			continue
		}
		note := p.word()
		if !slices.Contains(notes, note) {
			p.fail("%q says nothing of %s: known are %s", note, w.Name, strings.Join(slices.Sorted(slices.Values(notes)), ", "))
		}
		w.Notes = append(w.Notes, note)
	}
	return w
}
