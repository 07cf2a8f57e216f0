package caller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"riposte/audio"
)

// exchange is the part of a ledger that belongs to one turn: what came since the caller began to say it.
type exchange struct {
	*ledger
	items0, responses0, accounts0 int           // How much there was before.
	spoke                         time.Time     // When the last voiced sample was captured.
	sent                          time.Time     // When the last sample was sent.
	voiced                        time.Duration // The same by the caller's sound: how much of it there was until then.
	wait                          time.Duration // How long the server may be silent before it is given up.
}

// newExchange begins a turn where the ledger ends now.
func newExchange(l *ledger, spoke, sent time.Time, voiced, wait time.Duration) exchange {
	return exchange{
		ledger: l, items0: len(l.items), responses0: len(l.responses), accounts0: len(l.accounts),
		spoke: spoke, sent: sent, voiced: voiced, wait: wait,
	}
}

// next says what the caller has to wait for at the time now: for an event, or for the time until, whichever comes first.
// The turn is over when ok is true, or err is not nil: ErrNoAnswer or ErrFailed, with what is known of why.
func (x *exchange) next(now time.Time) (until time.Time, ok bool, err error) {
	r := x.answer()
	if r != nil && r.status == "failed" {
		// An apology is heard out, and the server's account of it waited for.
		if until = x.complete(r, now); until.After(now) {
			return until, false, nil
		}
		return now, false, fmt.Errorf("%w: %s", ErrFailed, r.why)
	}
	if x.sent.After(now) { // Nothing is final before all is said.
		return x.sent, false, nil
	}
	if r != nil && x.final(r, now) {
		until = x.complete(r, now)
		return until, !until.After(now), nil
	}
	quiet := latest(x.spoke, x.sent, x.last, x.player.ends(now))
	until = quiet.Add(x.wait)
	if !until.After(now) {
		return until, false, fmt.Errorf("%w within %v: %s", ErrNoAnswer, x.wait, x.stuck(r))
	}
	// An answer that was decided on early becomes final by nothing but time.
	if end := x.spoke.Add(settle); end.After(now) && end.Before(until) {
		until = end
	}
	return until, false, nil
}

// answer returns the last answer of the turn, or nil.
func (x *exchange) answer() *response {
	if len(x.responses) == x.responses0 {
		return nil
	}
	return x.responses[len(x.responses)-1]
}

// final returns whether r is the answer to all that the caller said.
func (x *exchange) final(r *response, now time.Time) bool {
	if r.done.IsZero() || r.sounding || r.status == "cancelled" || x.speaking || r.answers < len(x.items) || x.goesOn(r) {
		return false
	}
	if len(x.items) > x.items0 && x.items[len(x.items)-1].committed.After(x.spoke) {
		return true
	}
	return !now.Before(x.spoke.Add(settle))
}

// goesOn returns whether the server says that r's turn is a part of the next.
func (x *exchange) goesOn(r *response) bool {
	a := x.account(r)
	return a != nil && a.goesOn
}

// settled returns whether the final answer is here, though it may not have been heard to its end.
func (x *exchange) settled(now time.Time) bool {
	r := x.answer()
	return r != nil && !x.sent.After(now) && x.final(r, now)
}

// complete returns when all that belongs to the final answer r is here, and it has been heard, as far as is known by now. That may be
// in the past.
func (x *exchange) complete(r *response, now time.Time) time.Time {
	until := latest(r.done, x.player.ends(now))
	if r.sounding {
		until = latest(until, x.last.Add(time.Second)) // more of it comes, as an event or as sound
	} else if !r.left.IsZero() {
		until = latest(until, r.left.Add(underway))
	}
	if x.reports && x.account(r) == nil {
		until = until.Add(lateReport)
	}
	for _, it := range x.items[x.items0:] {
		if !it.transcribed && !it.deleted {
			return latest(until, r.done.Add(lateWords))
		}
	}
	return until
}

// account returns the server's account of r, or nil.
func (x *exchange) account(r *response) *account {
	for i := range x.accounts[x.accounts0:] {
		if a := &x.accounts[x.accounts0+i]; a.response == r.id {
			return a
		}
	}
	return nil
}

// stuck says how far the turn has come, for people.
func (x *exchange) stuck(r *response) string {
	var s string
	switch {
	case r != nil && r.done.IsZero():
		s = fmt.Sprintf("the answer %s broke off after %v of sound", r.id, r.sound.Duration(x.format.Rate()).Round(time.Millisecond))
	case r != nil && r.status == "cancelled":
		s = "the last answer was cancelled, and no other began"
	case x.speaking:
		s = "the server still hears the caller speak"
	case len(x.items) > x.items0:
		s = "the server took the turn and began no answer"
	default:
		s = "the server heard no speech"
	}
	if x.fault != "" {
		s += "; its last error: " + x.fault
	}
	return s
}

// turn returns what came of the turn; what did not come is left empty.
func (x *exchange) turn() Turn {
	t := Turn{Rate: x.format.Rate(), Transcript: x.transcript()}
	r := x.answer()
	if r == nil {
		return t
	}
	t.Answer, t.Audio = strings.TrimSpace(r.words.String()), r.sound
	if a := x.account(r); a != nil {
		t.Report = &a.report
		if a.heard != "" {
			t.Answer = a.heard
		}
	}
	t.Cutoffs = len(x.responses) - x.responses0 - 1
	if n := len(x.items); n > x.items0 && x.items[n-1].stopped > 0 {
		t.Silence = x.items[n-1].stopped - x.voiced
	}
	if from, to, ok := audio.Audible(r.sound, t.Rate); ok {
		t.Gap = x.player.plays(r, from).Sub(x.spoke)
		t.Audible = audio.Duration(to-from, t.Rate)
	}
	return t
}

// transcript joins what the server heard: item by item, or as its accounts tell. A server that recognises two items anew as
// one deletes the first.
func (x *exchange) transcript() string {
	var words []string
	for _, it := range x.items[x.items0:] {
		if !it.deleted {
			words = append(words, it.transcript)
		}
	}
	if s := strings.Join(strings.Fields(strings.Join(words, " ")), " "); s != "" {
		return s
	}
	words = nil
	for _, a := range x.accounts[x.accounts0:] {
		if !slices.ContainsFunc(a.items, x.removed) {
			words = append(words, a.said)
		}
	}
	return strings.Join(words, " ")
}

// latest returns the last of some times.
func latest(times ...time.Time) time.Time {
	var out time.Time
	for _, t := range times {
		if t.After(out) {
			out = t
		}
	}
	return out
}
