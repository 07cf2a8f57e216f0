package phone

import (
	"context"
	"time"

	"riposte/audio"
	"riposte/caller"
)

const (
	// rest is how long nothing must be heard behind an answer until it is taken to be over.
	rest = 1500 * time.Millisecond
	// settle is how long after the caller's last voiced sample an answer may still be withdrawn, since the service did not notice yet that the
	// caller went on.
	settle = 1500 * time.Millisecond
)

// Say plays s into the call in real time and returns what came of it once the answer has been heard to its end, as far as that can be heard: the
// transcript, the words and the report of the turn are not told on these wires. The error is, wrapped, caller.ErrNoVoice, caller.ErrNoAnswer,
// caller.ErrEnded, ErrClosed or the cause of ctx.
func (c *Call) Say(ctx context.Context, s caller.Speech) (caller.Turn, time.Time, error) {
	if s.Voiced == 0 {
		s.Voiced = audio.LastVoiced(s.Sound, s.Rate)
	}
	if s.Voiced == 0 {
		return caller.Turn{}, time.Time{}, caller.ErrNoVoice
	}
	if _, err := c.Quiet(ctx, apart); err != nil {
		return caller.Turn{}, time.Time{}, err
	}
	before := len(c.Now().Answers)
	_, spoke, err := c.Talk(s)
	if err != nil {
		return caller.Turn{}, spoke, err
	}
	m, err := c.Until(ctx, time.Until(spoke)+c.wait, func(m Moment) bool {
		_, ok := m.answer(before, spoke)
		return ok && m.Now.After(spoke)
	})
	if err == nil {
		m, err = c.Quiet(ctx, rest)
	}
	return m.turn(before, spoke), spoke, err
}

// Quiet waits until nothing has been heard for a time, and nothing is going to be of what has come.
func (c *Call) Quiet(ctx context.Context, d time.Duration) (Moment, error) {
	const longest = 10 * time.Minute // No answer is as long.
	return c.Until(ctx, longest, func(m Moment) bool {
		since, ok := m.Silent()
		return ok && m.Now.Sub(since) >= d
	})
}

// answer returns the first answer behind some that was heard after a time, and was not given up since the caller was not done yet.
func (m Moment) answer(before int, spoke time.Time) (n int, ok bool) {
	for i := before; i < len(m.Answers); i++ {
		a := m.Answers[i]
		if !a.Begins.IsZero() && a.Ends.After(spoke) && !(a.Cut && a.Begins.Before(spoke.Add(settle))) {
			return i, true
		}
	}
	return 0, false
}

// turn returns what came of what the caller said.
func (m Moment) turn(before int, spoke time.Time) caller.Turn {
	t := caller.Turn{Rate: m.Rate}
	n, ok := m.answer(before, spoke)
	if !ok {
		return t
	}
	first, last := m.Answers[n], m.Answers[len(m.Answers)-1]
	t.Cutoffs = n - before
	t.Audio = m.Sound[first.From:last.To]
	t.Gap, t.Audible = first.Begins.Sub(spoke), last.Ends.Sub(first.Begins)
	return t
}
