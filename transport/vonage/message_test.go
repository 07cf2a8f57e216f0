package vonage

import (
	"errors"
	"testing"
	"time"

	"riposte/transport/phone"
)

// As Vonage's documents have them.
const (
	connectedText = `{"event":"websocket:connected","content-type":"audio/l16;rate=16000","ticket":"t","prop2":"value2"}`
	pressedText   = `{"event":"websocket:dtmf","digit":"5","duration":260}`
	clearedText   = `{"event":"websocket:cleared"}`
	notifiedText  = `{"event":"websocket:notify","payload":{"mark":"m1"}}`
)

func TestMessages(t *testing.T) {
	for text, want := range map[string]phone.Event{
		pressedText: phone.Key{Digit: '5'}, clearedText: phone.Nothing{}, notifiedText: phone.Marked{Name: "m1"},
		connectedText: phone.Nothing{}, `{"event":"websocket:later"}`: phone.Nothing{}, `{}`: phone.Nothing{},
	} {
		if got, err := event([]byte(text)); err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{``, `[]`, `"x"`, `{"event":5}`, `{"event":"websocket:dtmf"}`, `{"event":"websocket:dtmf","digit":"55"}`, `{"event":"websocket:dtmf","digit":"E"}`} {
		if _, err := event([]byte(text)); !misuse(err) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFormat(t *testing.T) {
	for text, rate := range map[string]int{"audio/l16;rate=16000": 16000, "audio/l16; rate=8000": 8000, "Audio/L16;rate=24000": 24000} {
		if f, err := format(text); err != nil || f != (phone.Format{Encoding: phone.Linear, Rate: rate}) {
			t.Errorf("%s is %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"", "audio/l16", "audio/l16;rate=44100", "audio/l16;rate=x", "audio/pcmu;rate=8000", "audio/l16;rate=16000;rate=8000"} {
		if f, err := format(text); !misuse(err) {
			t.Errorf("%q is %v, %v", text, f, err)
		}
	}
}

func TestSound(t *testing.T) {
	f := phone.Format{Encoding: phone.Linear, Rate: 16000}
	if got, err := sound(make([]byte, 640), f, time.Unix(1, 0)); err != nil || len(got.(phone.Media).Coded) != 640 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := sound(nil, f, time.Time{}); err != nil || got != (phone.Nothing{}) {
		t.Errorf("nothing is %+v, %v", got, err)
	}
	if _, err := sound(make([]byte, 641), f, time.Time{}); !misuse(err) {
		t.Errorf("half a sample: %v", err)
	}
}

func misuse(err error) bool {
	_, ok := errors.AsType[*phone.Misuse](err)
	return ok
}

func FuzzMessage(f *testing.F) {
	for _, text := range []string{connectedText, pressedText, clearedText, notifiedText, `{"event":"websocket:dtmf","digit":"\ud800"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := event(text); err != nil && !misuse(err) {
			t.Errorf("the error is %v", err)
		}
		m, err := read(text)
		if err == nil {
			_, err = format(m.ContentType)
		}
		if err != nil && !misuse(err) {
			t.Errorf("the error is %v", err)
		}
	})
}
