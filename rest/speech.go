package rest

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"riposte/audio"
	"riposte/tts"
)

// speechRequest is a request to have a text spoken.
type speechRequest struct {
	Model        string          `json:"model"`
	Input        string          `json:"input"`
	Voice        json.RawMessage `json:"voice"`
	Format       string          `json:"response_format"`
	Speed        *float32        `json:"speed"`
	StreamFormat string          `json:"stream_format"`
}

// check reports what cannot be spoken.
func (q *speechRequest) check(s *Server) error {
	if strings.TrimSpace(q.Input) == "" {
		return missing("input")
	}
	if n := utf8.RuneCountInString(q.Input); n > s.Limits.Speech {
		return wrong("input", "input has %d characters; it may have %d here.", n, s.Limits.Speech)
	}
	if err := s.voiced(q.Voice); err != nil {
		return err
	}
	switch q.Format {
	case "":
		q.Format = "mp3"
	case "aac":
		return unsupported("response_format", "response_format is aac, which this service does not make; it can be mp3, opus, flac, wav or pcm.")
	default:
		if _, ok := soundTypes[q.Format]; !ok {
			return wrong("response_format", "response_format is %s; it can be mp3, opus, flac, wav or pcm.", quoted(q.Format))
		}
	}
	if q.Speed != nil && !(*q.Speed >= 0.25 && *q.Speed <= 4) {
		return wrong("speed", "speed is %v; it can be from 0.25 to 4.", *q.Speed)
	}
	if q.StreamFormat != "" && q.StreamFormat != "audio" && q.StreamFormat != "sse" {
		return wrong("stream_format", "stream_format is %s; it can be audio or sse.", quoted(q.StreamFormat))
	}
	return nil
}

// voiced refuses a voice that is not known. None is the service's own.
func (s *Server) voiced(raw json.RawMessage) error {
	if isNull(raw) {
		return nil
	}
	var name string
	if json.Unmarshal(raw, &name) != nil {
		var object struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(raw, &object) != nil {
			return wrong("voice", "voice is neither a name nor an object with an id.")
		}
		name = object.ID
	}
	if slices.Contains(s.Voices, name) || len(s.Voices) == 0 {
		return nil
	}
	return wrong("voice", "The voice %s is not known. This service speaks with %s; the names %s mean the same.",
		quoted(name), quoted(s.Voices[0]), strings.Join(s.Voices[1:], ", "))
}

// speak answers POST /v1/audio/speech. The sound leaves as it is made.
func (s *Server) speak(x *exchange) error {
	var q speechRequest
	if err := s.readJSON(x, &q); err != nil {
		return err
	}
	route, set, err := s.find(x, q.Model, s.Models.TTS)
	if err != nil {
		return err
	}
	if err := q.check(s); err != nil {
		return err
	}
	release, err := s.Admit()
	if err != nil {
		return err
	}
	defer release()
	voice := s.Engines(route).TTS
	o := tts.Options{Speed: set.Speed, Urgency: background}
	if q.Speed != nil {
		o.Speed = *q.Speed
	}
	out := speechWriter{x: x, format: q.Format, events: q.StreamFormat == "sse"}
	sound, err := openSound(q.Format, voice.Rate(), &out)
	if err != nil {
		return err
	}
	defer func() { _ = sound.Close() }() // what it holds, where it was not ended
	for p, err := range voice.Speak(x.ctx, q.Input, o) {
		if err != nil {
			return err
		}
		x.came()
		x.heard(p, voice.Rate())
		if err := sound.Write(p); err != nil {
			return err
		}
		if err := out.flush(); err != nil {
			return err
		}
	}
	if err := sound.Close(); err != nil {
		return err
	}
	return out.end()
}

// speechWriter sends sound as it is, or in events.
type speechWriter struct {
	x      *exchange
	format string
	events bool
	held   []byte // Until the next flush: encoders write small parts.
}

// Write implements io.Writer.
func (w *speechWriter) Write(b []byte) (int, error) {
	w.held = append(w.held, b...)
	return len(b), nil
}

// flush sends what there is.
func (w *speechWriter) flush() error {
	if len(w.held) == 0 {
		return nil
	}
	b := w.held
	w.held = nil
	if w.events {
		return w.x.event("", map[string]any{"type": "speech.audio.delta", "audio": base64.StdEncoding.EncodeToString(b)})
	}
	return w.x.part(soundTypes[w.format], b)
}

// end sends the rest.
func (w *speechWriter) end() error {
	if err := w.flush(); err != nil {
		return err
	}
	if !w.events {
		if w.x.begun {
			return nil
		}
		return w.x.whole(soundTypes[w.format], nil) // there was nothing to pronounce
	}
	return w.x.event("", map[string]any{"type": "speech.audio.done", "usage": map[string]any{"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}})
}

// soundWriter makes a file of sound as it comes.
type soundWriter interface {
	Write(p audio.PCM) error
	Close() error // What is left. A second call does nothing.
}
