package llama

import (
	"context"
	"fmt"
	"slices"

	"riposte/llm"
)

// part is a sequence's share of a batch.
type part struct {
	seq   *sequence
	first int // The index of its first entry.
	count int
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
			if t, err := s.picker.Pick(p.first + p.count - 1); err != nil {
				l.finish(s, "", err)
			} else {
				l.say(s, t)
			}
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
			l.parts = append(l.parts, part{seq: s, count: 1})
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
		rest := len(prompts) - i
		n := min((left+rest-1)/rest, s.missing())
		if n == 0 {
			continue
		}
		l.parts = append(l.parts, part{seq: s, count: n})
		left -= n
	}
	// llama.cpp computes neighbouring sequences in one graph, and others one after the other.
	slices.SortFunc(l.parts, func(a, b part) int { return a.seq.slot - b.seq.slot })
	for i := range l.parts {
		p := &l.parts[i]
		p.first = len(l.entries)
		for k := p.seq.decoded; k < p.seq.decoded+p.count; k++ {
			l.entries = append(l.entries, entry{token: p.seq.tokens[k], pos: k, seq: p.seq.slot, last: k == len(p.seq.tokens)-1})
		}
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
	case stopped, s.form.complete():
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
