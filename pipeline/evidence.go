package pipeline

import (
	"context"
	"sync"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/endpoint"
	"riposte/llm"
	"riposte/transport"
)

// TurnModel hears from the sound of the last words whether a turn is over. It is safe for use by many callers at once.
type TurnModel interface {
	// Over returns the probability that the turn that ends with speech, mono at audio.SpeechRate, is over. When ctx ends, it
	// returns its cause.
	Over(ctx context.Context, speech audio.PCM, u budget.Urgency) (float32, error)
}

// evidence is what is known of a silence: whether it ends the turn. It is safe for use by several goroutines.
type evidence struct {
	ctx    context.Context // Of those who look for it.
	cancel context.CancelFunc

	fall endpoint.Fall

	mu    sync.Mutex
	sound endpoint.Probability
	over  endpoint.Probability
}

// add puts what is known so far into signals.
func (e *evidence) add(to *endpoint.Signals) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	to.Sound, to.Fall, to.Over = e.sound, e.fall, e.over
}

// gather looks for evidence in what the caller has said so far: speech, and so many samples of silence at its end. It takes no
// longer than a turn's wait does.
func (s *Session) gather(ctx context.Context, speech audio.PCM, silence int) *evidence {
	e := &evidence{fall: endpoint.FallOf(speech[:max(0, len(speech)-silence)], audio.SpeechRate)}
	e.ctx, e.cancel = context.WithCancel(ctx)
	if s.Turns == nil {
		return e
	}
	s.group.Go(func() error {
		p, err := s.Turns.Over(e.ctx, speech, budget.Urgency{Deadline: time.Now().Add(soon)})
		if err != nil {
			if e.ctx.Err() == nil {
				s.Log.Debug("no word on the turn's end from its sound", "call", s.Call.ID(), "err", err)
			}
			return nil
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sound = endpoint.Likely(p)
		return nil
	})
	return e
}

// soon is when evidence is due: it decides whether a turn ends after a quarter of a second.
const soon = 100 * time.Millisecond

// ask asks the model whether the last message is complete, which has it read the message as well. Without evidence to be
// looked for it does nothing.
func (e *evidence) ask(s *Session, settings transport.Settings, messages []llm.Message) {
	if e == nil {
		return
	}
	u := budget.Urgency{Deadline: time.Now().Add(soon)}
	r, err := s.LLM.Read(e.ctx, s.request(settings, messages, u))
	if err != nil || r.Over <= 0 {
		return // the model cannot say
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = endpoint.Likely(r.Over)
}

// stop ends the search. Stopping nil does nothing.
func (e *evidence) stop() {
	if e != nil {
		e.cancel()
	}
}
