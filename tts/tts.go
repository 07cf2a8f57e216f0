// Package tts is what the pipeline knows of voices.
package tts

import (
	"context"
	"iter"

	"riposte/audio"
	"riposte/budget"
)

// Synthesizer speaks. It is safe for use by many callers at once.
type Synthesizer interface {
	// Rate returns the rate of the sound in hertz. It never changes.
	Rate() int
	// Speak yields the sound of text in order, the first part as soon as it exists. Text without anything to
	// pronounce yields nothing. After an error it yields nothing more. Breaking out of the loop, or the end of ctx,
	// stops the voice within 50 ms. What is not awaited may end early, with budget.ErrPreempted or budget.ErrLate.
	Speak(ctx context.Context, text string, o Options) iter.Seq2[audio.PCM, error]
}

// Options says how text is to be spoken. The zero value is ready to use.
type Options struct {
	Speed   float32        // 1 is the voice's own pace, 2 twice as fast; 0 means 1.
	Urgency budget.Urgency // By when the first sound has to be there.
	// Words is told where the words of the text, as white space separates them, lie in its sound: each once, in their order,
	// before the sound in which it ends is yielded. What is not spoken, such as an emoji, ends with the word before it. nil does
	// not want to know; a voice that does not know never calls it.
	Words func(Word)
}

// Word is the place of a word of a text in the text's sound.
type Word struct {
	End   int // The byte in the text behind the word. What stands between words belongs to none.
	Heard int // The sample in the sound behind the word, silence after it not included.
}

// SynthesizerFunc lets a function with a fixed rate be a Synthesizer.
type SynthesizerFunc struct {
	Hz int
	Fn func(ctx context.Context, text string, o Options) iter.Seq2[audio.PCM, error]
}

// Rate returns f.Hz.
func (f SynthesizerFunc) Rate() int { return f.Hz }

// Speak calls f.Fn.
func (f SynthesizerFunc) Speak(ctx context.Context, text string, o Options) iter.Seq2[audio.PCM, error] {
	return f.Fn(ctx, text, o)
}
