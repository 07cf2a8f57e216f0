// Package remote hears by models that are served elsewhere over OpenAI's protocol (/v1/audio/transcriptions): by speaches, whisper.cpp's
// server, vLLM, LiteLLM or a cloud. Such a model hears what was said as a whole: each hypothesis, and the transcript, is an upload of all of it.
package remote

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"riposte/audio"
	"riposte/remote"
	"riposte/stt"
)

// Engine has a server hear. Set the exported fields, then Open it. It is safe for use by many callers at once.
type Engine struct {
	Server *remote.Server
	// Every is how much new sound makes a hypothesis while somebody speaks; 0 makes none but that of the silence which may end a turn.
	Every time.Duration
	First time.Duration // How long an answer may take; 0 has no limit.

	transcriptions openai.AudioTranscriptionService
	life           context.Context // Ends with Close.
	end            context.CancelFunc
}

var _ stt.Recognizer = (*Engine)(nil)

// Open makes ready. It does not ask the server anything.
func (e *Engine) Open(ctx context.Context) error {
	if err := e.Server.Open(ctx); err != nil {
		return err
	}
	e.transcriptions = openai.NewAudioTranscriptionService(e.Server.Options()...)
	e.life, e.end = context.WithCancel(context.Background())
	return nil
}

// Close ends what is under way.
func (e *Engine) Close() error {
	if e.end != nil {
		e.end()
	}
	return e.Server.Close()
}

// Knows reports whether the server hears a language: nobody can tell before it is tried.
func (e *Engine) Knows(language string) bool { return len(language) >= 2 && len(language) <= 3 }

// mostSaid is how many bytes a second of speech may become, besides the first 1 KiB: some five times what the fastest say.
const mostSaid = 200

// hear has the server hear a whole recording.
func (e *Engine) hear(ctx context.Context, speech audio.PCM, o stt.Options) (stt.Transcript, error) {
	t := stt.Transcript{Language: o.Language, Speech: speech.Duration(audio.SpeechRate)}
	file := wav(speech)
	err := e.Server.Ask(ctx, remote.Want{First: e.First, Types: []string{"application/json"}}, func(q *remote.Request) error {
		body := openai.AudioTranscriptionNewParams{
			File: openai.File(bytes.NewReader(file), "speech.wav", "audio/wav"), Model: e.Server.Model,
			ResponseFormat: openai.AudioResponseFormatJSON, Temperature: param.NewOpt(0.0),
		}
		if o.Language != "" {
			body.Language = param.NewOpt(o.Language)
		}
		if o.Prompt != "" {
			body.Prompt = param.NewOpt(o.Prompt)
		}
		res, err := e.transcriptions.New(q.Context(), body)
		if err != nil {
			return err
		}
		if !res.JSON.Text.Valid() {
			return remote.ErrGarbage
		}
		if most := 1<<10 + int(mostSaid*t.Speech.Seconds()); len(res.Text) > most {
			return fmt.Errorf("%w: a transcript of more than %d bytes, of %v of speech", remote.ErrBig, most, t.Speech)
		}
		t.Text = words(res.Text)
		return nil
	})
	return t, err
}

// words returns the words of a transcript: what recognisers write in brackets are sounds.
func words(text string) string {
	var out strings.Builder
	depth := 0
	for _, r := range text {
		switch r {
		case '[', '(', '♪':
			if r != '♪' {
				depth++
			}
		case ']', ')':
			depth = max(0, depth-1)
		default:
			if depth == 0 {
				out.WriteRune(r)
			}
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// wav returns speech as a WAV file.
func wav(speech audio.PCM) []byte {
	le := binary.LittleEndian
	size := uint32(2 * len(speech))
	b := make([]byte, 0, 44+size)
	b = le.AppendUint32(append(b, "RIFF"...), 36+size)
	b = le.AppendUint32(append(b, "WAVEfmt "...), 16)
	b = le.AppendUint16(le.AppendUint16(b, 1), 1)
	b = le.AppendUint32(le.AppendUint32(b, audio.SpeechRate), 2*audio.SpeechRate)
	b = le.AppendUint16(le.AppendUint16(b, 2), 16)
	b = le.AppendUint32(append(b, "data"...), size)
	return speech.AppendBytes(b)
}
