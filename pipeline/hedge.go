package pipeline

import (
	"context"
	"fmt"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// lead waits for the first piece of a turn's answer, or of a step of it, of which d is the draft and which is due at the given time. Where the model fails, or has not begun to answer
// when half of its share is left, the hedge writes one as well: whoever brings something first gives the answer, and lead
// returns its draft. more is false where that has ended without a piece.
func (m *mind) lead(t *turn, messages []llm.Message, settings transport.Settings, due time.Time, d *draft) (_ *draft, p piece, more bool, err error) {
	var hedge *draft // What the hedge writes; nil while it does not.
	var late <-chan time.Time
	mayHedge := m.Hedge != nil && !t.settings.Plan.Observe
	if mayHedge {
		late = time.After(time.Until(due.Add(-t.settings.Plan.LLM / 2)))
	}
	ask := func() {
		mayHedge, late = false, nil
		t.clock.Act(budget.LLM, budget.Hedge, time.Now())
		hedge = m.write(t.ctx, m.Hedge, settings, messages, due, false)
		context.AfterFunc(t.ctx, hedge.stop)
	}
	stalled := time.After(m.limits.Stall)
	for {
		var other chan piece
		if hedge != nil {
			other = hedge.pieces
		}
		select {
		case p, more := <-d.pieces:
			if !more && d.err != nil && (mayHedge || hedge != nil) && t.ctx.Err() == nil {
				m.Log.Warn("the model failed, the hedge answers", "call", m.Call.ID(), "err", d.err)
				if hedge == nil {
					ask()
				}
				d, hedge = hedge, nil
				continue
			}
			if hedge != nil {
				hedge.stop()
			}
			return d, p, more, nil
		case p, more := <-other:
			if !more && hedge.err != nil {
				m.Log.Warn("the hedge failed", "call", m.Call.ID(), "err", hedge.err)
				hedge = nil
				continue
			}
			d.stop()
			return hedge, p, more, nil
		case <-late:
			if late = nil; d.tokens.Load() == 0 {
				ask()
			}
		case <-stalled:
			d.stop()
			if hedge != nil {
				hedge.stop()
			}
			return d, p, false, fmt.Errorf("%w: nothing for %v", errStalled, m.limits.Stall)
		case <-t.ctx.Done():
			return d, p, false, context.Cause(t.ctx)
		}
	}
}

// next waits for what comes next of an answer.
func (m *mind) next(t *turn, d *draft) (p piece, more bool, err error) {
	stalled := time.NewTimer(m.limits.Stall)
	defer stalled.Stop()
	select {
	case p, more = <-d.pieces:
		return p, more, nil
	case <-stalled.C:
		d.stop()
		return p, false, fmt.Errorf("%w: nothing for %v", errStalled, m.limits.Stall)
	case <-t.ctx.Done():
		return p, false, context.Cause(t.ctx)
	}
}
