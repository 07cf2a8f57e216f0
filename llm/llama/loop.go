package llama

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"riposte/budget"
	"riposte/llm"
)

// loop answers everybody. All of its fields but the channels, the stage and the counters belong to the goroutine that
// runs it.
type loop struct {
	machine  machine
	words    vocabulary
	cache    *cache
	shelf    shelf
	executor *budget.Executor
	threads  int
	context  int // Tokens that a conversation may have.
	batch    int // Tokens in a step while nobody is spoken to.
	chunk    int // Tokens of prompts in a step while somebody is.
	room     int // Requests that may wait for a slot.

	requests chan *sequence
	wake     chan struct{} // Something changed that the loop cannot see by itself. One buffered.
	done     chan struct{} // Closed when run has ended.
	stage    stage

	running []*sequence // With a slot, or paused.
	waiting []*sequence // For a slot, in order.
	entries []entry     // The batch, kept between steps.
	parts   []part      // Whose entries these are.

	over over // Conversations that have ended since the loop last looked.
	load atomic.Pointer[Load]
	said atomic.Int64 // Tokens of all answers.
}

// Load is how much an engine has to do.
type Load struct {
	Running int // Answers being made and texts being read, those that wait for their readers included.
	Paused  int // Those of them that wait for their readers.
	Waiting int // Requests that wait for one of the Conversations to become free.
}

// over are conversations that have ended. It is safe for use by many goroutines.
type over struct {
	mu    sync.Mutex
	names []string
}

func (o *over) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

// take returns them, once.
func (o *over) take() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := o.names
	o.names = nil
	return names
}

func newLoop(m machine, v vocabulary, c *cache) *loop {
	l := &loop{machine: m, words: v, cache: c, threads: 1, requests: make(chan *sequence),
		wake: make(chan struct{}, 1), done: make(chan struct{})}
	l.load.Store(&Load{})
	return l
}

// poke makes the loop look at its sequences again. It never blocks.
func (l *loop) poke() {
	l.stage.look()
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
		l.forget()
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

// accept takes a request. What is still being read of the same conversation is given up: the request has the same words,
// or better ones. Where too many wait, those for whom nobody waits go first.
func (l *loop) accept(s *sequence) {
	if s.conversation != "" {
		l.give(func(r *sequence) error {
			if r.reading && r.conversation == s.conversation {
				return budget.ErrLate
			}
			return nil
		})
	}
	if len(l.waiting) >= l.room {
		i := slices.IndexFunc(l.waiting, func(w *sequence) bool { return w.due().Class > s.due().Class })
		if i < 0 {
			s.end("", llm.ErrBusy)
			return
		}
		l.waiting[i].end("", llm.ErrBusy)
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	s.slot = -1
	l.waiting = append(l.waiting, s)
}

// give ends the sequences for which why has an error.
func (l *loop) give(why func(*sequence) error) {
	gone := func(s *sequence) bool {
		err := why(s)
		if err == nil {
			return false
		}
		l.leave(s)
		s.end("", err)
		return true
	}
	l.running = slices.DeleteFunc(l.running, gone)
	l.waiting = slices.DeleteFunc(l.waiting, gone)
}

// drop ends what nobody waits for any more.
func (l *loop) drop() {
	now := time.Now()
	l.give(func(s *sequence) error {
		switch {
		case s.ctx.Err() != nil:
			return context.Cause(s.ctx)
		case s.late(now):
			return budget.ErrLate
		}
		return nil
	})
}

// forget takes from conversations that have ended what is kept for them.
func (l *loop) forget() {
	for _, name := range l.over.take() {
		l.shelf.take(name)
		l.cache.disown(name)
	}
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

// place gives slots to those who wait, the most urgent class first.
func (l *loop) place() {
	for len(l.waiting) > 0 {
		i := 0
		for k, s := range l.waiting {
			if s.due().Class < l.waiting[i].due().Class {
				i = k
			}
		}
		s := l.waiting[i]
		p, ok := l.cache.take(s.conversation, s.tokens, l.shelf.tokens(s.conversation))
		if !ok {
			if !l.vacate(s) {
				return
			}
			continue
		}
		s.slot, s.decoded = p.slot, l.furnish(s, p)
		if !s.placed {
			s.placed = true
			s.usage.Prompt, s.usage.Cached = s.prompt, s.decoded
			if !s.reading {
				s.picker = l.machine.Picker(s.sampling, s.form)
			}
		}
		l.waiting = slices.Delete(l.waiting, i, i+1)
		l.running = append(l.running, s)
	}
}

// vacate takes a slot for s from somebody who is paused, or else from somebody less urgent, who then waits for another.
func (l *loop) vacate(s *sequence) bool {
	for _, r := range l.running {
		if r.paused() && r.slot >= 0 {
			l.leave(r)
			return true
		}
	}
	for i, r := range l.running {
		if r.slot >= 0 && r.due().Class > s.due().Class {
			l.leave(r)
			l.running = slices.Delete(l.running, i, i+1)
			l.waiting = append(l.waiting, r)
			return true
		}
	}
	return false
}

// furnish makes a slot's memory what its placement says. It returns how many tokens of the prompt are there.
func (l *loop) furnish(s *sequence, p placement) int {
	// Whatever becomes of it, what the slot will hold is newer. It is taken first, so that it need not make room.
	saved := l.shelf.take(s.conversation)
	if p.gone.owner != "" && l.shelf.room > 0 {
		p.gone.state = l.machine.Save(p.slot)
		l.shelf.put(p.gone)
	}
	var kept bool
	switch {
	case p.restore:
		kept = l.machine.Restore(p.slot, saved.state) && l.machine.Keep(p.slot, p.keep)
	case p.from == p.slot:
		kept = l.machine.Keep(p.slot, p.keep)
	default:
		kept = l.machine.Copy(p.from, p.slot, p.keep)
	}
	if !kept {
		l.cache.forget(p.slot)
		return 0
	}
	return p.keep
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
