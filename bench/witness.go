package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"riposte/budget/trace"
	"riposte/caller"
)

// Witness keeps what a service in this process tells of its calls and turns: on telephone wires nothing of it comes to the caller. The zero value
// is ready.
type Witness struct {
	mu      sync.Mutex
	calls   []trace.Call
	turns   []trace.Turn
	changed chan struct{} // Closed, and replaced, whenever something is told; nil while nobody waits.
}

var _ trace.Sink = (*Witness)(nil)

// CallBegan keeps that a call began.
func (w *Witness) CallBegan(c trace.Call) { w.note(func() { w.calls = append(w.calls, c) }) }

// CallEnded keeps nothing.
func (w *Witness) CallEnded(trace.Call) {}

// TurnEnded keeps a turn.
func (w *Witness) TurnEnded(t trace.Turn) { w.note(func() { w.turns = append(w.turns, t) }) }

// TurnChanged keeps what came later of a turn.
func (w *Witness) TurnChanged(t trace.Turn) {
	w.note(func() {
		for i := range w.turns {
			if w.turns[i].ID == t.ID {
				w.turns[i] = t
			}
		}
	})
}

// note changes what is kept, and wakes those who wait.
func (w *Witness) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// await waits for as long as d until found says that something is there.
func (w *Witness) await(ctx context.Context, d time.Duration, found func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("the service has not told of it within %v", d))
	defer cancel()
	for {
		w.mu.Lock()
		ok := found()
		if w.changed == nil {
			w.changed = make(chan struct{})
		}
		changed := w.changed
		w.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// call returns the service's name for the call that the far side calls so.
func (w *Witness) call(ctx context.Context, line string) (id string, err error) {
	err = w.await(ctx, setup, func() bool {
		for _, c := range w.calls {
			if c.Record != nil && c.Record.Line == line {
				id = c.ID
				return true
			}
		}
		return false
	})
	return id, err
}

const (
	// setup is how long a service may take to tell of a call that it has taken.
	setup = 5 * time.Second
	// astray is how far the service's account of when a caller fell silent may lie from the caller's own, at most.
	astray = time.Second
)

// turns of a call in which somebody fell silent between two times, give or take astray. w.mu is held.
func (w *Witness) between(call string, from, to time.Time) (all []trace.Turn) {
	for _, t := range w.turns {
		if at := t.Report.SpeechEnd; t.Call == call && t.Origin == trace.Aloud && at.After(from) && at.Before(to.Add(astray)) {
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b trace.Turn) int { return a.Number - b.Number })
	return all
}

// account waits for the turns that somebody's speech made, from its beginning to its end. The last of them is the one that ends with it.
func (w *Witness) account(ctx context.Context, call string, from, to time.Time, d time.Duration) (all []trace.Turn, err error) {
	err = w.await(ctx, d, func() bool {
		all = w.between(call, from, to)
		return len(all) > 0 && all[len(all)-1].Report.SpeechEnd.After(to.Add(-astray))
	})
	return all, err
}

// tell adds to what a caller knows of a turn what the service tells of it.
func tell(t *caller.Turn, told []trace.Turn) {
	last := told[len(told)-1]
	var words []string
	for _, x := range told {
		if x.ID == last.ID || !happened(x, trace.KindContinued) {
			words = append(words, x.Said)
		}
	}
	t.Transcript, t.Answer = strings.Join(words, " "), last.Answer
	r := caller.Report{
		Total: last.Report.Total, Verdict: string(last.Report.Verdict), Blame: string(last.Report.Blame), Stages: map[string]time.Duration{},
		Guesses: caller.Guesses(last.Guesses),
	}
	for stage, took := range last.Report.Stages {
		r.Stages[string(stage)] = took
	}
	t.Report = &r
}

// happened reports whether there is an event of a kind in a turn.
func happened(t trace.Turn, kind string) bool {
	return slices.ContainsFunc(t.Events, func(e trace.Event) bool { return e.Kind == kind })
}
