// Package stt is what the pipeline knows of speech recognition.
package stt

import (
	"context"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget"
)

// Recognizer turns speech into text while it is being spoken. It is safe for use by many callers at once.
type Recognizer interface {
	// Listen begins to hear one stretch of speech. It takes nothing that is scarce, and never waits. The stream has to be
	// closed.
	Listen(o Options) Stream
}

// Stream hears one stretch of speech of one caller. Its methods may be called from several goroutines.
type Stream interface {
	// Write adds sound, which is mono at audio.SpeechRate and is copied. It never waits. When as much is written as a
	// hypothesis needs, one is made in the background.
	Write(speech audio.PCM)
	// Hasten says that the talker has just fallen silent, perhaps for good: what was written until now is made a hypothesis at once,
	// as urgently as u says, unless it is one. It never waits.
	Hasten(u budget.Urgency)
	// Finish returns what was said in all that was written before it was called, reusing what is known already. A
	// transcript without text and without an error means that nobody said anything. When ctx ends, Finish returns its cause
	// within 50 ms. The caller may turn out to go on: then more can be written, and Finish be called again.
	Finish(ctx context.Context, u budget.Urgency) (Transcript, error)
	// Close stops whatever is still being done for the stream. Nothing is delivered any more once it has returned.
	Close()
}

// Options says how speech is to be heard. The zero value is ready to use.
type Options struct {
	Language string           // ISO 639-1, such as "en"; empty lets the model find out where it can.
	Prompt   string           // Words that are likely, such as names; it may be empty.
	Every    time.Duration    // How much new sound makes a hypothesis; 0 leaves that to the recogniser.
	Bill     *budget.Bill     // What hypotheses cost the executor goes on it; nil keeps no account.
	Heard    func(Hypothesis) // Called for each hypothesis, in order, on the recogniser's goroutine, which it must not hold up. nil wants none.
}

// Hypothesis is what seems to have been said so far.
type Hypothesis struct {
	Text   string        // Trimmed.
	Stable int           // So many bytes at the beginning of Text, whole words, are not expected to change any more.
	Speech time.Duration // How much of the stream it was made of.
}

// Transcript is what was heard.
type Transcript struct {
	Text     string        // Trimmed; empty when there was no speech.
	Language string        // ISO 639-1 of the language heard.
	Speech   time.Duration // How much sound was listened to.
	Queued   time.Duration // How long it waited for a free recogniser.
	Closed   float32       // The probability that Text ends with a whole sentence, by how the recogniser would punctuate it; 0 if it cannot say.
	Tokens   []Token       // What Text is made of, where the recogniser knows.
}

// Token is a piece of a transcript as the model makes them: a word or a part of one, with the space before it. Its text may be a part of a UTF-8
// sequence.
type Token struct {
	Text    string
	LogProb float32 // Natural logarithm of the probability that the model gave it.
}

// Transcribe hears a whole recording at once.
func Transcribe(ctx context.Context, r Recognizer, speech audio.PCM, o Options) (Transcript, error) {
	o.Heard = nil
	s := r.Listen(o)
	defer s.Close()
	s.Write(speech)
	return s.Finish(ctx, budget.Urgency{})
}

// Agreed returns how many bytes at the beginning of text, whole words, two hypotheses in a row have in common. The last word may still be
// growing.
func Agreed(before, text string) int {
	n := 0
	for n < len(before) && n < len(text) && before[n] == text[n] {
		n++
	}
	if n == len(text) || text[n] != ' ' || n < len(before) && before[n] != ' ' {
		n = max(0, strings.LastIndexByte(text[:n], ' '))
	}
	return n
}
