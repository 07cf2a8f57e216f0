package pipeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"riposte/transport"
)

// wanted is an event that a script speaks of.
type wanted struct {
	name  string
	text  *string
	notes []string
}

func (w wanted) String() string {
	s := strings.Join(append([]string{w.name}, w.notes...), " ")
	if w.text != nil {
		s += fmt.Sprintf(" %q", *w.text)
	}
	return s
}

// find returns the first such event between two times, both included; a zero until is the end of the call.
func (w wanted) find(events []event, since, until time.Time) (event, bool) {
	for _, e := range events {
		if w.fits(e) && !e.at.Before(since) && (until.IsZero() || !e.at.After(until)) {
			return e, true
		}
	}
	return event{}, false
}

func (w wanted) fits(e event) bool {
	return e.name == w.name && (w.text == nil || *w.text == e.text) &&
		!slices.ContainsFunc(w.notes, func(n string) bool { return !slices.Contains(e.notes, n) })
}

func known(event string) bool {
	_, ok := eventNotes[event]
	return ok
}

// timing are the words that say when.
var timing = []string{"within", "after", "for", "of"}

// wanted reads an event.
func (p *phrase) wanted() wanted {
	w := wanted{name: p.word()}
	notes := eventNotes[w.name]
	if p.err == nil && !known(w.name) {
		p.fail("%q is no event: known are %s", w.name, strings.Join(slices.Sorted(maps.Keys(eventNotes)), ", "))
	}
	for p.err == nil && len(p.tokens) > 0 && !slices.ContainsFunc(timing, p.sees) {
		if p.sees("text") {
			text := p.text()
			w.text = &text
			continue
		}
		note := p.word()
		if !slices.Contains(notes, note) {
			p.fail("%q says nothing of %s: known are %s", note, w.name, strings.Join(slices.Sorted(slices.Values(notes)), ", "))
		}
		w.notes = append(w.notes, note)
	}
	return w
}

// expectLine says what has to happen, or must not, after the act before it.
func expectLine(p *phrase) func(*play) {
	at := p.at
	no := p.takes("no")
	w := p.wanted()
	var after, within time.Duration
	late, limited, onset := false, false, false
	for p.err == nil && len(p.tokens) > 0 {
		switch {
		case !no && p.takes("after"):
			after, late = p.duration(), true
		case !no && p.takes("within"), no && p.takes("for"):
			within, limited = p.duration(), true
		case p.takes("of"):
			p.expects("onset")
			onset = true
		default:
			p.fail("%q says nothing of when", p.tokens[0].text)
		}
	}
	return func(y *play) {
		a := y.act
		ref := a.end
		if onset {
			ref = a.onset
		}
		if w.name == "end" {
			y.ends = true
		}
		y.deferred = append(y.deferred, func() {
			since, until := a.onset, time.Time{}
			if late {
				since = ref.Add(after)
			}
			if limited {
				until = ref.Add(within)
			}
			switch {
			case w.name == "quiet":
				y.quiet(at, ref, within)
			case no:
				if e, ok := w.find(y.happened(), since, until); ok {
					y.wrong(at, "%v came %v after the act", w, e.at.Sub(ref))
				}
			default:
				y.came(at, w, ref, since, until)
			}
		})
	}
}

// came checks that an event came between two times. ref is what times are told from.
func (p *play) came(at string, w wanted, ref, since, until time.Time) {
	events := p.happened()
	if _, ok := w.find(events, since, until); ok {
		return
	}
	var others []string
	for _, e := range events {
		if e.name == w.name && !e.at.Before(p.began) {
			others = append(others, strings.TrimSpace(fmt.Sprintf("%v %s %q", e.at.Sub(ref), strings.Join(e.notes, " "), e.text)))
		}
	}
	p.wrong(at, "%v did not come in its time; of its kind came: %s", w, cmp.Or(strings.Join(others, ", "), "nothing"))
}

// quiet checks that from some time after ref on no sound was sent of an answer that had begun by then, until it goes on.
func (p *play) quiet(at string, ref time.Time, within time.Duration) {
	p.phone.mu.Lock()
	defer p.phone.mu.Unlock()
	next := map[string]bool{} // Answers that began later.
	for _, s := range p.phone.out {
		if !s.at.After(ref) {
			continue
		}
		switch o := s.Outbound.(type) {
		case transport.ResponseStarted:
			next[o.Response.ID] = true
		case transport.Released:
			return
		case transport.Voice:
			if late := s.at.Sub(ref); late > within && !next[o.Response.ID] {
				p.wrong(at, "sound was sent %v after the act, want none after %v", late, within)
				return
			}
		}
	}
}
