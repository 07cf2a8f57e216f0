package remote

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"riposte/budget"
)

// Want says what is wanted of a request.
type Want struct {
	First time.Duration // How long the first of the answer may take, all attempts together; 0 has no limit.
	Types []string      // The media types that the answer may have; empty takes any.
}

// Request is one attempt to have something answered.
type Request struct {
	ctx   context.Context
	end   context.CancelCauseFunc
	want  Want
	first *time.Timer // Ends the request where nothing comes.
	began atomic.Bool

	waited atomic.Int64 // How long more was waited for since the last that was of use, in nanoseconds.
}

// Context is what the request is to be made with. It ends with the cause when the server breaks a limit.
func (r *Request) Context() context.Context { return r.ctx }

// Began notes that the first of the answer that is of use has come: from now on nothing is asked again, and what is slow is not late.
func (r *Request) Began() {
	r.Came()
	if r.began.CompareAndSwap(false, true) && r.first != nil {
		r.first.Stop()
	}
}

// Came notes that more has come that is of use. What is not, such as a sign of life, ends no waiting.
func (r *Request) Came() { r.waited.Store(0) }

// errEnough ends a request of which no more is wanted.
var errEnough = errors.New("no more of it is wanted")

// Ask has try make a request, and make it again where the server or the connection to it died before the answer began. The error is one of
// this package's, or the cause of ctx; what try returns of another kind is taken for what went wrong with the request.
func (s *Server) Ask(ctx context.Context, want Want, try func(*Request) error) error {
	var due time.Time
	if want.First > 0 {
		due = s.now().Add(want.First)
	}
	for attempt := 0; ; attempt++ {
		began, err := s.attempt(ctx, want, due, try)
		switch {
		case err == nil:
			s.counted.done.Add(1)
			return nil
		case ctx.Err() != nil:
			return err
		case errors.Is(err, ErrResting):
			s.counted.refused.Add(1)
			return err
		}
		s.counted.failed.Add(1)
		if began || attempt >= s.limits.Redials || !again(err) || !due.IsZero() && !s.now().Before(due) {
			return err
		}
		s.counted.redialled.Add(1)
		s.base.CloseIdleConnections() // what died was one of them
		budget.BillOf(ctx).Detour(budget.Detour{At: time.Now(), Stage: s.Stage, Why: fmt.Sprintf("%s asked again: %v", s.Address, err)})
	}
}

// attempt makes one request.
func (s *Server) attempt(ctx context.Context, want Want, due time.Time, try func(*Request) error) (began bool, err error) {
	leave, err := s.breaker.enter()
	if err != nil {
		return false, err
	}
	r := &Request{want: want}
	r.ctx, r.end = context.WithCancelCause(ctx)
	defer r.end(errEnough)
	if !due.IsZero() {
		r.first = time.AfterFunc(due.Sub(s.now()), func() { r.end(ErrLate) })
		defer r.first.Stop()
	}
	r.ctx = context.WithValue(r.ctx, requestKey{}, r)
	s.used.Store(s.now().UnixNano())
	err = s.explain(r.ctx, try(r))
	began = r.began.Load()
	switch {
	case err == nil || began && ctx.Err() != nil: // who has heard enough has no complaint
		leave(nil, true)
	default:
		leave(err, ctx.Err() == nil && fatal(err))
	}
	return began, err
}

type requestKey struct{}

// requestOf returns the request that ctx belongs to; nil for none.
func requestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}

// Enough ends the request, of which no more is wanted.
func (r *Request) Enough() { r.end(errEnough) }
