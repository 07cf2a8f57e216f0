package caller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"riposte/audio"
)

// Moment is what a caller knows of a call at one time. It shares no memory that changes.
type Moment struct {
	Now     time.Time
	Answers []Answer    // In their order.
	Onsets  []time.Time // When the server said that it hears the caller.
	Said    []Said      // What the server took for turns of the caller, in their order.
	Holds   []Hold      // When the server asked to pause.
}

// Answer is what is known of an answer.
type Answer struct {
	ID      string
	Clauses []Clause
	Sound   audio.PCM     // All that has come.
	Played  int           // Samples of it that have been played,
	Dropped int           // and that were thrown away, since the caller was to be heard.
	Begins  time.Time     // When its first audible sample is played, or would have been; zero while nothing audible has come.
	Ends    time.Time     // When the last sample that is not thrown away has been played; zero before there is any sound.
	Starved time.Duration // For how long in all nothing was played in the middle of it, since nothing had come.
	Done    bool          // The server says that it is at its end,
	Status  string        // in this way,
	Why     string        // for this reason.

	// Of the server's own account.
	Report    *Report // nil before it came.
	Heard     string  // The words that the caller heard.
	Continued bool    // The caller went on with the turn before: the answer counts as not heard.
}

// Cut reports whether the answer was interrupted: by its own status, or since sound of it was thrown away.
func (a Answer) Cut() bool { return a.Status == "cancelled" || a.Dropped > 0 }

// Over reports whether the answer is at its end and all of it has been heard or thrown away.
func (a Answer) Over() bool { return a.Done && a.Played+a.Dropped == len(a.Sound) }

// Clause is a part of an answer's text and the sample of its sound with which it came.
type Clause struct {
	Text string
	From int
}

// Said is a turn of the caller as the server heard it.
type Said struct {
	At         time.Time // When it was told.
	Transcript string    // Empty when the server heard no words, or has not told.
	Told       bool      // The transcript has come, or will never come.
	Deleted    bool      // A later turn takes it in.
}

// Now returns what is known of the call.
func (c *Call) Now() Moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ledger.moment(time.Now())
}

// Until waits until the call is as wanted and returns it as it is then. wanted is asked at each event of the server and at each
// frame that the caller sends. The error is ErrNoAnswer, wrapped, after d, or why the call or ctx ended.
func (c *Call) Until(ctx context.Context, d time.Duration, wanted func(Moment) bool) (Moment, error) {
	deadline := time.Now().Add(d)
	for {
		c.mu.Lock()
		m, changed, over := c.ledger.moment(time.Now()), c.changed, c.err
		c.mu.Unlock()
		switch {
		case wanted(m):
			return m, nil
		case over != nil:
			return m, over
		case !m.Now.Before(deadline):
			return m, fmt.Errorf("%w within %v", ErrNoAnswer, d)
		}
		if err := sleep(ctx, changed, deadline.Sub(m.Now)); err != nil {
			return m, err
		}
	}
}

// moment returns what is known by now.
func (l *ledger) moment(now time.Time) Moment {
	m := Moment{Now: now, Onsets: slices.Clone(l.onsets), Holds: slices.Clone(l.player.holds)}
	for _, r := range l.responses {
		m.Answers = append(m.Answers, l.answer(r, now))
	}
	for _, it := range l.items {
		m.Said = append(m.Said, Said{At: it.committed, Transcript: it.transcript, Told: it.transcribed, Deleted: it.deleted})
	}
	return m
}

// answer returns what is known of r by now.
func (l *ledger) answer(r *response, now time.Time) Answer {
	a := Answer{
		ID: r.id, Clauses: slices.Clone(r.clauses), Sound: r.sound[:len(r.sound):len(r.sound)], Played: l.player.played(r, now),
		Done: !r.done.IsZero() && !r.onItsWay(now), Status: r.status, Why: r.why,
	}
	if from, ok := r.audible(l.format.Rate()); ok {
		a.Begins = l.player.plays(r, from)
	}
	a.Dropped = len(r.sound)
	for _, s := range r.stretches {
		a.Dropped -= s.n
		if s.n == 0 {
			continue
		}
		if begins := l.player.time(s.at); !a.Ends.IsZero() && begins.After(a.Ends) {
			a.Starved += begins.Sub(a.Ends) - l.player.paused(a.Ends, begins)
		}
		a.Ends = l.player.time(s.at + int64(s.n))
	}
	for i := range l.accounts {
		if acc := &l.accounts[i]; acc.response == r.id {
			a.Report, a.Heard, a.Continued = &acc.report, acc.heard, acc.goesOn
		}
	}
	return a
}

// audible returns the first audible sample of the answer.
func (r *response) audible(rate int) (sample int, ok bool) {
	if r.begins == 0 { // Not looked for again once it is found: this is asked fifty times a second.
		at, ok := audio.FirstAudible(r.sound, rate)
		if !ok {
			return 0, false
		}
		r.begins = at + 1
	}
	return r.begins - 1, true
}

// Text returns the text of the clauses that have come.
func (a Answer) Text() string {
	var b strings.Builder
	for _, c := range a.Clauses {
		b.WriteString(c.Text)
	}
	return b.String()
}
