package pipeline

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"riposte/scenario"
	"riposte/transport"
)

// expect is judged when it is known what happened.
func (p *play) expect(e scenario.Expect) {
	at, a := p.at, p.act
	ref := a.end
	if e.OfOnset {
		ref = a.onset
	}
	w := e.Event
	if w.Name == "end" {
		p.ends = true
	}
	p.deferred = append(p.deferred, func() {
		since, until, within := a.onset, time.Time{}, time.Duration(0)
		if e.After != nil {
			since = ref.Add(*e.After)
		}
		if e.Within != nil {
			within = *e.Within
			until = ref.Add(within)
		}
		switch {
		case w.Name == scenario.Quiet:
			p.quiet(at, ref, within)
		case e.No:
			if e, ok := w.Find(p.happened(), since, until); ok {
				p.wrong(at, "%v came %v after the act", w, e.At.Sub(ref))
			}
		default:
			p.came(at, w, ref, since, until)
		}
	})
}

// came checks that an event came between two times. ref is what times are told from.
func (p *play) came(at string, w scenario.Wanted, ref, since, until time.Time) {
	events := p.happened()
	if _, ok := w.Find(events, since, until); ok {
		return
	}
	var others []string
	for _, e := range events {
		if e.Name == w.Name && !e.At.Before(p.began) {
			others = append(others, strings.TrimSpace(fmt.Sprintf("%v %s %q", e.At.Sub(ref), strings.Join(e.Notes, " "), e.Text)))
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
