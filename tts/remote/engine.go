// Package remote speaks by voices that are served elsewhere over OpenAI's protocol (/v1/audio/speech): by speaches, Kokoro, vLLM, LiteLLM or
// a cloud.
package remote

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"riposte/audio"
	"riposte/remote"
	"riposte/tts"
)

// Rate is that of the sound, in hertz: what comes at another is changed to it.
const Rate = 24000

// Engine has a server speak. Set the exported fields, then Open it. It is safe for use by many callers at once.
type Engine struct {
	Server   *remote.Server
	Voice    string        // By the server's name. It defaults to alloy.
	Format   string        // What the server is asked for: pcm, wav, mp3, opus or flac. What comes is told by itself. It defaults to pcm.
	Language string        // Of the texts, such as "en": numbers and the like are written out before they are sent.
	First    time.Duration // How long the first sound may take; 0 has no limit.

	speech openai.AudioSpeechService
}

var _ tts.Synthesizer = (*Engine)(nil)

// Open makes ready. It does not ask the server anything.
func (e *Engine) Open(ctx context.Context) error {
	if e.Voice == "" {
		e.Voice = "alloy"
	}
	if e.Format == "" {
		e.Format = "pcm"
	}
	if err := e.Server.Open(ctx); err != nil {
		return err
	}
	e.speech = openai.NewAudioSpeechService(e.Server.Options()...)
	return nil
}

// Close ends what is under way behind the calls.
func (e *Engine) Close() error { return e.Server.Close() }

// Rate returns Rate.
func (e *Engine) Rate() int { return Rate }

// errOver ends a request of whose sound no more is wanted.
var errOver = errors.New("no more sound is wanted")

// Speak yields what the server makes of text, as it comes. Where words lie in the sound the protocol does not tell, so nobody is told: who
// needs to know takes it that words last as long as they are.
func (e *Engine) Speak(ctx context.Context, text string, o tts.Options) iter.Seq2[audio.PCM, error] {
	return func(yield func(audio.PCM, error) bool) {
		said := tts.Normalize(text, e.Language)
		if !strings.ContainsFunc(said, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			return
		}
		body := openai.AudioSpeechNewParams{Input: said, Model: e.Server.Model, ResponseFormat: openai.AudioSpeechNewParamsResponseFormat(e.Format)}
		body.Voice.OfString = param.NewOpt(e.Voice)
		if o.Speed > 0 && o.Speed != 1 {
			body.Speed = param.NewOpt(float64(o.Speed))
		}
		err := e.Server.Ask(ctx, remote.Want{First: e.First}, func(q *remote.Request) error {
			res, err := e.speech.New(q.Context(), body)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			c := &chunks{yield: func(p audio.PCM) error {
				q.Began()
				if !yield(p, nil) {
					return errOver
				}
				return nil
			}}
			defer c.close()
			err = decode(res, c)
			if err == nil {
				err = c.end()
			}
			if errors.Is(err, errOver) {
				return nil
			}
			return err
		})
		if err != nil {
			yield(nil, err)
		}
	}
}
