package vonage

import (
	"encoding/json"
	"mime"
	"strconv"
	"time"

	"riposte/transport/phone"
)

// message is a text that Vonage sends. What was put into the endpoint's headers is at its top level, beside these.
type message struct {
	Event       string `json:"event"`
	ContentType string `json:"content-type"`
	Ticket      string `json:"ticket"`
	Digit       string `json:"digit"`
	Payload     struct {
		Mark string `json:"mark"`
	} `json:"payload"`
}

// The events of Vonage's sockets. Others are of no use here.
const (
	connected = "websocket:connected"
	pressed   = "websocket:dtmf"
	notified  = "websocket:notify"
)

// read reads a text. The error is a *phone.Misuse.
func read(text []byte) (message, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return m, phone.Misused("A text is no message of the protocol, which is an object with an event: %.100q.", text)
	}
	return m, nil
}

// format returns the format of sound that a content type names, as audio/l16;rate=16000 does. The error is a *phone.Misuse.
func format(contentType string) (phone.Format, error) {
	kind, parameters, err := mime.ParseMediaType(contentType)
	rate, wrong := strconv.Atoi(parameters["rate"])
	if err != nil || kind != "audio/l16" || wrong != nil || rate != 8000 && rate != 16000 && rate != 24000 {
		return phone.Format{}, phone.Misused("The content-type is %.64q; this takes audio/l16;rate=16000, or 8000 or 24000.", contentType)
	}
	return phone.Format{Encoding: phone.Linear, Rate: rate}, nil
}

// event returns what a text is to a call. The error is a *phone.Misuse.
func event(text []byte) (phone.Event, error) {
	m, err := read(text)
	if err != nil {
		return nil, err
	}
	switch m.Event {
	case pressed:
		return phone.Pressed(m.Digit)
	case notified:
		return phone.Marked{Name: m.Payload.Mark}, nil
	}
	return phone.Nothing{}, nil
}

// sound returns what a binary message is to a call, in a format. The error is a *phone.Misuse.
func sound(b []byte, f phone.Format, now time.Time) (phone.Event, error) {
	if len(b)%2 != 0 {
		return nil, phone.Misused("A binary message has %d bytes: samples have two.", len(b))
	}
	if len(b) == 0 {
		return phone.Nothing{}, nil
	}
	return phone.Media{Coded: b, Arrived: now}, nil
}
