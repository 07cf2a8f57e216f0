package stt

import (
	"context"
	"errors"
	"iter"
	"time"

	"riposte/audio"
	"riposte/budget"
)

// What a scribe may fail with that the caller can do something about.
var (
	// ErrTranslate reports that a recogniser writes down what it hears in the language in which it is said, and in no other.
	ErrTranslate = errors.New("the recogniser cannot translate")
	// ErrWords reports that a recogniser does not know when a word was said.
	ErrWords = errors.New("the recogniser does not know when words are said")
)

// Scribe writes down whole recordings, of any length. It is safe for use by many callers at once.
type Scribe interface {
	// Scribe yields what is said in speech, which is mono at audio.SpeechRate, in its order, each sentence as soon as it is known. After an
	// error it yields nothing more. Breaking out of the loop, or the end of ctx, stops it within 50 ms.
	Scribe(ctx context.Context, speech audio.PCM, o Recording) iter.Seq2[Segment, error]
}

// Recording says how a recording is to be written down. The zero value is ready to use.
type Recording struct {
	Language  string // ISO 639-1, such as "en"; empty lets the model find out where it can.
	Prompt    string // Words that are likely, such as names, and how they are written; it may be empty.
	Translate bool   // Into English.
	Words     bool   // Fill in Segment.Words.
	Urgency   budget.Urgency
}

// Segment is a sentence, or what is left of one, and when it was said.
type Segment struct {
	From, To time.Duration // From the beginning of the recording.
	Text     string        // Trimmed.
	Language string        // ISO 639-1 of the language heard.
	Words    []Word        // Where asked for.
	Tokens   []int         // The model's.
	Pieces   []Token       // What Text is made of, where the recogniser knows.
	LogProb  float32       // The mean of the natural logarithms of their probabilities.
	NoSpeech float32       // The probability, by the model, that nobody speaks.
}

// Word is a word and when it was said.
type Word struct {
	Text     string // With the marks around it.
	From, To time.Duration
}

// Write has a recogniser write down a recording. One that is no Scribe hears it as a whole and says nothing of words; in the background it
// hears it again where it had to make room.
func Write(ctx context.Context, r Recognizer, speech audio.PCM, o Recording) iter.Seq2[Segment, error] {
	if s, ok := r.(Scribe); ok {
		return s.Scribe(ctx, speech, o)
	}
	return func(yield func(Segment, error) bool) {
		switch {
		case o.Translate:
			yield(Segment{}, ErrTranslate)
			return
		case o.Words:
			yield(Segment{}, ErrWords)
			return
		}
		s := r.Listen(Options{Language: o.Language, Prompt: o.Prompt})
		defer s.Close()
		s.Write(speech)
		t, err := s.Finish(ctx, o.Urgency)
		for o.Urgency.Class == budget.Background && errors.Is(err, budget.ErrPreempted) {
			t, err = s.Finish(ctx, o.Urgency)
		}
		if err != nil {
			yield(Segment{}, err)
			return
		}
		if t.Text != "" {
			yield(Segment{To: t.Speech, Text: t.Text, Language: t.Language, Pieces: t.Tokens}, nil)
		}
	}
}
