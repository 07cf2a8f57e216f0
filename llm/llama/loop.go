package llama

import (
	"context"
	"fmt"
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

	running []*sequence // With a slot, or paused.
	waiting []*sequence // For a slot, in order.
	entries []entry     // The batch, kept between steps.
	parts   []part      // Whose entries these are.

	load atomic.Pointer[Load]
}

// part is a sequence's share of a batch.
type part struct {
	seq   *sequence
	first int // The index of its first entry.
	count int
}

// Load is how much an engine has to do.
type Load struct {
	Running int // Answers being made, those that wait for their readers included.
	Paused  int // Those of them that wait for their readers.
	Waiting int // Requests that wait for one of the Conversations to become free.
}

func newLoop(m machine, v vocabulary, c *cache) *loop {
	l := &loop{machine: m, words: v, cache: c, requests: make(chan *sequence), wake: make(chan struct{}, 1)}
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
		if l.busy() {
			select {
			case s := <-l.requests:
				l.accept(s)
				continue
			case <-l.wake:
			default:
			}
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
		s.end("", ErrBusy)
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
			s.picker = l.machine.Picker(s.sampling)
			s.usage.Prompt, s.usage.Cached = s.prompt, p.keep
		}
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.running = append(l.running, s)
	}
}

// step decodes one batch: the newest token of everybody who is being spoken to, and pieces of the other prompts.
func (l *loop) step(ctx context.Context) {
	l.compose()
	if len(l.entries) == 0 {
		return
	}
	err := l.machine.Decode(l.entries, l.unwanted(ctx))
	for _, p := range l.parts {
		s := p.seq
		if err != nil {
			// What came before the batch is still there; whether any of the batch is differs between memories.
			if !l.machine.Keep(s.slot, s.decoded) {
				l.cache.forget(s.slot)
				s.decoded = 0
			}
			continue
		}
		l.cache.extend(s.slot, s.tokens[s.decoded:s.decoded+p.count]...)
		s.decoded += p.count
		if s.decoded == len(s.tokens) {
			l.say(s, s.picker.Pick(p.first+p.count-1))
		}
	}
	if err != nil && err != errStopped {
		for _, p := range l.parts {
			l.finish(p.seq, "", fmt.Errorf("decode: %w", err))
		}
	}
	l.running = slices.DeleteFunc(l.running, func(s *sequence) bool { return s.tokens == nil })
}

// compose fills the batch. Prompts share what there is for them equally, so that a short one is not held up by a long.
func (l *loop) compose() {
	l.entries, l.parts = l.entries[:0], l.parts[:0]
	var prompts []*sequence
	for _, s := range l.running {
		switch {
		case s.paused():
		case s.speaking():
			l.add(s, 1)
		default:
			prompts = append(prompts, s)
		}
	}
	left := l.batch
	if len(l.parts) > 0 {
		left = l.chunk
	}
	slices.SortStableFunc(prompts, func(a, b *sequence) int { return a.missing() - b.missing() })
	for i, s := range prompts {
		share := max(left/(len(prompts)-i), 1)
		n := min(share, s.missing(), l.batch+l.cache.size()-len(l.entries))
		if n <= 0 {
			return
		}
		l.add(s, n)
		left -= n
	}
}

// add puts the next n tokens of a sequence into the batch.
func (l *loop) add(s *sequence, n int) {
	l.parts = append(l.parts, part{seq: s, first: len(l.entries), count: n})
	for i := s.decoded; i < s.decoded+n; i++ {
		l.entries = append(l.entries, entry{token: s.tokens[i], pos: i, seq: s.slot, last: i == len(s.tokens)-1})
	}
}

// unwanted returns what stops a step: that at least half of it is for nobody. It is nil for steps that are short
// enough to be finished anyway, because asking costs time too.
func (l *loop) unwanted(ctx context.Context) func() bool {
	if len(l.entries) <= len(l.parts) {
		return nil
	}
	return func() bool {
		if ctx.Err() != nil {
			return true
		}
		gone := 0
		for _, p := range l.parts {
			if p.seq.ctx.Err() != nil {
				gone += p.count
			}
		}
		return 2*gone >= len(l.entries)
	}
}

// say adds a token to an answer.
func (l *loop) say(s *sequence, t token) {
	if l.words.Ends(t) {
		l.finish(s, llm.FinishStop, nil)
		return
	}
	s.tokens = append(s.tokens, t)
	s.usage.Output++
	text, stopped := s.text.push(l.words.Piece(t))
	s.offer(text)
	switch {
	case stopped:
		l.finish(s, llm.FinishStop, nil)
	case s.usage.Output >= s.most || len(s.tokens) >= l.context:
		l.finish(s, llm.FinishLength, nil)
	}
}

// finish ends an answer. The sequence leaves running at the end of the step, by having no tokens any more.
func (l *loop) finish(s *sequence, f llm.Finish, err error) {
	l.leave(s)
	s.tokens = nil
	s.end(f, err)
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
