package pipeline

import (
	"context"
	"errors"
)

// Answer is what a tool that the service runs may know of the answer that has called it, so that what it does to the call comes after what was said.
type Answer struct {
	turn *turn
	said *reached
}

// reached is a place in an answer's words, and whether the model had any before it.
type reached struct {
	sent  chan struct{} // Closed when all sound before it has been sent.
	words bool          // Set before that.
}

// answerKey is under what a context has the Answer.
type answerKey struct{}

// AnswerOf returns the answer that has called a tool, by the context that the tool runs under; nil elsewhere.
func AnswerOf(ctx context.Context) *Answer {
	a, _ := ctx.Value(answerKey{}).(*Answer)
	return a
}

// Said waits until the words before the call have been sent to the caller, and reports whether there were any of the model's. It fails when the
// answer is no longer wanted: the caller has taken the word.
func (a *Answer) Said(ctx context.Context) (words bool, err error) {
	if a.said == nil {
		return false, nil // it was called when the caller's side approved of it
	}
	select {
	case <-a.said.sent:
		return a.said.words, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// Heard waits until the answer is over, and reports whether the caller has heard it to its end.
func (a *Answer) Heard(ctx context.Context) bool {
	select {
	case <-a.turn.settled:
		return errors.Is(context.Cause(a.turn.ctx), context.Canceled) // and nobody has ended it before
	case <-ctx.Done():
		return false
	}
}

// reach notes that play has come to the place.
func (p *player) reach(r *reached) {
	for _, s := range p.spoken {
		r.words = r.words || !s.ours
	}
	close(r.sent)
}
