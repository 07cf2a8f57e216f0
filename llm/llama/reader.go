package llama

import (
	"context"

	"riposte/llm"
)

// answer has a sequence worked on and yields what comes out, until the answer or the sequence's ctx ends or the reader
// has enough. In the last case it must be the reader who ends ctx, so that the loop does not go on.
func (l *loop) answer(s *sequence, yield func(llm.Piece, error) bool) {
	// The loop sees the end of ctx by itself while it works, but not while it sleeps.
	context.AfterFunc(s.ctx, l.poke)
	l.stage.overtake(s)
	select {
	case l.requests <- s:
	case <-s.ctx.Done():
		yield(llm.Piece{}, context.Cause(s.ctx))
		return
	case <-l.done:
		yield(llm.Piece{}, ErrClosed)
		return
	}
	wanted := s.urgency.Wanted
	for s.ctx.Err() == nil {
		select {
		case p, more := <-s.out:
			if !more {
				s.conclude(yield)
				return
			}
			l.poke() // There is room again.
			if !yield(p, nil) {
				return
			}
		case <-wanted:
			wanted = nil
			l.stage.overtake(s)
			l.poke()
		case <-s.ctx.Done():
		}
	}
	yield(llm.Piece{}, context.Cause(s.ctx))
}

// conclude yields the end of an answer that the loop has ended.
func (s *sequence) conclude(yield func(llm.Piece, error) bool) {
	if s.err != nil {
		yield(llm.Piece{}, s.err)
		return
	}
	if s.rest.Text != "" && !yield(s.rest, nil) {
		return
	}
	yield(llm.Piece{Usage: &s.usage}, nil)
}
