package asterisk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"riposte/transport/phone"
)

// language is how chan_websocket writes its control messages: f(json) in the dial string, or plain text where that is missing.
type language int

const (
	plain language = iota
	object
)

// languageOf returns the language of a message.
func languageOf(message []byte) language {
	if len(message) > 0 && message[0] == '{' {
		return object
	}
	return plain
}

// notice is what chan_websocket tells: an event, and of the others what that event has.
type notice struct {
	Event         string            `json:"event"`
	ConnectionID  string            `json:"connection_id,omitempty"`      // MEDIA_START
	Channel       string            `json:"channel,omitempty"`            // MEDIA_START
	ChannelID     string            `json:"channel_id,omitempty"`         // All.
	Format        string            `json:"format,omitempty"`             // MEDIA_START
	FrameSize     int               `json:"optimal_frame_size,omitempty"` // MEDIA_START, in bytes
	Variables     map[string]string `json:"channel_variables,omitempty"`  // MEDIA_START, in JSON only
	Digit         string            `json:"digit,omitempty"`              // DTMF_END
	CorrelationID string            `json:"correlation_id,omitempty"`     // MEDIA_MARK_PROCESSED
	Text          string            `json:"error_text,omitempty"`         // ERROR
}

// The events that say something to a call. Others tell of a state.
const (
	mediaStart    = "MEDIA_START"
	markProcessed = "MEDIA_MARK_PROCESSED"
	dtmfEnd       = "DTMF_END"
	mediaXOFF     = "MEDIA_XOFF"
	mediaXON      = "MEDIA_XON"
	errorEvent    = "ERROR"
)

// field takes a field of a notice in plain text, which has them as name:value, one space between them. What a call has no use for is left out.
func (n *notice) field(name, value string) (err error) {
	switch name {
	case "connection_id":
		n.ConnectionID = value
	case "channel":
		n.Channel = value
	case "channel_id":
		n.ChannelID = value
	case "format":
		n.Format = value
	case "optimal_frame_size":
		n.FrameSize, err = strconv.Atoi(value)
	case "digit":
		n.Digit = value
	}
	return err
}

// parse reads a message. The error is a *phone.Misuse.
func (l language) parse(message []byte) (n notice, err error) {
	if l == object {
		err = json.Unmarshal(message, &n)
	} else {
		n, err = parsePlain(string(message))
	}
	if err == nil && !isEvent(n.Event) {
		err = errors.New("it names no event")
	}
	if err != nil {
		return notice{}, phone.Misused("A text is no message of chan_websocket: %v. Is it Asterisk that has connected?", err)
	}
	return n, nil
}

// isEvent reports whether a text may be the name of an event, known or not.
func isEvent(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// parsePlain reads a message in plain text: an event, and its fields, or an ID alone, or for ERROR a text that goes on to the end.
func parsePlain(message string) (n notice, err error) {
	event, rest, _ := strings.Cut(strings.TrimSpace(message), " ")
	n.Event = event
	if event == markProcessed {
		n.CorrelationID = rest
		return n, nil
	}
	if before, text, ok := strings.Cut(rest, "error_text:"); ok && event == errorEvent {
		n.Text, rest = text, before
	}
	for pair := range strings.FieldsSeq(rest) {
		name, value, _ := strings.Cut(pair, ":")
		if err := n.field(name, value); err != nil {
			return notice{}, fmt.Errorf("%s is %q", name, value)
		}
	}
	return n, nil
}

// The commands of chan_websocket that a call has a use for. What it is sent are whole frames, so there is nothing that START_MEDIA_BUFFERING would
// have to keep.
const (
	answer        = "ANSWER"
	hangUpCommand = "HANGUP"
	markMedia     = "MARK_MEDIA"
	flushMedia    = "FLUSH_MEDIA"
	pauseMedia    = "PAUSE_MEDIA"
	continueMedia = "CONTINUE_MEDIA"
)

// mostCommand is how long a command may be, in bytes: chan_websocket leaves longer ones out, without a word.
const mostCommand = 128

// command writes a command, with an ID unless that is empty.
func (l language) command(name, id string) ([]byte, error) {
	var b []byte
	if l == object {
		var err error
		b, err = json.Marshal(struct {
			Command       string `json:"command"`
			CorrelationID string `json:"correlation_id,omitempty"`
		}{name, id})
		if err != nil {
			return nil, err
		}
	} else {
		b = []byte(strings.TrimSuffix(name+" "+id, " "))
	}
	if len(b) > mostCommand {
		return nil, fmt.Errorf("a command of %d bytes: chan_websocket takes %d", len(b), mostCommand)
	}
	return b, nil
}

// formatOf returns the format that Asterisk calls by a name. Those that are packed are none: no sound can be made of a part of them.
func formatOf(name string) (f phone.Format, ok bool) {
	switch name {
	case "ulaw":
		return phone.Format{Encoding: phone.MuLaw, Rate: 8000}, true
	case "alaw":
		return phone.Format{Encoding: phone.ALaw, Rate: 8000}, true
	case "slin":
		return phone.Format{Encoding: phone.Linear, Rate: 8000}, true
	}
	for _, rate := range rates[1:] {
		if name == "slin"+strconv.Itoa(rate/1000) {
			return phone.Format{Encoding: phone.Linear, Rate: rate}, true
		}
	}
	return f, false
}

// sounds returns the format that a MEDIA_START names. The error is a *phone.Misuse.
func (n notice) sounds() (phone.Format, error) {
	f, ok := formatOf(n.Format)
	switch {
	case !ok:
		return f, phone.Misused("The format is %q: name another one in the dial string, such as c(slin16), c(slin), c(ulaw) or c(alaw).", n.Format)
	case n.FrameSize <= 0 || f.Bytes()%n.FrameSize != 0:
		return f, phone.Misused("optimal_frame_size is %d: of %s it has to be %d, which is 20 ms.", n.FrameSize, n.Format, f.Bytes())
	}
	return f, nil
}
