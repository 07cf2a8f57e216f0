package remote

import (
	"context"
	"errors"
	"sync"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

// stream is one stretch of speech, kept until it has been heard.
type stream struct {
	e    *Engine
	o    stt.Options
	life context.Context // Ends with Close.
	end  context.CancelCauseFunc
	tell sync.Mutex // Held while a hypothesis is delivered.

	mu      sync.Mutex
	closed  bool
	speech  audio.PCM // Only ever appended to, so that an upload may read what it has seen of it.
	asked   int       // How many samples there were when the last upload began.
	running *upload   // For a hypothesis, or nil.
	last    *upload   // That has come to its end.
}

// upload is a hearing of the first samples of a stream.
type upload struct {
	samples int
	done    chan struct{}
	stop    context.CancelFunc

	// These hold once done is closed.
	transcript stt.Transcript
	err        error
}

// early is the least that a hypothesis is made of.
const early = audio.SpeechRate / 2

// Listen begins a stream.
func (e *Engine) Listen(o stt.Options) stt.Stream {
	s := &stream{e: e, o: o}
	s.life, s.end = context.WithCancelCause(budget.WithBill(e.life, o.Bill))
	return s
}

// Write adds sound, and begins a hypothesis when it is time for one and none is under way.
func (s *stream) Write(speech audio.PCM) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.speech = append(s.speech, speech...)
	every := max(s.e.Every, s.o.Every)
	if s.e.Every > 0 && s.o.Heard != nil && s.running == nil && len(s.speech) >= early && len(s.speech)-s.asked >= audio.Samples(every, audio.SpeechRate) {
		s.suppose()
	}
}

// Hasten begins the upload that may be the closing one, unless what was said has been heard or is being.
func (s *stream) Hasten(budget.Urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.o.Heard == nil || len(s.speech) < early {
		return
	}
	voiced := s.voiced()
	if s.covers(s.last, voiced) || s.covers(s.running, voiced) {
		return
	}
	if s.running != nil {
		s.running.stop()
	}
	s.suppose()
}

// voiced returns how many samples there are up to the last voiced one; all, where it is too soft to tell. mu is held.
func (s *stream) voiced() int {
	if n := audio.LastVoiced(s.speech, audio.SpeechRate); n > 0 {
		return n
	}
	return len(s.speech)
}

// covers reports whether an upload has all that is voiced in it.
func (s *stream) covers(u *upload, voiced int) bool { return u != nil && u.samples >= voiced }

// suppose begins an upload for a hypothesis. mu is held.
func (s *stream) suppose() {
	u := s.begin(s.life, len(s.speech))
	s.running, s.asked = u, u.samples
	go func() {
		<-u.done
		s.mu.Lock()
		before := s.last
		if s.running == u {
			s.running = nil
		}
		s.mu.Unlock()
		s.heard(u, before)
	}()
}

// begin begins an upload of the first samples, which ends with ctx. mu is held.
func (s *stream) begin(ctx context.Context, samples int) *upload {
	ctx, stop := context.WithCancel(ctx)
	u := &upload{samples: samples, done: make(chan struct{}), stop: stop}
	speech := s.speech[:samples:samples]
	go func() {
		defer stop()
		defer close(u.done)
		u.transcript, u.err = s.e.hear(ctx, speech, s.o)
	}()
	return u
}

// heard keeps what an upload has brought, and delivers it as a hypothesis, unless the stream is closed.
func (s *stream) heard(u, before *upload) {
	if u.err != nil {
		return // what is not heard now is heard at the end
	}
	s.tell.Lock()
	defer s.tell.Unlock()
	s.mu.Lock()
	closed := s.closed
	if s.last == nil || s.last.samples < u.samples {
		s.last = u
	}
	s.mu.Unlock()
	if closed || s.o.Heard == nil || u.transcript.Text == "" {
		return
	}
	h := stt.Hypothesis{Text: u.transcript.Text, Speech: audio.Duration(u.samples, audio.SpeechRate)}
	if before != nil {
		h.Stable = stt.Agreed(before.transcript.Text, h.Text)
	}
	s.o.Heard(h)
}

// Finish returns what was said. An upload that has all that is voiced in it is not made again, also where it is still under way.
func (s *stream) Finish(ctx context.Context, _ budget.Urgency) (stt.Transcript, error) {
	s.mu.Lock()
	n := len(s.speech) // what is written later goes elsewhere
	voiced := s.voiced()
	u := s.last
	if !s.covers(u, voiced) {
		u = s.running
	}
	if !s.covers(u, voiced) {
		u = nil
	}
	if n == 0 {
		s.mu.Unlock()
		return stt.Transcript{Language: s.o.Language, Speech: audio.Duration(n, audio.SpeechRate)}, nil
	}
	own := u == nil
	if own {
		u = s.begin(ctx, n)
	}
	s.mu.Unlock()
	t, err := s.await(ctx, u)
	if err != nil && !own && ctx.Err() == nil && s.life.Err() == nil { // that one was begun on a chance, and may have had less time
		s.mu.Lock()
		u = s.begin(ctx, n)
		s.mu.Unlock()
		t, err = s.await(ctx, u)
	}
	if err == nil {
		s.mu.Lock()
		if s.last == nil || s.last.samples < u.samples {
			s.last = u
		}
		s.mu.Unlock()
	}
	t.Speech = audio.Duration(n, audio.SpeechRate)
	return t, err
}

// await waits for an upload.
func (s *stream) await(ctx context.Context, u *upload) (stt.Transcript, error) {
	select {
	case <-u.done:
		return u.transcript, u.err
	case <-ctx.Done():
		return stt.Transcript{}, context.Cause(ctx)
	case <-s.life.Done():
		return stt.Transcript{}, context.Cause(s.life)
	}
}

// Close ends what is under way.
func (s *stream) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(errClosed)
	s.tell.Lock() // a hypothesis that is being delivered
	defer s.tell.Unlock()
}

// errClosed ends what is under way for a stream that is closed.
var errClosed = errors.New("the stream is closed")
