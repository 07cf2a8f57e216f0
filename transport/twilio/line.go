package twilio

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"

	"riposte/transport"
	"riposte/transport/phone"
)

// line is a call over a media stream of Twilio's.
type line struct {
	socket  *phone.Socket
	stream  string // Twilio's ID of the stream,
	call    string // and of the call.
	account *Account
	text    []byte // Of the sound that was sent last.
}

var (
	_ phone.Line        = (*line)(nil)
	_ phone.Marker      = (*line)(nil)
	_ phone.Clearer     = (*line)(nil)
	_ phone.Hanger      = (*line)(nil)
	_ phone.Transferrer = (*line)(nil)
)

// Receive returns the next message.
func (l *line) Receive() (phone.Event, error) {
	text, b, err := l.socket.Next()
	if err != nil {
		return nil, err
	}
	if !text {
		return nil, phone.Misused("A message is binary: media streams send texts.")
	}
	m, err := read(b)
	if err != nil {
		return nil, err
	}
	e, err := m.event(l.stream, time.Now())
	if err == nil && e == nil {
		return nil, transport.ErrHungUp
	}
	return e, err
}

// Play sends sound. It is what is frequent, so it is written by hand.
func (l *line) Play(coded []byte) error {
	l.text = append(l.text[:0], `{"event":"media","streamSid":`...)
	l.text = append(l.text, quoted(l.stream)...)
	l.text = append(l.text, `,"media":{"payload":"`...)
	l.text = base64.StdEncoding.AppendEncode(l.text, coded)
	l.text = append(l.text, `"}}`...)
	return l.socket.WriteText(l.text)
}

// Mark asks to be told when all sound so far was played.
func (l *line) Mark(name string) error {
	return l.socket.WriteText([]byte(`{"event":"mark","streamSid":` + quoted(l.stream) + `,"mark":{"name":` + quoted(name) + `}}`))
}

// Clear has Twilio throw away what it has not played.
func (l *line) Clear() error {
	return l.socket.WriteText([]byte(`{"event":"clear","streamSid":` + quoted(l.stream) + `}`))
}

// HangUp ends the call. Without an account it goes on as the TwiML says that began the stream: it ends, unless that leads elsewhere.
func (l *line) HangUp(ctx context.Context) error {
	if l.account == nil {
		return nil
	}
	return l.account.hangUp(ctx, l.call)
}

// Transfer connects the caller with a number or a SIP address. Twilio has no place for a note.
func (l *line) Transfer(ctx context.Context, to, _ string) error {
	return l.account.transfer(ctx, l.call, to)
}

// Close ends the connection.
func (l *line) Close(why error) { l.socket.Close(why) }

// quoted returns a text as JSON writes it.
func quoted(text string) string {
	b, _ := json.Marshal(text) // a text always can be
	return string(b)
}
