package llama

import (
	"context"
	"errors"
	"sync"

	"riposte/budget"
)

// errOvertaken reports a step that was given up because something more urgent was asked for.
var errOvertaken = errors.New("something more urgent was asked for")

// stage is the step under way, for those who come meanwhile: it may wait for cores, and the loop with it, when somebody
// comes who would not wait. It is safe for concurrent use.
type stage struct {
	mu    sync.Mutex
	stop  context.CancelCauseFunc // Nil between steps.
	class budget.Class
	size  int
	parts []part // The loop's, which leaves them alone during the step.
}

// begin says that a step begins. The context that it is to run in ends when the step has become pointless.
func (g *stage) begin(ctx context.Context, class budget.Class, parts []part, size int) (context.Context, context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop, g.class, g.parts, g.size = stop, class, parts, size
	return ctx, stop
}

// end says that it is over.
func (g *stage) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop, g.parts = nil, nil
}

// look ends a step that is, by half at least, for nobody any more.
func (g *stage) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop == nil {
		return
	}
	gone := 0
	for _, p := range g.parts {
		if p.seq.ctx.Err() != nil {
			gone += p.count
		}
	}
	if 2*gone >= g.size {
		g.stop(errStopped)
	}
}

// overtake ends a step that is less urgent than s, unless s gains by it: takes part itself, or goes on with what is read
// there.
func (g *stage) overtake(s *sequence) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop == nil || s.urgency.Now().Class >= g.class {
		return
	}
	for _, p := range g.parts {
		if p.seq == s || s.conversation != "" && p.seq.conversation == s.conversation {
			return
		}
	}
	g.stop(errOvertaken)
}
