package phone

import (
	"fmt"
	"slices"
	"time"

	"riposte/budget"
	"riposte/transport"
)

// mark is something sent between two frames that the far side sends back when it comes to it.
type mark struct {
	name   string
	sent   time.Time     // When it left,
	due    time.Time     // when the far side is to come to it by the schedule,
	at     time.Duration // and its place in the call's sound.
	idle   bool          // The far side had nothing in hand before it: it comes back at once.
	first  *first        // The first audible sound of an answer, which lies shortly before it; nil for none.
	begins int64         // Where that begins, in bytes of what was queued.
	since  time.Duration // How long before the mark that is.
}

// first is the first audible sound of an answer.
type first struct {
	response string
	left     time.Time     // When the pipeline sent it,
	heard    time.Time     // and when the far side has played it, the way back included; zero before.
	gap      time.Duration // The turn's, as the service has measured it,
	judged   bool          // if it has.
	told     bool
}

// mostFirsts is of how many answers that is remembered, and mostMarks how many marks may be on their way.
const (
	mostFirsts = 4
	mostMarks  = 256
)

// marks are those that are on their way, and what was learned of those that have come back.
type marks struct {
	name    string // What all names begin with.
	count   int
	pending []*mark
	placed  time.Duration // Where the last one was put in the call's sound.
	lag     lag
	firsts  []*first
	cut     *cutting // The last cut, until it is known what came of it.
}

// cutting is a moment at which the far side was told to throw away what it had in hand.
type cutting struct {
	at       time.Time
	after    string  // The mark that was sent behind that.
	pending  []*mark // What was on its way then, and has not come back,
	back     []*mark // what has, and when.
	times    []time.Time
	passages []*passage    // Of what was in hand.
	heard    time.Duration // Up to where it is said to have been heard.
}

// next makes a mark.
func (m *marks) next() *mark {
	m.count++
	return &mark{name: fmt.Sprintf("%s-%d", m.name, m.count)}
}

// send notes that a mark leaves now.
func (m *marks) send(k *mark, p *pace, now time.Time) {
	k.sent, k.due, k.at = now, p.next, p.sent
	k.idle = len(m.pending) == 0 && m.cut == nil && m.placed == p.sent && p.hand(now) == 0
	if k.first != nil {
		k.since = p.format.length(int(p.taken - k.begins))
	}
	if k.idle {
		k.due = now
	}
	m.placed = p.sent
	m.pending = append(m.pending, k)
	if n := len(m.pending); n > mostMarks {
		m.pending = slices.Delete(m.pending, 0, n-mostMarks)
	}
}

// shift notes that the far side has paused for a while.
func (m *marks) shift(since time.Time, paused time.Duration) {
	for _, k := range m.pending {
		if paused > 0 && k.due.After(since) {
			k.due = k.due.Add(paused)
		}
	}
}

// lag is how far a far side is behind the schedule.
type lag struct {
	trips  recent // There and back: of marks that came back at once.
	behind recent // Of marks that lay behind sound, which is later by what that waits there.
}

// late returns for how long sound waits at the far side before it is played, beyond what is sent ahead. How long the ways are makes no
// difference to what was heard, since word to stop takes as long as sound.
func (l *lag) late() time.Duration {
	trip, ok := l.trips.least()
	behind, known := l.behind.least()
	if !ok || !known {
		return 0
	}
	return max(0, behind-trip)
}

// recent are the last of some times. Networks only ever add to them, so the least is nearest to the truth.
type recent struct {
	all [6]time.Duration
	n   int
}

func (r *recent) add(d time.Duration) {
	r.all[r.n%len(r.all)] = d
	r.n++
}

func (r *recent) least() (time.Duration, bool) {
	if r.n == 0 {
		return 0, false
	}
	return slices.Min(r.all[:min(r.n, len(r.all))]), true
}

// marked takes a mark that has come back.
func (c *call) marked(name string, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	named := func(k *mark) bool { return k.name == name }
	if i := slices.IndexFunc(c.marks.pending, named); i >= 0 {
		k := c.marks.pending[i]
		c.marks.pending = slices.Delete(c.marks.pending, 0, i+1)
		c.came(k, now)
		return
	}
	cut := c.marks.cut
	if cut == nil {
		c.counts.unknown.Add(1)
		return
	}
	if name == cut.after {
		c.marks.cut = nil
		c.settle(cut, now)
		return
	}
	if i := slices.IndexFunc(cut.pending, named); i >= 0 {
		cut.back, cut.times = append(cut.back, cut.pending[i]), append(cut.times, now)
		cut.pending = slices.Delete(cut.pending, i, i+1)
		return
	}
	c.counts.unknown.Add(1)
}

// came learns from a mark to which the far side has come. mu is held.
func (c *call) came(k *mark, now time.Time) {
	if k.idle {
		c.marks.lag.trips.add(now.Sub(k.sent))
		return
	}
	c.marks.lag.behind.add(now.Sub(k.due))
	if k.first != nil && k.first.heard.IsZero() {
		k.first.heard = now.Add(-k.since)
		c.tellEar(k.first)
	}
}

// cut throws away what has not been heard of answers, here and at the far side, and tells the pipeline how much was.
func (c *call) cut() error {
	c.writing.Lock()
	defer c.writing.Unlock()
	now := time.Now()
	c.mu.Lock()
	held := !c.pace.held.IsZero()
	if c.pace.waiting() == 0 && c.pace.hand(now) == 0 && len(c.marks.pending) == 0 && !held {
		c.answer.open = false
		c.mu.Unlock()
		return nil
	}
	cut := &cutting{at: now, passages: c.answer.passages, pending: c.marks.pending, heard: c.pace.sent}
	if c.clearer != nil {
		cut.heard = c.pace.played(now.Add(-c.marks.lag.late()))
	}
	c.tellHeard(cut.passages, cut.heard)
	c.answer = answer{response: c.answer.response, gone: c.answer.response, coded: c.answer.coded}
	c.pace.cut(now, c.clearer != nil)
	c.marks.pending = nil
	var after *mark
	if c.clearer != nil && c.marker != nil {
		after = c.marks.next()
		cut.after, c.marks.cut, c.marks.placed = after.name, cut, c.pace.sent
	}
	c.mu.Unlock()
	poke(c.news)
	if c.clearer != nil {
		if err := c.wrote(c.clearer.Clear()); err != nil {
			return err
		}
	}
	if after != nil {
		if err := c.wrote(c.marker.Mark(after.name)); err != nil {
			return err
		}
	}
	if held && c.pauser != nil {
		return c.wrote(c.pauser.Resume())
	}
	return nil
}

// together is how close to each other marks come back that a far side sends at once.
const together = 10 * time.Millisecond

// settle looks at what was heard before a cut again, now that the mark behind it has come back: so it is known how long the way is, and which
// of the others came back because they were heard. mu is held.
func (c *call) settle(cut *cutting, now time.Time) {
	c.marks.lag.trips.add(now.Sub(cut.at))
	var least time.Duration
	for i, k := range cut.back {
		// Nobody comes to a mark before it is due, however unevenly marks come back.
		if now.Sub(cut.times[i]) > together && !k.due.Add(c.marks.lag.late()).After(cut.at.Add(together)) {
			c.came(k, cut.times[i])
			least = k.at
		}
	}
	heard := max(least, c.pace.played(cut.at.Add(-c.marks.lag.late())))
	if d := heard - cut.heard; d > together || d < -together {
		c.tellHeard(cut.passages, heard)
	}
}

// tellHeard tells the pipeline how much was heard of answers that were cut, up to a place in the call's sound. mu is held.
func (c *call) tellHeard(passages []*passage, until time.Duration) {
	for _, p := range slices.Backward(passages) { // the last word is on where the cut is
		if heard := p.heard(until); heard < p.queued {
			c.says(transport.Truncate{Item: p.item, Heard: heard})
		}
	}
}

// reported takes what the service has measured of a turn.
func (c *call) reported(out transport.TurnReport) {
	gap, ok := out.Report.Marks[budget.FirstAudible]
	if !ok || out.Report.Verdict == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.marks.firsts {
		if f.response == out.Response {
			f.gap, f.judged = gap, true
			c.tellEar(f)
		}
	}
}

// tellEar tells the pipeline when the first of an answer was heard, once everything is known: what was measured here up to the leaving of it, and
// from there on until word came back. The way back counts as the way that the caller's own voice took. mu is held.
func (c *call) tellEar(f *first) {
	if !f.judged || f.heard.IsZero() || f.told {
		return
	}
	f.told = true
	detail := ""
	if trip, ok := c.marks.lag.trips.least(); ok {
		detail = fmt.Sprintf("round trip %d ms, buffered for %d ms", trip.Milliseconds(), c.marks.lag.late().Milliseconds())
	}
	c.says(transport.Heard{Response: f.response, MouthToEar: f.gap + f.heard.Sub(f.left), Detail: detail})
}
