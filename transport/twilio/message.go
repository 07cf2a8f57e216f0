package twilio

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"riposte/transport/phone"
)

// message is what Twilio sends (twilio.com/docs/voice/media-streams/websocket-messages).
type message struct {
	Event  string `json:"event"`
	Stream string `json:"streamSid"`
	Start  struct {
		Account    string            `json:"accountSid"`
		Call       string            `json:"callSid"`
		Parameters map[string]string `json:"customParameters"`
		Format     struct {
			Encoding string `json:"encoding"`
			Rate     number `json:"sampleRate"`
			Channels number `json:"channels"`
		} `json:"mediaFormat"`
	} `json:"start"`
	Media struct {
		Track     string `json:"track"`
		Chunk     number `json:"chunk"`     // Counts those of the track, from 1.
		Timestamp number `json:"timestamp"` // Milliseconds since the beginning of the stream.
		Payload   string `json:"payload"`
	} `json:"media"`
	Mark struct {
		Name string `json:"name"`
	} `json:"mark"`
	DTMF struct {
		Digit string `json:"digit"`
	} `json:"dtmf"`
}

// number is a whole number, which Twilio writes as a text; -1 where there is none.
type number int64

// UnmarshalJSON reads a number, however it is written.
func (n *number) UnmarshalJSON(b []byte) error {
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	v, err := strconv.ParseUint(string(b), 10, 62)
	if err != nil {
		return fmt.Errorf("%.32q is no number from 0 on", b)
	}
	*n = number(v)
	return nil
}

// read reads a message. The error is a *phone.Misuse.
func read(text []byte) (message, error) {
	m := message{}
	m.Media.Chunk, m.Media.Timestamp = -1, -1
	if err := json.Unmarshal(text, &m); err != nil {
		return message{}, phone.Misused("A message cannot be read: %v. It is to be an object in JSON, as Media Streams send them.", err)
	}
	if m.Event == "" {
		return message{}, phone.Misused("A message has no event: %.100q.", text)
	}
	return m, nil
}

// format is that of the sound, both ways.
var format = phone.Format{Encoding: phone.MuLaw, Rate: 8000}

// begins looks whether a start event is one that a call can begin with. The error is a *phone.Misuse.
func (m message) begins() error {
	f := m.Start.Format
	switch {
	case m.Stream == "" || m.Start.Call == "":
		return phone.Misused("The event start has no streamSid or no callSid.")
	case f.Encoding != "audio/x-mulaw" || f.Rate != 8000 || f.Channels != 1:
		return phone.Misused("The sound is %.32q at %d Hz on %d channels; it must be audio/x-mulaw at 8000 Hz on one.", f.Encoding, f.Rate, f.Channels)
	}
	return nil
}

// event returns what a message is to a call that has begun; nil where it is its end. The error is a *phone.Misuse.
func (m message) event(stream string, now time.Time) (phone.Event, error) {
	if m.Stream != stream && m.Stream != "" {
		return nil, phone.Misused("A message is of the stream %.40q, on the connection of %q.", m.Stream, stream)
	}
	switch m.Event {
	case "media":
		return m.media(now)
	case "mark":
		return phone.Marked{Name: m.Mark.Name}, nil
	case "dtmf":
		return phone.Pressed(m.DTMF.Digit)
	case "stop":
		return nil, nil
	case "connected", "start":
		return nil, phone.Misused("The event %s has come twice: a connection is one stream.", m.Event)
	}
	return phone.Nothing{}, nil // of a later version
}

// media returns the sound of a message.
func (m message) media(now time.Time) (phone.Event, error) {
	if m.Media.Track != "" && m.Media.Track != "inbound" {
		return phone.Nothing{}, nil // what the caller hears
	}
	coded, err := base64.StdEncoding.DecodeString(m.Media.Payload)
	if err != nil {
		return nil, phone.Misused("The payload of a media event is no base64: %v.", err)
	}
	out := phone.Media{Coded: coded, Arrived: now}
	if m.Media.Chunk > 0 {
		out.Sequence = uint64(m.Media.Chunk)
	}
	if t := m.Media.Timestamp; t >= 0 && t < number(maxTimestamp/time.Millisecond) {
		out.At, out.Timed = time.Duration(t)*time.Millisecond, true
	}
	return out, nil
}

// maxTimestamp is more than a call lasts: Twilio's end after four hours, or after a day where that was asked for.
const maxTimestamp = 48 * time.Hour
