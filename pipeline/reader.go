package pipeline

import (
	"context"
	"time"

	"riposte/budget"
	"riposte/llm"
	"riposte/transport"
)

// follow goes along with what the caller seems to be saying: it tells the caller's side, and has the model read it, so that
// only the last words are left to be read when the turn is decided. A hypothesis that has been overtaken is skipped.
func (s *Session) follow(ctx context.Context) error {
	for {
		select {
		case h := <-s.hypotheses:
			if err := s.Call.Send(ctx, transport.Hypothesis{Item: h.item, Text: h.Text, Stable: h.Stable, Speech: h.Speech}); err != nil {
				return err
			}
			s.readAhead(ctx, h)
		case <-ctx.Done():
			return nil
		}
	}
}

// readAhead has the model read the stable part of what the caller says, as the conversation's next message. While an answer
// is being given it is not known yet what the caller will have heard of it, so nothing can be read behind it.
func (s *Session) readAhead(ctx context.Context, h hypothesis) {
	if h.Stable == 0 || len(s.live.all()) > 0 {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	u, ok := s.saying.join(h.item, stop)
	if !ok || u.settings.Listens {
		return // it has been decided in the meantime, and the model is about to read it anyway; or will never
	}
	messages := append(s.history.messages(u.settings.Instructions, u.replaces), llm.Message{Role: llm.User, Text: h.Text[:h.Stable]})
	s.read(ctx, u.settings, messages, budget.Urgency{Class: budget.Partial, Deadline: time.Now().Add(readPatience)})
}

// readPatience is how long reading ahead may wait for its turn: by then there are newer words.
const readPatience = 500 * time.Millisecond

// prepare has the model read its instructions, and of its tools, before there is anything to answer, so that the first turn does
// not have to wait for that. It stops when stop is called.
func (s *Session) prepare(ctx context.Context, settings transport.Settings) (stop context.CancelFunc) {
	ctx, stop = context.WithCancel(ctx)
	if settings.Instructions == "" {
		return stop
	}
	s.group.Go(func() error {
		defer stop()
		s.read(ctx, settings, []llm.Message{{Role: llm.System, Text: settings.Instructions}}, budget.Urgency{Class: budget.Partial})
		return nil
	})
	return stop
}

// read has the model read messages of this call ahead. It is no loss when it does not.
func (s *Session) read(ctx context.Context, settings transport.Settings, messages []llm.Message, u budget.Urgency) {
	_, err := s.LLM.Read(ctx, s.request(settings, messages, u))
	if err != nil && ctx.Err() == nil {
		s.Log.Debug("the model could not read ahead", "call", s.Call.ID(), "err", err)
	}
}
