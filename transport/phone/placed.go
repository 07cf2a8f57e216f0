package phone

import (
	"strings"

	"riposte/transport"
)

// Outbound reports whether what a far side calls a call's direction, such as Twilio's outbound-api, is that of one that was placed.
func Outbound(direction string) bool {
	return strings.HasPrefix(strings.ToLower(direction), "outbound")
}

// AnsweredBy returns who has answered, in the words of Twilio, Telnyx, Vonage or Asterisk's AMD(): human, machine, machine_start, machine_end_beep and
// others, fax. What none of them is certain of is empty.
func AnsweredBy(word string) transport.Answerer {
	switch word = strings.ToLower(word); {
	case word == "human":
		return transport.Human
	case word == "machine", word == "machine_start":
		return transport.Machine
	case strings.HasPrefix(word, "machine_end"):
		return transport.Recorder
	case word == "fax":
		return transport.Fax
	}
	return ""
}

// placed fills in what the parameters of a call say of its direction.
func (o *Opening) placed() {
	o.Placed = o.Placed || Outbound(o.Parameters["direction"])
	if o.Placed && o.Answerer == "" {
		o.Answerer = AnsweredBy(o.Parameters["answered_by"])
	}
}
