package twilio

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"riposte/transport/phone"
)

const (
	startText = `{"event":"start","sequenceNumber":"1","streamSid":"MZ1","start":{"accountSid":"AC1","streamSid":"MZ1","callSid":"CA1","tracks":["inbound"],"customParameters":{"token":"t"},"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1}}}`
	mediaText = `{"event":"media","sequenceNumber":"4","streamSid":"MZ1","media":{"track":"inbound","chunk":"2","timestamp":"20","payload":"/////w=="}}`
)

// texts are messages, and what they are.
var texts = []struct {
	text string
	want phone.Event
	ok   bool
}{
	{mediaText, phone.Media{Coded: []byte{255, 255, 255, 255}, Sequence: 2, At: 20 * time.Millisecond, Timed: true}, true},
	{`{"event":"media","streamSid":"MZ1","media":{"chunk":3,"timestamp":40,"payload":""}}`, phone.Media{Coded: []byte{}, Sequence: 3, At: 40 * time.Millisecond, Timed: true}, true},
	{`{"event":"media","streamSid":"MZ1","media":{"payload":""}}`, phone.Media{Coded: []byte{}}, true},
	{`{"event":"media","streamSid":"MZ1","media":{"track":"outbound","payload":"AA=="}}`, phone.Nothing{}, true},
	{`{"event":"mark","sequenceNumber":"5","streamSid":"MZ1","mark":{"name":"a"}}`, phone.Marked{Name: "a"}, true},
	{`{"event":"dtmf","streamSid":"MZ1","sequenceNumber":"5","dtmf":{"track":"inbound_track","digit":"#"}}`, phone.Key{Digit: '#'}, true},
	{`{"event":"stop","sequenceNumber":"5","streamSid":"MZ1","stop":{"accountSid":"AC1","callSid":"CA1"}}`, nil, true},
	{`{"event":"other","streamSid":"MZ1"}`, phone.Nothing{}, true},
	{`{"event":"mark","streamSid":"MZ2","mark":{"name":"a"}}`, nil, false},
	{`{"event":"dtmf","streamSid":"MZ1","dtmf":{"digit":"12"}}`, nil, false},
	{`{"event":"dtmf","streamSid":"MZ1"}`, nil, false},
	{`{"event":"media","streamSid":"MZ1","media":{"payload":"%"}}`, nil, false},
	{`{"event":"media","streamSid":"MZ1","media":{"chunk":"-1","payload":""}}`, nil, false},
	{`{"event":"media","streamSid":"MZ1","media":{"chunk":"99999999999999999999","payload":""}}`, nil, false},
	{`{"event":"media","streamSid":"MZ1","media":{"timestamp":"soon","payload":""}}`, nil, false},
	{`{"event":"media","streamSid":"MZ1","media":{"timestamp":"4000000000000000000","payload":""}}`, phone.Media{Coded: []byte{}}, true},
	{startText, nil, false},
	{`{"event":"connected","protocol":"Call","version":"1.0.0"}`, nil, false},
	{`{"event":5}`, nil, false},
	{`{}`, nil, false},
	{`[]`, nil, false},
	{`null`, nil, false},
	{``, nil, false},
}

func TestEvents(t *testing.T) {
	for _, c := range texts {
		m, err := read([]byte(c.text))
		var e phone.Event
		if err == nil {
			e, err = m.event("MZ1", time.Time{})
		}
		if _, misused := errors.AsType[*phone.Misuse](err); misused == c.ok || c.ok && err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		same := reflect.DeepEqual(e, c.want)
		if !same {
			t.Errorf("%s: %+v, want %+v", c.text, e, c.want)
		}
	}
}

// Whatever comes is an event, the end, or a misuse, and what can be read is again what it was.
func FuzzEvents(f *testing.F) {
	for _, c := range texts {
		f.Add([]byte(c.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := read(text)
		if err == nil {
			_ = m.begins()
			var e phone.Event
			if e, err = m.event("MZ1", time.Time{}); err == nil {
				if media, ok := e.(phone.Media); ok && (media.At < 0 || media.At > maxTimestamp) {
					t.Errorf("%q: it is of %v", text, media.At)
				}
				if k, ok := e.(phone.Key); ok && k.Digit == 0 {
					t.Errorf("%q: no key", text)
				}
				return
			}
		}
		if _, misused := errors.AsType[*phone.Misuse](err); !misused {
			t.Errorf("%q: %v", text, err)
		}
	})
}
