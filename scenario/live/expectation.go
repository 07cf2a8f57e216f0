package live

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"riposte/scenario"
)

// of returns how much later than a script says an event may come.
func (s Slack) of(w scenario.Wanted) time.Duration {
	switch w.Name {
	case "held", scenario.Quiet, "committed", "cleared", "added", "truncated", "fault":
		return s.Ears
	case "end":
		return s.End
	}
	return s.Words
}

// expect is judged when it is known what happened.
func (p *play) expect(e scenario.Expect) {
	at, a, w := p.at, p.act, e.Event
	ref := a.end
	if e.OfOnset {
		ref = a.onset
	}
	if w.Name == "end" && !p.hungUp {
		p.ends = true
	}
	p.deferred = append(p.deferred, func() {
		since, until := a.onset, time.Time{}
		if e.After != nil {
			since = ref.Add(*e.After - p.slack.Early)
		}
		switch {
		case e.Within == nil:
		case e.No:
			until = ref.Add(*e.Within - p.slack.Early)
		default:
			until = ref.Add(*e.Within + p.slack.of(w))
		}
		switch {
		case w.Name == scenario.Quiet:
			p.quiet(at, ref, until)
		case e.No:
			if e, ok := p.find(w, since, until); ok {
				p.wrong(at, "%v came %s after the act, with %q", w, ms(e.At.Sub(ref)), e.Text)
			}
		default:
			p.came(at, w, ref, since, until)
		}
	})
}

// came checks that an event came between two times. ref is what times are told from.
func (p *play) came(at string, w scenario.Wanted, ref, since, until time.Time) {
	if _, ok := p.find(w, since, until); ok {
		return
	}
	var others []string
	for _, e := range p.happened() {
		if e.Name == w.Name && !e.At.Before(p.began) {
			others = append(others, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", ms(e.At.Sub(ref)), strings.Join(e.Notes, " "), e.Text)), " "))
		}
	}
	by := ""
	if !until.IsZero() {
		by = " by " + ms(until.Sub(ref))
	}
	p.wrong(at, "%v did not come%s; of its kind came: %s", w, by, cmp.Or(strings.Join(others, ", "), "nothing"))
}

// quiet checks that from a time on no sound came of an answer that had begun before ref, until it goes on.
func (p *play) quiet(at string, ref, from time.Time) {
	if from.IsZero() {
		from = ref.Add(p.slack.Ears)
	}
	p.line.mu.Lock()
	defer p.line.mu.Unlock()
	next := map[string]bool{} // Answers that began later.
	for _, t := range p.line.told {
		if !t.at.After(ref) {
			continue
		}
		switch t.Type {
		case "response.created":
			next[t.Response.ID] = true
		case "riposte.release":
			return
		case "response.output_audio.delta":
			if t.at.After(from) && !next[t.ResponseID] {
				p.wrong(at, "sound came %s after the act, want none after %s", ms(t.at.Sub(ref)), ms(from.Sub(ref)))
				return
			}
		}
	}
}
