package telnyx

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"riposte/transport/phone"
)

// As Telnyx's documents have them.
const (
	startText = `{"event":"start","sequence_number":"1","stream_id":"32DE0DEA","start":{"user_id":"3E6F995F","call_control_id":"v2:T02","call_session_id":"ff55","from":"+13122010094","to":"+13122123456","custom_parameters":{"ticket":"t"},"media_format":{"encoding":"PCMU","sample_rate":8000,"channels":1}}}`
	mediaText = `{"event":"media","sequence_number":"4","stream_id":"32DE0DEA","media":{"track":"inbound","chunk":"2","timestamp":"5","payload":"f39/"}}`
	dtmfText  = `{"event":"dtmf","stream_id":"32DE0DEA","occurred_at":"2024-09-10T12:00:00Z","sequence_number":"5","dtmf":{"digit":"1"}}`
	markText  = `{"event":"mark","sequence_number":"6","stream_id":"32DE0DEA","mark":{"name":"m1"}}`
	errorText = `{"event":"error","stream_id":"32DE0DEA","payload":{"title":"rate_limit_reached","detail":"Too many requests","code":100005}}`
	stopText  = `{"event":"stop","sequence_number":"7","stream_id":"32DE0DEA","stop":{"user_id":"3E6F995F","call_control_id":"v2:T02"}}`
)

func TestMessages(t *testing.T) {
	now := time.Unix(1, 0)
	for text, want := range map[string]phone.Event{
		mediaText: phone.Media{Coded: []byte{0x7f, 0x7f, 0x7f}, Arrived: now, Sequence: 2, At: 5 * time.Millisecond, Timed: true},
		dtmfText:  phone.Key{Digit: '1'},
		markText:  phone.Marked{Name: "m1"},
		errorText: phone.Nothing{},
		stopText:  nil,
		`{"event":"connected","version":"1.0.0"}`:                              phone.Nothing{},
		`{"event":"later"}`:                                                    phone.Nothing{},
		`{"event":"media","media":{"track":"outbound","payload":"not read"}}`:  phone.Nothing{},
		`{"event":"media","media":{"chunk":"1","timestamp":"0","payload":""}}`: phone.Nothing{},
	} {
		m, err := read([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := m.event(now)
		if media, ok := got.(phone.Media); ok {
			wanted, _ := want.(phone.Media)
			if !bytes.Equal(media.Coded, wanted.Coded) {
				t.Errorf("%s has the sound %x", text, media.Coded)
			}
			media.Coded, wanted.Coded = nil, nil
			got, want = key(media), key(wanted)
		}
		if err != nil || got != want {
			t.Errorf("%s is %+v, %v", text, got, err)
		}
	}
	m, err := read([]byte(startText))
	if err != nil {
		t.Fatal(err)
	}
	if f, err := m.format(); err != nil || f != (phone.Format{Encoding: phone.MuLaw, Rate: 8000}) || m.Start.Parameters["ticket"] != "t" || m.Start.Call != "v2:T02" {
		t.Errorf("start is read as %+v, %v, %v", m.Start, f, err)
	}
}

// key makes an event without a slice of a piece of sound, for comparing.
func key(m phone.Media) phone.Event {
	return phone.Key{Digit: rune(m.Sequence)<<16 | rune(m.At/time.Millisecond)}
}

func TestWrongMessages(t *testing.T) {
	for _, text := range []string{
		``, `null`, `[]`, `{}`, `{"event":1}`, `{"event":"media","media":"x"}`, `{"event":"dtmf"}`, `{"event":"dtmf","dtmf":{"digit":"12"}}`, `{"event":"dtmf","dtmf":{"digit":"ä"}}`,
		`{"event":"media","media":{"chunk":"1","timestamp":"0","payload":"%"}}`, `{"event":"media","media":{"chunk":"-1","timestamp":"0","payload":""}}`,
		`{"event":"media","media":{"chunk":"1","timestamp":"","payload":""}}`, `{"event":"media","media":{"chunk":"1","timestamp":"-5","payload":""}}`,
		`{"event":"media","media":{"chunk":"1","timestamp":"99999999999999999999","payload":""}}`, startText,
	} {
		m, err := read([]byte(text))
		if err == nil {
			_, err = m.event(time.Time{})
		}
		if _, ok := errors.AsType[*phone.Misuse](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{
		`{"event":"start","start":{"media_format":{"encoding":"L16","sample_rate":16000,"channels":1}}}`,
		`{"event":"start","start":{"media_format":{"encoding":"PCMU","sample_rate":8000,"channels":2}}}`,
		`{"event":"start"}`,
	} {
		m, err := read([]byte(text))
		if err == nil {
			_, err = m.format()
		}
		if _, ok := errors.AsType[*phone.Misuse](err); !ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, text := range []string{startText, mediaText, dtmfText, markText, errorText, stopText, `{"event":"media","media":{"chunk":"18446744073709551615","timestamp":"1e9"}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := read(text)
		if err == nil {
			_, _ = m.format()
			_, err = m.event(time.Time{})
		}
		if _, misuse := errors.AsType[*phone.Misuse](err); err != nil && !misuse {
			t.Errorf("the error is %v", err)
		}
	})
}
