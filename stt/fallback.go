package stt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"riposte/audio"
	"riposte/budget"
)

// Fallback hears by the first of two recognisers, and by the second as well where the first fails, or has not heard what was said shortly
// before that is due: whichever is done first is taken. Hypotheses are the first one's.
type Fallback struct {
	First, Second Recognizer
	// Late is how long before it is due the second is asked. 0 asks it only where the first has failed.
	Late time.Duration
}

var _ Recognizer = (*Fallback)(nil)

// Listen begins to hear by the first, and keeps what is said for the second.
func (f *Fallback) Listen(o Options) Stream {
	quiet := o
	quiet.Heard, quiet.Bill = nil, nil
	return &fallback{Fallback: f, first: f.First.Listen(o), second: f.Second.Listen(quiet)}
}

// fallback is a stretch of speech that two may hear.
type fallback struct {
	*Fallback
	first, second Stream
}

func (s *fallback) Write(speech audio.PCM) {
	s.first.Write(speech)
	s.second.Write(speech) // without hypotheses it only keeps it
}

func (s *fallback) Hasten(u budget.Urgency) { s.first.Hasten(u) }

// heard is what one of them brought.
type heard struct {
	Transcript
	err error
}

// Finish returns the first transcript that there is. The error says why neither of them has heard anything.
func (s *fallback) Finish(ctx context.Context, u budget.Urgency) (Transcript, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out := make(chan heard, 2)
	go func() {
		t, err := s.first.Finish(ctx, u)
		out <- heard{t, err}
	}()
	var late <-chan time.Time
	if s.Late > 0 && !u.Deadline.IsZero() {
		timer := time.NewTimer(time.Until(u.Deadline.Add(-s.Late)))
		defer timer.Stop()
		late = timer.C
	}
	waiting, asked := 1, false
	ask := func(why string) {
		asked, late = true, nil
		waiting++
		budget.BillOf(ctx).Detour(budget.Detour{At: time.Now(), Stage: budget.STT, Act: budget.Substitute, Why: "the other recogniser is asked: " + why})
		go func() {
			t, err := s.second.Finish(ctx, u)
			out <- heard{t, err}
		}()
	}
	var failed error
	for waiting > 0 {
		select {
		case h := <-out:
			waiting--
			if h.err == nil {
				return h.Transcript, nil
			}
			if ctx.Err() != nil {
				return Transcript{}, context.Cause(ctx)
			}
			failed = errors.Join(failed, h.err)
			if !asked {
				ask(h.err.Error())
			}
		case <-late:
			ask("the first is late")
		case <-ctx.Done():
			return Transcript{}, context.Cause(ctx)
		}
	}
	return Transcript{}, fmt.Errorf("both recognisers failed: %w", failed)
}

func (s *fallback) Close() {
	s.first.Close()
	s.second.Close()
}
