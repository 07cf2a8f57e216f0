// Package stub has engines that take set times, so that what is measured of a service is the service itself: a recogniser that does not
// listen, a model that has one answer, and a voice that plays a recording. They stream as real ones do, and use hardly any of the
// machine.
package stub

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"riposte/audio"
	"riposte/llm"
	"riposte/stt"
	"riposte/tts"
)

// Delays are the times that the engines take. All of them pass on the clock alone: a late goroutine does not move what comes later.
type Delays struct {
	STT   time.Duration // From asking for what was said to its words.
	LLM   time.Duration // From asking for an answer to its first token,
	Token time.Duration // and from each token to the next.
	TTS   time.Duration // From a clause to its first sound, all of which can be heard,
	Pace  float64       // and what each second of sound after that takes to be made, in seconds.
	Words int           // Of each answer; 0 is as many as the model has to say, 25.
}

// Validate reports times that nothing can take.
func (d Delays) Validate() error {
	if d.STT < 0 || d.LLM < 0 || d.Token < 0 || d.TTS < 0 || !(d.Pace >= 0) {
		return errors.New("no stub can be done before it is asked: their times must not be negative")
	}
	if d.Words < 0 {
		return fmt.Errorf("an answer of %d words: it must have 1 or more, or 0 for the usual ones", d.Words)
	}
	if d.Pace >= 1 {
		return fmt.Errorf("a voice that takes %v s for a second of sound does not keep up: its pace must be below 1", d.Pace)
	}
	return nil
}

// answer is what the model says: the first sentence is spoken while the second is written.
var answer = []string{"That can be done today.", "I have put it on the list for you, and you will get a message as soon as everything is ready."}

// Clause returns what the model takes for the first clause that can be spoken. Its last token is the one behind it, by which it is known
// that the sentence is over.
func (d Delays) Clause() time.Duration {
	return d.LLM + time.Duration(len(strings.Fields(answer[0])))*d.Token
}

// Engines are those of a service.
type Engines struct {
	Delays
	Sound audio.PCM // A recording of somebody who speaks: the voice plays it again and again.
	Rate  int       // Hertz.
}

// Ear returns a recogniser.
func (e *Engines) Ear() *Ear { return &Ear{Delays: e.Delays} }

// Model returns a language model.
func (e *Engines) Model() *Model { return &Model{Delays: e.Delays} }

// Voice returns a voice. The error says why the recording is of no use.
func (e *Engines) Voice() (*Voice, error) {
	from, to, ok := audio.Audible(e.Sound, e.Rate)
	if !ok {
		return nil, errors.New("the recording for the stub's voice is silent")
	}
	sound, err := audio.Resample(e.Sound[from:to], e.Rate, voiceRate)
	if err != nil {
		return nil, err
	}
	return &Voice{Delays: e.Delays, loop: sound}, nil
}

// idle has nothing to be loaded.
type idle struct{}

// Open does nothing.
func (idle) Open(context.Context) error { return nil }

// Close does nothing.
func (idle) Close() error { return nil }

var (
	_ stt.Recognizer  = (*Ear)(nil)
	_ llm.Generator   = (*Model)(nil)
	_ tts.Synthesizer = (*Voice)(nil)
)

// until waits for a time. The error is the cause of ctx.
func until(ctx context.Context, at time.Time) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
