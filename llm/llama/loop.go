package llama

import (
	"context"
	"slices"
	"sync/atomic"

	"riposte/llm"
)

// loop answers everybody. All of its fields but the channels and the counters belong to the goroutine that runs it.
type loop struct {
	machine machine
	words   vocabulary
	cache   *cache
	context int // Tokens that a conversation may have.
	batch   int // Tokens in a step while nobody is spoken to.
	chunk   int // Tokens of prompts in a step while somebody is.
	room    int // Requests that may wait for a slot.

	requests chan *sequence
	wake     chan struct{} // Something changed that the loop cannot see by itself. One buffered.
	done     chan struct{} // Closed when run has ended.

	running []*sequence // With a slot, or paused.
	waiting []*sequence // For a slot, in order.
	entries []entry     // The batch, kept between steps.
	parts   []part      // Whose entries these are.

	load atomic.Pointer[Load]
}

// Load is how much an engine has to do.
type Load struct {
	Running int // Answers being made, those that wait for their readers included.
	Paused  int // Those of them that wait for their readers.
	Waiting int // Requests that wait for one of the Conversations to become free.
}

func newLoop(m machine, v vocabulary, c *cache) *loop {
	l := &loop{machine: m, words: v, cache: c, requests: make(chan *sequence),
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.load.Store(&Load{})
	return l
}

// poke makes the loop look at its sequences again. It never blocks.
func (l *loop) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run works until ctx ends, and then ends every answer with ErrClosed.
func (l *loop) run(ctx context.Context) {
	defer close(l.done)
	for l.listen(ctx) {
		l.drop()
		l.resume()
		l.place()
		l.step(ctx)
		l.count()
	}
	for _, s := range slices.Concat(l.running, l.waiting) {
		s.end("", ErrClosed)
	}
	l.running, l.waiting = nil, nil
	l.count()
}

// listen takes what has been asked, and waits for it if there is nothing else to do. It returns false at the end.
func (l *loop) listen(ctx context.Context) bool {
	for {
		select {
		case s := <-l.requests:
			l.accept(s)
			continue
		default:
		}
		if l.busy() {
			return ctx.Err() == nil
		}
		select {
		case s := <-l.requests:
			l.accept(s)
		case <-l.wake:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		}
	}
}

// busy reports whether there is something to do: somebody to answer, or a slot for somebody who waits for one.
func (l *loop) busy() bool {
	if len(l.waiting) > 0 && l.cache.idle() {
		return true
	}
	return slices.ContainsFunc(l.running, func(s *sequence) bool {
		return !s.paused() || s.slot >= 0 && len(l.waiting) > 0
	})
}

func (l *loop) accept(s *sequence) {
	if len(l.waiting) >= l.room {
		s.end("", llm.ErrBusy)
		return
	}
	s.slot = -1
	l.waiting = append(l.waiting, s)
}

// drop ends what nobody waits for any more.
func (l *loop) drop() {
	gone := func(s *sequence) bool {
		if s.ctx.Err() == nil {
			return false
		}
		l.leave(s)
		s.end("", context.Cause(s.ctx))
		return true
	}
	l.running = slices.DeleteFunc(l.running, gone)
	l.waiting = slices.DeleteFunc(l.waiting, gone)
}

// leave gives up a sequence's slot, if it has one. What it decoded stays in the cache.
func (l *loop) leave(s *sequence) {
	if s.slot >= 0 {
		l.cache.release(s.slot)
		s.slot = -1
	}
}

// resume lets those go on whose readers have caught up. Who lost the slot meanwhile waits for another one, before
// those who have heard nothing yet.
func (l *loop) resume() {
	l.running = slices.DeleteFunc(l.running, func(s *sequence) bool {
		if !s.paused() || !s.resume() || s.slot >= 0 {
			return false
		}
		l.waiting = slices.Insert(l.waiting, 0, s)
		return true
	})
}

// place gives slots to those who wait, taking them from the paused if no other is idle.
func (l *loop) place() {
	for len(l.waiting) > 0 {
		s := l.waiting[0]
		p, ok := l.cache.take(s.conversation, s.tokens)
		if !ok {
			i := slices.IndexFunc(l.running, func(s *sequence) bool { return s.paused() && s.slot >= 0 })
			if i < 0 {
				return
			}
			l.leave(l.running[i])
			continue
		}
		var kept bool
		if p.from == p.slot {
			kept = l.machine.Keep(p.slot, p.keep)
		} else {
			kept = l.machine.Copy(p.from, p.slot, p.keep)
		}
		if !kept {
			l.cache.forget(p.slot)
			p.keep = 0
		}
		s.slot, s.decoded = p.slot, p.keep
		if s.picker == nil {
			s.picker = l.machine.Picker(s.sampling, s.form)
			s.usage.Prompt, s.usage.Cached = s.prompt, p.keep
		}
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.running = append(l.running, s)
	}
}

// count publishes the load.
func (l *loop) count() {
	n := Load{Running: len(l.running), Waiting: len(l.waiting)}
	for _, s := range l.running {
		if s.paused() {
			n.Paused++
		}
	}
	l.load.Store(&n)
}
