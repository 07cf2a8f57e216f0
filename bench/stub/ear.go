package stub

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/stt"
)

// Ear is a recogniser that takes whatever is said for the same words, as many as anybody says in that time.
type Ear struct {
	Delays
	idle
}

// spoken is what it hears; what lasts longer begins again.
var spoken = strings.Fields("i would like to know whether you could put one more thing on the list that we made last week for the kitchen and the garden")

// pace is how many words are said in a second.
const pace = 2.5

// every is how much sound makes a hypothesis.
const every = 500 * time.Millisecond

// Knows knows every language.
func (*Ear) Knows(string) bool { return true }

// Listen begins to hear.
func (e *Ear) Listen(o stt.Options) stt.Stream {
	return &stream{after: e.STT, options: o, every: audio.Samples(cmp.Or(o.Every, every), audio.SpeechRate)}
}

// stream counts what it is given.
type stream struct {
	after   time.Duration
	options stt.Options
	every   int // Samples.

	mu      sync.Mutex
	samples int         // Written,
	tried   int         // and those of them of which a hypothesis was begun last.
	timer   *time.Timer // Tells of it; nil before there is one.
	closed  bool
}

// Write adds sound.
func (s *stream) Write(speech audio.PCM) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.samples += len(speech); s.samples-s.tried >= s.every {
		s.suppose()
	}
}

// Hasten begins a hypothesis.
func (s *stream) Hasten(budget.Urgency) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suppose()
}

// suppose begins a hypothesis of all that was written, in place of one that is not done yet. The caller holds mu.
func (s *stream) suppose() {
	if s.options.Heard == nil || s.closed || s.tried == s.samples {
		return
	}
	s.tried = s.samples
	if s.timer != nil {
		s.timer.Stop()
	}
	heard := audio.Duration(s.tried, audio.SpeechRate)
	s.timer = time.AfterFunc(s.after, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return
		}
		text := words(heard)
		s.options.Heard(stt.Hypothesis{Text: text, Stable: max(0, strings.LastIndexByte(text, ' ')), Speech: heard})
	})
}

// Finish returns what was said, after as long as that takes.
func (s *stream) Finish(ctx context.Context, _ budget.Urgency) (stt.Transcript, error) {
	s.mu.Lock()
	heard := audio.Duration(s.samples, audio.SpeechRate)
	s.mu.Unlock()
	if err := until(ctx, time.Now().Add(s.after)); err != nil {
		return stt.Transcript{}, err
	}
	return stt.Transcript{Text: words(heard), Language: cmp.Or(s.options.Language, "en"), Speech: heard}, nil
}

// Close ends the stream.
func (s *stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed = true; s.timer != nil {
		s.timer.Stop()
	}
}

// words returns what is said in a time.
func words(d time.Duration) string {
	all := make([]string, max(1, int(pace*d.Seconds())))
	for i := range all {
		all[i] = spoken[i%len(spoken)]
	}
	return strings.Join(all, " ")
}
