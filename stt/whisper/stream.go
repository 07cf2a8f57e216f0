package whisper

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

const (
	// every is how much new sound makes a new hypothesis: a little less than half a second, so that there are two a second
	// although each takes its time.
	every = audio.SpeechRate * 4 / 10
	// early is the least that a hypothesis is made of.
	early = audio.SpeechRate / 2
	// patience is how long a hypothesis may wait for its turn. After that, more has been said anyway.
	patience = 500 * time.Millisecond
)

// stream is one stretch of speech, heard while it grows. Its sound lies in two parts: the first is committed, its words are
// known for good and its samples gone; the second, the tail, is heard anew with each hypothesis.
type stream struct {
	e     *Engine
	o     stt.Options
	life  context.Context // Ends with Close.
	end   context.CancelCauseFunc
	voice sync.Mutex    // Held while a hypothesis is delivered.
	turn  chan struct{} // Held by the one pass that is made at a time. It holds one.

	mu      sync.Mutex
	closed  bool
	tail    []float32   // Only ever appended to, so that a pass may read what it has seen of it.
	level   level       // Of the tail.
	gone    int         // How many samples are committed.
	said    []string    // Their words,
	sure    []stt.Token // and the tokens of these.
	asked   int         // How many samples had been written when the last hypothesis was begun.
	running *hearing    // The pass for a hypothesis under way, or nil.
	last    known       // By the last pass that came to its end.

	// Guarded by turn.
	sound    *spectrum // Of the tail.
	language string
}

// hearing is one pass over the tail, and what it brought.
type hearing struct {
	samples int // So many at the beginning of the tail are heard. Guarded by mu.
	saying
	text  string       // Of all of the stream, what is committed included.
	begun atomic.Int64 // When the first of it began to be heard, in Unix nanoseconds; 0 while it waits.
	stop  context.CancelFunc
	hasty bool // It may well be the closing pass.
}

// known is what a pass has brought.
type known struct {
	samples int // So many at the beginning of the tail are heard.
	saying
	text string // Of all of the stream, what is committed included.
}

// Listen begins a stream.
func (e *Engine) Listen(o stt.Options) stt.Stream {
	if o.Language == "" {
		o.Language = e.Language
	}
	s := &stream{e: e, o: o, turn: make(chan struct{}, 1), sound: &spectrum{filters: e.filters}, language: o.Language}
	life := e.life
	if life == nil {
		life = context.Background()
		s.closed = true
	}
	s.life, s.end = context.WithCancelCause(budget.WithBill(life, o.Bill))
	return s
}

// Write adds sound, and begins a hypothesis when there is enough that is new and none is under way.
func (s *stream) Write(speech audio.PCM) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.tail = speech.AppendFloats(s.tail)
	s.level.step(s.tail)
	n := s.gone + len(s.tail)
	if s.o.Heard == nil || n < early || n-s.asked < cmp.Or(audio.Samples(s.o.Every, audio.SpeechRate), every) || s.heardAll() {
		return
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return
	}
	ctx, stop := context.WithCancel(s.life)
	h := &hearing{samples: len(s.tail), stop: stop}
	if !s.e.start(func() { s.suppose(ctx, h, budget.Urgency{Class: budget.Partial, Deadline: time.Now().Add(patience)}) }) {
		<-s.turn
		stop()
		return
	}
	s.running, s.asked = h, n
}

// Hasten begins a hypothesis that Finish can take for the transcript, in place of one that lacks what was said last.
func (s *stream) Hasten(u budget.Urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.o.Heard == nil || s.gone+len(s.tail) < early || s.heardAll() {
		return
	}
	if r := s.running; r != nil {
		if s.level.voiced <= r.samples {
			return
		}
		r.stop()
	}
	s.e.start(func() {
		select {
		case s.turn <- struct{}{}:
		case <-s.life.Done():
			return
		}
		s.mu.Lock()
		if s.closed || s.heardAll() { // The closing pass was faster.
			s.mu.Unlock()
			<-s.turn
			return
		}
		ctx, stop := context.WithCancel(s.life)
		h := &hearing{samples: len(s.tail), stop: stop, hasty: true}
		s.running, s.asked = h, s.gone+len(s.tail)
		s.mu.Unlock()
		s.suppose(ctx, h, u)
	})
}

// heardAll reports whether nothing loud has come since the last pass, or at all. mu is held.
func (s *stream) heardAll() bool { return s.level.voiced <= s.last.samples }

// text returns what is committed and the words behind it. mu is held.
func (s *stream) text(words string) string {
	return strings.TrimSpace(strings.Join(append(s.said[:len(s.said):len(s.said)], words), " "))
}

// suppose makes a hypothesis and delivers it. It gives the turn back.
func (s *stream) suppose(ctx context.Context, h *hearing, u budget.Urgency) {
	s.mu.Lock()
	before := s.last.text
	s.mu.Unlock()
	err := s.hear(ctx, u, h)
	s.mu.Lock()
	s.running = nil
	s.mu.Unlock()
	h.stop()
	if err == nil && h.text != "" {
		s.tell(before, h)
	}
	<-s.turn
}

// tell delivers a hypothesis, unless the stream is closed.
func (s *stream) tell(before string, h *hearing) {
	s.voice.Lock()
	defer s.voice.Unlock()
	s.mu.Lock()
	closed, committed := s.closed, len(strings.Join(s.said, " "))
	speech := audio.Duration(s.gone+h.samples, audio.SpeechRate)
	s.mu.Unlock()
	if !closed {
		s.o.Heard(stt.Hypothesis{Text: h.text, Stable: max(committed, stt.Agreed(before, h.text)), Speech: speech})
	}
}

// Finish hears what is not heard yet. A hypothesis that holds all that is loud is the transcript, also one that is just
// being made.
func (s *stream) Finish(ctx context.Context, u budget.Urgency) (stt.Transcript, error) {
	began := time.Now()
	s.mu.Lock()
	n := s.gone + len(s.tail)
	if r := s.running; r != nil && (s.level.voiced > r.samples || r.begun.Load() == 0) {
		r.stop()
	}
	s.mu.Unlock()
	t := stt.Transcript{Language: s.o.Language, Speech: audio.Duration(n, audio.SpeechRate)}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.life, func() { end(context.Cause(s.life)) })()
	if s.e.life == nil {
		return stt.Transcript{}, ErrClosed
	}
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return stt.Transcript{}, context.Cause(ctx)
	}
	s.mu.Lock()
	h := &hearing{samples: n - s.gone}
	known := s.heardAll()
	if known {
		h.saying, h.text = s.last.saying, s.text(s.last.saying.text)
	}
	s.mu.Unlock()
	if !known {
		out := make(chan error, 1)
		if !s.e.start(func() {
			out <- s.hear(ctx, u, h)
			<-s.turn
		}) {
			<-s.turn
			return stt.Transcript{}, ErrClosed
		}
		select {
		case err := <-out:
			switch {
			case ctx.Err() != nil:
				return stt.Transcript{}, context.Cause(ctx)
			case err != nil:
				return stt.Transcript{}, fmt.Errorf("whisper: %w", err)
			}
		case <-ctx.Done():
			return stt.Transcript{}, context.Cause(ctx)
		}
		t.Queued = time.Unix(0, h.begun.Load()).Sub(began)
	} else {
		<-s.turn
	}
	t.Text, t.Closed = h.text, h.closed
	s.mu.Lock()
	t.Tokens = slices.Concat(s.sure, h.pieces)
	s.mu.Unlock()
	if h.language != "" {
		t.Language = h.language
	}
	return t, nil
}

// Close ends the stream and what is done for it.
func (s *stream) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errStreamClosed)
	s.voice.Lock() // A hypothesis that is being delivered.
	defer s.voice.Unlock()
}

// hear makes a pass over the tail: the first h.samples of it. What lies before a pause is committed on the way. The caller
// holds the turn.
func (s *stream) hear(ctx context.Context, u budget.Urgency, h *hearing) error {
	s.mu.Lock()
	samples, draft := s.tail[:h.samples], s.last.tokens
	s.mu.Unlock()
	for {
		n := cut(samples, s.e.easy())
		l := listener{ear: nil, least: s.e.Window, sound: s.sound}
		o := s.o
		o.Language = s.language
		job := budget.Job{Urgency: u, Kind: "stt", Size: float64(l.fit(n)), Threads: s.e.Threads}
		if u.Class != budget.Awaited && !h.hasty {
			job.Threads = 1 // The other cores are for those who are waited for.
		}
		var said saying
		err := s.e.Executor.Run(ctx, job, func(ctx context.Context, threads int) error {
			return s.e.borrow(ctx, func(ear *ear) (err error) {
				h.begun.CompareAndSwap(0, time.Now().UnixNano())
				l.ear, l.threads = ear, threads
				said, err = l.part(samples[:n], o, draft)
				return err
			})
		})
		if err != nil {
			return err
		}
		if n < len(samples) {
			s.commit(n, said)
			samples, draft = samples[n:], after(draft, said.tokens)
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		h.samples, h.saying, h.text = n, said, s.text(said.text)
		s.last = known{h.samples, h.saying, h.text}
		return nil
	}
}

// commit takes the first n samples of the tail for heard. The caller holds the turn.
func (s *stream) commit(n int, said saying) {
	s.sound.drop(n)
	s.mu.Lock()
	defer s.mu.Unlock()
	if said.text != "" {
		s.said = append(s.said, said.text)
		s.sure = append(s.sure, said.pieces...)
		s.language = said.language
	}
	s.gone += n
	s.tail = append([]float32(nil), s.tail[n:]...)
	s.level.drop(n)
	s.last = known{}
}

// after returns what of a draft is left behind the tokens that turned out to be its beginning.
func after(draft, heard []int32) []int32 {
	if len(draft) <= len(heard) {
		return nil
	}
	return draft[len(heard):]
}

// errStreamClosed ends what is under way for a stream that is closed.
var errStreamClosed = errors.New("stream is closed")
