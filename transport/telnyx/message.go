package telnyx

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"

	"riposte/transport/phone"
)

// message is what Telnyx sends. Its numbers are texts.
type message struct {
	Event string `json:"event"`
	Start struct {
		Call       string            `json:"call_control_id"`
		From       string            `json:"from"`
		To         string            `json:"to"`
		Parameters map[string]string `json:"custom_parameters"`
		Format     struct {
			Encoding string `json:"encoding"`
			Rate     int    `json:"sample_rate"`
			Channels int    `json:"channels"`
		} `json:"media_format"`
	} `json:"start"`
	Media struct {
		Track     string `json:"track"`
		Chunk     string `json:"chunk"`
		Timestamp string `json:"timestamp"` // Milliseconds.
		Payload   string `json:"payload"`
	} `json:"media"`
	Mark struct {
		Name string `json:"name"`
	} `json:"mark"`
	DTMF struct {
		Digit string `json:"digit"`
	} `json:"dtmf"`
	Payload struct { // Of an error.
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"payload"`
}

// read reads a message. The error is a *phone.Misuse.
func read(text []byte) (message, error) {
	var m message
	if err := json.Unmarshal(text, &m); err != nil || m.Event == "" {
		return m, phone.Misused("A message is none of the protocol's, which is an object with an event: %.100q.", text)
	}
	return m, nil
}

// format returns the format of the sound that comes. The error is a *phone.Misuse.
func (m message) format() (phone.Format, error) {
	f := m.Start.Format
	if f.Rate == audioRate && f.Channels <= 1 {
		switch f.Encoding {
		case "PCMU":
			return phone.Format{Encoding: phone.MuLaw, Rate: f.Rate}, nil
		case "PCMA":
			return phone.Format{Encoding: phone.ALaw, Rate: f.Rate}, nil
		}
	}
	return phone.Format{}, phone.Misused("The sound is %.16q at %d Hz on %d channels; this takes PCMU and PCMA at 8000 Hz on one: set codec=\"PCMU\" where the stream begins.",
		f.Encoding, f.Rate, f.Channels)
}

// audioRate is the rate of the sound in hertz.
const audioRate = 8000

// event returns what a message is to a call; nil for one that ends it. The error is a *phone.Misuse.
func (m message) event(now time.Time) (phone.Event, error) {
	switch m.Event {
	case "media":
		return m.media(now)
	case "mark":
		return phone.Marked{Name: m.Mark.Name}, nil
	case "dtmf":
		return phone.Pressed(m.DTMF.Digit)
	case "stop":
		return nil, nil
	case "start":
		return nil, &phone.Misuse{Message: "A stream begins once: there is a second start."}
	}
	return phone.Nothing{}, nil
}

// media returns a piece of sound.
func (m message) media(now time.Time) (phone.Event, error) {
	if m.Media.Track == "outbound" {
		return phone.Nothing{}, nil // our own voice
	}
	coded, err := base64.StdEncoding.DecodeString(m.Media.Payload)
	if err != nil {
		return nil, phone.Misused("The payload of a media message is not base64: %v.", err)
	}
	chunk, err := strconv.ParseUint(m.Media.Chunk, 10, 63)
	if err != nil {
		return nil, phone.Misused("The chunk of a media message is %.32q; it must be a number.", m.Media.Chunk)
	}
	at, err := strconv.ParseInt(m.Media.Timestamp, 10, 40)
	if err != nil || at < 0 {
		return nil, phone.Misused("The timestamp of a media message is %.32q; it must be milliseconds.", m.Media.Timestamp)
	}
	if len(coded) == 0 {
		return phone.Nothing{}, nil
	}
	return phone.Media{Coded: coded, Arrived: now, Sequence: chunk, At: time.Duration(at) * time.Millisecond, Timed: true}, nil
}
