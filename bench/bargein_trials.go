package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"riposte/audio"
	"riposte/audio/room"
	"riposte/caller"
)

// trials holds the trials of one part, in calls of some answers each.
type trials struct {
	*BargeIn
	part   Part
	rnd    *rand.Rand
	clips  []Clip
	coughs []interjection
	result *BargeInResult

	done   int   // Trials.
	order  []int // Of clips still to be said.
	calls  int
	call   *caller.Call // nil between calls.
	left   int          // Answers that the call may still have.
	answer int          // The one that is being given; -1 for none.

	began        time.Time // The call.
	sent, played audio.PCM // All of the call, where it is kept.
}

// errOver says that an answer ended before anything could be done over it.
var errOver = errors.New("the answer ended first")

// run holds them. The error is one that no trial could get around.
func (t *trials) run(ctx context.Context) error {
	defer t.hangUp()
	t.begin()
	// An answer that ends before the caller speaks is no trial; a service that gives no others must not be asked for ever.
	for attempt := 0; t.done < t.Times && attempt < 4*t.Times; attempt++ {
		if err := t.dial(ctx); err != nil {
			return err
		}
		err := t.ask(ctx)
		if err == nil {
			err = t.trial(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrCorpus):
			return err
		case errors.Is(err, errOver):
			t.answer = -1
		case err != nil:
			t.fail(err)
		}
		if t.left <= 0 || err != nil && !errors.Is(err, errOver) {
			if err := t.hangUp(); err != nil {
				return err
			}
		}
	}
	for t.done < t.Times {
		t.fail(fmt.Errorf("%w, each time", errOver))
	}
	return nil
}

// begin makes room for the part's result.
func (t *trials) begin() {
	t.answer = -1
	switch t.part {
	case Interruptions:
		t.result.Interruptions = &InterruptionsResult{}
	case Coughs:
		t.result.Coughs = &CoughsResult{Kinds: map[string]int{}, Held: map[string]int{}, False: map[string]int{}}
	case Echo:
		t.result.Echo = &EchoResult{}
	case OverEcho:
		t.result.OverEcho = &InterruptionsResult{}
	}
}

// fail counts a trial that could not be held.
func (t *trials) fail(err error) {
	switch t.part {
	case Interruptions:
		t.result.Interruptions.Failed++
	case Coughs:
		t.result.Coughs.Failed++
	case Echo:
		t.result.Echo.Failed++
	case OverEcho:
		t.result.OverEcho.Failed++
	}
	t.tell("", err.Error(), true)
}

// tell reports a trial that is done.
func (t *trials) tell(what, came string, bad bool) {
	if t.Each != nil {
		t.Each(Trial{Part: t.part, N: t.done, What: what, Came: came, Bad: bad})
	}
	t.done++
}

// echoes reports whether answers come back.
func (t *trials) echoes() bool { return t.part == Echo || t.part == OverEcho }

// dial begins a call unless there is one.
func (t *trials) dial(ctx context.Context) error {
	if t.call != nil {
		return nil
	}
	c := t.Caller
	t.left = oneCall
	if t.echoes() {
		t.left = echoCall
		walls := room.Room{
			Delay: []time.Duration{80, 150, 220, 300}[t.calls%4] * time.Millisecond, Gain: -12,
			RT60: 200*time.Millisecond + time.Duration(t.rnd.Int64N(int64(400*time.Millisecond))), Direct: -3 + 9*t.rnd.Float64(),
			Noise: -60, Seed: t.rnd.Uint64(),
		}
		c.Room = func(rate int) caller.Room { return walls.Open(rate) }
	}
	if t.Keep != nil {
		c.Tap = func(sent, played audio.PCM) {
			t.sent, t.played = append(t.sent, sent...), append(t.played, played...)
		}
	}
	call, err := c.Dial(ctx)
	for began := time.Now(); errors.Is(err, caller.ErrBusy) && time.Since(began) < longest; call, err = c.Dial(ctx) {
		t.result.Refused++
		select {
		case <-time.After(busy):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err != nil {
		return err
	}
	t.call, t.answer, t.began = call, -1, time.Now()
	t.calls++
	return nil
}

// hangUp ends the call, if there is one.
func (t *trials) hangUp() error {
	if t.call == nil {
		return nil
	}
	t.call.Close()
	t.result.late = append(t.result.late, t.call.Late()...)
	t.call = nil
	if t.Voice != nil {
		t.Voice.forget()
	}
	sent, played := t.sent, t.played
	t.sent, t.played = nil, nil
	if t.Keep == nil {
		return nil
	}
	return t.Keep(t.part, t.calls, sent, played, t.rate())
}

// rate returns that of the sound on the wire.
func (t *trials) rate() int { return t.format().Rate() }

func (t *trials) format() caller.Format {
	if t.Caller.Format == "" {
		return caller.PCM
	}
	return t.Caller.Format
}

// line draws the next thing to say. All clips are said before one is said again.
func (t *trials) next() (line, error) {
	if len(t.order) == 0 {
		t.order = t.rnd.Perm(len(t.clips))
	}
	c := t.clips[t.order[0]]
	t.order = t.order[1:]
	level := 0.0
	if t.echoes() {
		level = callerLevel
	}
	return t.line(c, level)
}

// wait is how long a service may take for anything.
func (t *trials) wait() time.Duration {
	if t.Caller.Wait == 0 {
		return 30 * time.Second
	}
	return t.Caller.Wait
}

// ask says something and waits until the answer to it is to be heard, unless one is already.
func (t *trials) ask(ctx context.Context) error {
	if t.answer >= 0 {
		return nil
	}
	l, err := t.next()
	if err != nil {
		return err
	}
	from, to, err := t.call.Talk(l.Speech)
	if err != nil {
		return err
	}
	m, err := t.answered(ctx, to, nil)
	if err != nil {
		err = fmt.Errorf("asked %q at %v: %w: %s", l.clip.Transcript, t.at(from), err, stuck(m, from))
	}
	return err
}

// stuck says what the service has made of what the caller said from a time on, for people.
func stuck(m caller.Moment, from time.Time) string {
	at := func(at time.Time) string { return fmt.Sprintf("%+.0f ms", ms(at.Sub(from))) }
	var s []string
	for _, o := range since(m.Onsets, from.Add(-early)) {
		s = append(s, "speech at "+at(o))
	}
	for _, x := range m.Said {
		if x.At.After(from) {
			s = append(s, fmt.Sprintf("a turn at %s, heard %q, taken back %t", at(x.At), x.Transcript, x.Deleted))
		}
	}
	for _, h := range m.Holds {
		if h.Until.IsZero() || h.Until.After(from) {
			s = append(s, fmt.Sprintf("held at %s until %s, taken %t", at(h.From), at(h.Until), h.Taken))
		}
	}
	for _, a := range m.Answers[max(0, len(m.Answers)-2):] {
		s = append(s, fmt.Sprintf("an answer from %s to %s, done %t %s %s, of %d samples %d played and %d thrown away: %q",
			at(a.Begins), at(a.Ends), a.Done, a.Status, a.Why, len(a.Sound), a.Played, a.Dropped, a.Text()))
	}
	return strings.Join(s, "; ")
}

// answered waits until an answer can be heard that begins after the caller has spoken, and notes which it is. Where over is not nil, it
// ends the waiting as well; then no answer is noted.
func (t *trials) answered(ctx context.Context, spoken time.Time, over func(caller.Moment) bool) (caller.Moment, error) {
	t.answer = -1
	m, err := t.call.Until(ctx, max(0, time.Until(spoken))+t.wait(), func(m caller.Moment) bool {
		n := len(m.Answers) - 1
		if n >= 0 {
			if at := m.Answers[n].Begins; at.After(spoken) && !at.After(m.Now) {
				t.answer = n
				return true
			}
		}
		return over != nil && over(m)
	})
	if t.answer >= 0 {
		t.left--
	}
	return m, err
}

// moment draws when to do something over the answer that is being given, and waits for it. The error is errOver when the answer ends
// before.
func (t *trials) moment(ctx context.Context, latest time.Duration) (caller.Moment, error) {
	after := earliest + time.Duration(t.rnd.Int64N(int64(latest-earliest)))
	n := t.answer
	m, err := t.call.Until(ctx, after+t.wait(), func(m caller.Moment) bool {
		a := m.Answers[n]
		return a.Over() || m.Now.Sub(a.Begins) >= after
	})
	if err == nil && m.Answers[n].Over() {
		err = errOver
	}
	return m, err
}

// trial holds one, over the answer that is being given.
func (t *trials) trial(ctx context.Context) error {
	switch t.part {
	case Interruptions:
		return t.interrupt(ctx, t.result.Interruptions)
	case OverEcho:
		return t.interrupt(ctx, t.result.OverEcho)
	case Coughs:
		return t.cough(ctx)
	}
	return t.listen(ctx)
}

// interrupt speaks over the answer, with what will be the next thing to answer.
func (t *trials) interrupt(ctx context.Context, r *InterruptionsResult) error {
	n := t.answer
	m, err := t.moment(ctx, latestMoment)
	if errors.Is(err, errOver) {
		if m.Answers[n].Cut() {
			r.SelfInterruptions++
			t.left = 0
			t.tell(fmt.Sprintf("an answer at %v: %q", t.at(m.Answers[n].Begins), m.Answers[n].Text()), "INTERRUPTED ITSELF", true)
			return nil
		}
		r.EndedFirst++
	}
	if err != nil {
		return err
	}
	l, err := t.next()
	if err != nil {
		return err
	}
	from, to, err := t.call.Talk(l.Speech)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%v into an answer, at %v: %q", from.Sub(m.Answers[n].Begins).Round(time.Millisecond), t.at(from), l.clip.Transcript)
	m, err = t.call.Until(ctx, longest, func(m caller.Moment) bool { return m.Answers[n].Over() && m.Now.After(to) })
	if err == nil {
		m, err = t.answered(ctx, to, func(m caller.Moment) bool {
			// It was spoken over to no effect, and nobody will answer it.
			a := m.Answers[n]
			return !a.Cut() && m.Now.After(latestOf(a.Ends, to).Add(quiet)) && len(since(m.Onsets, from)) == 0
		})
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", what, err, stuck(m, from))
	}
	came, bad, counted, err := r.add(newInterruption(l, from, to, m, n), t.Voice, t.rate())
	if counted && err == nil {
		t.tell(what, came, bad)
	}
	return err
}

// cough makes a sound over the answer, and listens to its end.
func (t *trials) cough(ctx context.Context) error {
	n := t.answer
	m, err := t.moment(ctx, latestMoment/2)
	if errors.Is(err, errOver) {
		t.result.Coughs.EndedFirst++
	}
	if err != nil {
		return err
	}
	x := t.coughs[t.done]
	from, to, err := t.call.Talk(caller.Speech{Sound: x.pcm, Rate: x.rate, Onset: firstVoiced(x.pcm, x.rate), Voiced: audio.LastVoiced(x.pcm, x.rate)})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s (%s) %v into an answer, at %v", x.kind, x.name, from.Sub(m.Answers[n].Begins).Round(time.Millisecond), t.at(from))
	asked := asks(m.Answers[n])
	if m, err = t.heardOut(ctx, n, to); err != nil {
		return fmt.Errorf("%s: %w: %s", what, err, stuck(m, from))
	}
	came, bad, turned, err := t.result.Coughs.add(disturbance{interjection: x, from: from, to: to, asked: asked, moment: m, answer: m.Answers[n]}, t.Voice, t.rate())
	t.tell(what, came, bad)
	if turned {
		t.left = 0 // it is answered, and the caller would talk into that
	}
	return err
}

// listen listens to the answer in silence.
func (t *trials) listen(ctx context.Context) error {
	n := t.answer
	m, err := t.heardOut(ctx, n, time.Now())
	if err != nil {
		return err
	}
	came, bad := t.result.Echo.add(m, m.Answers[n])
	t.tell(fmt.Sprintf("an answer of %v, at %v: %q", m.Answers[n].Ends.Sub(m.Answers[n].Begins).Round(time.Millisecond), t.at(m.Answers[n].Begins),
		m.Answers[n].Text()), came, bad)
	if bad {
		t.left = 0
	}
	return nil
}

// heardOut waits until the answer has been heard to its end, whichever that is, and nothing has followed it for a while.
func (t *trials) heardOut(ctx context.Context, n int, to time.Time) (caller.Moment, error) {
	t.answer = -1
	return t.call.Until(ctx, longest, func(m caller.Moment) bool {
		a := m.Answers[n]
		return a.Over() && m.Now.After(latestOf(a.Ends, to).Add(quiet))
	})
}

// at returns a time as one of the call.
func (t *trials) at(at time.Time) time.Duration { return at.Sub(t.began).Round(10 * time.Millisecond) }

// since returns those of some times that are not before another.
func since(times []time.Time, from time.Time) (out []time.Time) {
	for _, at := range times {
		if !at.Before(from) {
			out = append(out, at)
		}
	}
	return out
}

// latestOf returns the later of two times.
func latestOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
