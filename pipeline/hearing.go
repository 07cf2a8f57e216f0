package pipeline

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
	"riposte/transport"
)

// hearing is one thing that the caller says, on its way through the recogniser, from its first sound on.
type hearing struct {
	stream stt.Stream
	to     int64 // The recogniser has the call's sound up to here.
	newest atomic.Pointer[stt.Hypothesis]
	bill   budget.Bill // What it has cost the executor.

	mu     sync.Mutex
	traced []heardAt // What it thought when.
}

// heardAt is what the recogniser thought at one time.
type heardAt struct {
	at time.Time
	stt.Hypothesis
}

// mostHeard is how many hypotheses of a turn are traced: those of the first two minutes.
const mostHeard = 256

// pass is a closing pass over what was said up to its beginning.
type pass struct {
	of         *hearing
	done       chan struct{}
	stop       context.CancelFunc
	transcript stt.Transcript
	err        error
}

// hypothesis is what seems to have been said so far of an item to be.
type hypothesis struct {
	item string
	stt.Hypothesis
}

// hear begins to recognise what is said from a position of the call on.
func (s *Session) hear(item string, from int64, settings transport.Settings) *hearing {
	h := &hearing{to: from}
	var every time.Duration
	if s.strain() >= budget.FewPartials {
		every = time.Second
	}
	h.stream = s.STT.Listen(stt.Options{
		Every:    every,
		Bill:     &h.bill,
		Language: settings.Language, Prompt: settings.Vocabulary,
		Heard: func(y stt.Hypothesis) {
			if !sensible(y.Text, y.Speech) {
				return
			}
			h.newest.Store(&y)
			h.mu.Lock()
			if len(h.traced) < mostHeard {
				h.traced = append(h.traced, heardAt{time.Now(), y})
			}
			h.mu.Unlock()
			s.Queues.Hypotheses.Hold(1)
			if replace(s.hypotheses, hypothesis{item, y}) {
				s.Queues.Hypotheses.Refuse(1)
			}
		},
	})
	return h
}

// known returns the newest hypothesis, if there has been one.
func (h *hearing) known() (stt.Hypothesis, bool) {
	y := h.newest.Load()
	if y == nil {
		return stt.Hypothesis{}, false
	}
	return *y, true
}

// certain returns the newest hypothesis where it says something for certain, whatever the recogniser finds in the end: its stable part
// has grown word by word, as speech does. What is invented in noise comes at once, and stays as it is or changes.
func (h *hearing) certain() (y stt.Hypothesis, ok bool) {
	const grown, least = 2, 3 // steps; words
	h.mu.Lock()
	defer h.mu.Unlock()
	steps, stable := 0, ""
	for _, t := range h.traced {
		if s := t.Text[:t.Stable]; len(s) > len(stable) && strings.HasPrefix(s, stable) {
			if stable != "" {
				steps++
			}
			stable = s
		} else if s != stable {
			steps, stable = 0, s
		}
		y = t.Hypothesis
	}
	return y, steps >= grown && len(words(stable)) >= least
}

// feed gives the recogniser what is new on the call's tape.
func (h *hearing) feed(tape *audio.Tape) {
	pcm, _ := tape.Slice(h.to, tape.End())
	h.stream.Write(pcm)
	h.to = tape.End()
}

// finish begins a closing pass over all that was fed, of which the result is due at the given time. The pass ends with
// ctx, or when its stop is called.
func (s *Session) finish(ctx context.Context, h *hearing, due time.Time) *pass {
	ctx, stop := context.WithCancel(ctx)
	p := &pass{of: h, done: make(chan struct{}), stop: stop}
	s.group.Go(func() error {
		defer stop()
		defer close(p.done)
		p.transcript, p.err = h.stream.Finish(budget.WithBill(ctx, &h.bill), budget.Urgency{Deadline: due})
		return nil
	})
	return p
}

// over reports whether the pass has come to its end.
func (p *pass) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// end frees the recogniser once the closing pass p has ended. nil is a hearing that has ended.
func (h *hearing) end(s *Session, p *pass) {
	if h == nil {
		return
	}
	s.group.Go(func() error {
		if p != nil {
			<-p.done
		}
		h.stream.Close()
		return nil
	})
}

// replace puts v into a channel with room for one, in place of what nobody has taken yet. It reports whether there was anything.
func replace[T any](c chan T, v T) (replaced bool) {
	for {
		select {
		case c <- v:
			return replaced
		default:
		}
		select {
		case <-c:
			replaced = true
		default:
		}
	}
}

// tokens returns what a text is made of, if it is what the recogniser has brought in the end.
func (p *pass) tokens(text string) (out []transport.Token) {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.err != nil || p.transcript.Text != text {
		return nil
	}
	for _, t := range p.transcript.Tokens {
		out = append(out, transport.Token(t))
	}
	return out
}
