package rest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/tts"
)

const speech = "/v1/audio/speech"

// Each form of sound can be read again, and is as long as what was spoken.
func TestSpeech(t *testing.T) {
	for format, kind := range soundTypes {
		m := &mouth{parts: 5}
		w := ask(t, server(Engines{TTS: m}), "POST", speech, `{"model":"tts-1","input":"Hello.","voice":"alloy","speed":2,"response_format":"`+format+`","instructions":"Be kind."}`)
		if w.Code != 200 || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d %v", format, w.Code, w.Header())
		}
		if m.text != "Hello." || m.asked.Speed != 2 || m.asked.Urgency != background {
			t.Errorf("%s: the voice was asked %q, %+v", format, m.text, m.asked)
		}
		var sound audio.PCM
		var err error
		rate := soundRate
		switch format {
		case "pcm":
			sound = audio.FromBytes(w.Body.Bytes())
		case "opus":
			err = opus.Stream(w.Body, soundRate, func(p audio.PCM) error {
				sound = append(sound, p...)
				return nil
			})
		default:
			sound, rate, err = audio.Decode(w.Body, format)
		}
		if length := sound.Duration(rate); err != nil || rate != soundRate || length < time.Second || length > 1200*time.Millisecond {
			t.Errorf("%s: %v at %d Hz, %v", format, length, rate, err)
		}
	}
	m := &mouth{parts: 1}
	w := ask(t, server(Engines{TTS: m}), "POST", speech, `{"model":"sales","input":"Hello."}`)
	if w.Header().Get("Content-Type") != "audio/mpeg" || m.asked.Speed != 1.5 {
		t.Errorf("by a route: %v, %+v", w.Header(), m.asked)
	}
}

// Sound leaves when it is made: the first of it while the rest is still to be spoken.
func TestSpeechStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var first time.Duration
		r, w := io.Pipe()
		go func() {
			_, _ = io.ReadFull(r, make([]byte, 4))
			first = time.Since(began)
			_, _ = io.Copy(io.Discard, r)
		}()
		s := server(Engines{TTS: &mouth{parts: 10, every: time.Second}})
		s.Handler().ServeHTTP(piped{httptest.NewRecorder(), w}, httptest.NewRequest("POST", speech, strings.NewReader(`{"model":"joe","input":"Hello.","response_format":"wav"}`)))
		w.Close()
		synctest.Wait()
		if first != time.Second || time.Since(began) != 10*time.Second {
			t.Errorf("the first sound left after %v, the last after %v", first, time.Since(began))
		}
	})
}

// piped is an answer that somebody reads as it comes.
type piped struct {
	*httptest.ResponseRecorder
	w io.Writer
}

func (p piped) Write(b []byte) (int, error) { return p.w.Write(b) }

func TestSpeechEvents(t *testing.T) {
	w := ask(t, server(Engines{TTS: &mouth{parts: 2}}), "POST", speech, `{"model":"joe","input":"Hello.","response_format":"pcm","stream_format":"sse"}`)
	_, data := events(t, w.Body.String())
	var sound []byte
	for _, d := range data[:len(data)-1] {
		o := object(t, []byte(d))
		b, err := base64.StdEncoding.DecodeString(at(t, o, "audio").(string))
		if err != nil || at(t, o, "type") != "speech.audio.delta" {
			t.Errorf("%s: %v", d, err)
		}
		sound = append(sound, b...)
	}
	if len(data) != 3 || len(sound) != 2*2*4800 || at(t, object(t, []byte(data[2])), "type") != "speech.audio.done" {
		t.Errorf("%d events with %d bytes", len(data), len(sound))
	}
}

func TestSpeechRefuses(t *testing.T) {
	s := server(Engines{TTS: &mouth{parts: 1}})
	s.Limits.Speech = 10
	for fields, want := range map[string]string{
		`"input":" "`:                         "missing_required_parameter input",
		`"input":"12345678901"`:               "invalid_value input",
		`"input":"x","voice":"darth"`:         "invalid_value voice",
		`"input":"x","voice":{"id":"darth"}`:  "invalid_value voice",
		`"input":"x","voice":5`:               "invalid_value voice",
		`"input":"x","response_format":"aac"`: "unsupported_parameter response_format",
		`"input":"x","response_format":"au"`:  "invalid_value response_format",
		`"input":"x","speed":5`:               "invalid_value speed",
		`"input":"x","stream_format":"ws"`:    "invalid_value stream_format",
	} {
		code, param, _ := strings.Cut(want, " ")
		t.Run(fields, func(t *testing.T) {
			refused(t, ask(t, s, "POST", speech, `{"model":"joe",`+fields+`}`), 400, code, param)
		})
	}
	if w := ask(t, s, "POST", speech, `{"model":"joe","input":"äöü","voice":{"id":"joe"}}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := ask(t, server(Engines{TTS: &mouth{}}), "POST", speech, `{"model":"joe","input":"?","response_format":"pcm"}`); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("nothing to pronounce: %d %s", w.Code, w.Body)
	}
}

// Speech that fails before its first sound has a status; later its connection breaks, so that half of it does not pass for all.
func TestSpeechFails(t *testing.T) {
	broken := errors.New("broken")
	refused(t, ask(t, server(Engines{TTS: &mouth{fail: broken}}), "POST", speech, `{"model":"joe","input":"x","response_format":"pcm"}`), 500, "internal_error", "")
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("it ended with %v", p)
			}
		}()
		ask(t, server(Engines{TTS: &mouth{parts: 1, fail: broken}}), "POST", speech, `{"model":"joe","input":"x","response_format":"pcm"}`)
	}()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	m := &mouth{parts: 1, every: time.Hour}
	server(Engines{TTS: m}).Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", speech, bytes.NewReader([]byte(`{"model":"joe","input":"x"}`))))
	refused(t, w, 503, "shutting_down", "") // which is for those who are still there when the service ends
}

var _ tts.Synthesizer = (*mouth)(nil)
