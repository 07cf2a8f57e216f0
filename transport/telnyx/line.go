package telnyx

import (
	"context"
	"encoding/base64"
	"time"

	"riposte/transport"
	"riposte/transport/phone"
)

// line is a call over a media stream of Telnyx's. The call ends with it, since nothing follows it where it begins.
type line struct {
	socket  *phone.Socket
	call    string // Telnyx's ID of the call.
	account *Account
	text    []byte // Of the message that is sent.
}

var (
	_ phone.Line        = (*line)(nil)
	_ phone.Marker      = (*line)(nil)
	_ phone.Clearer     = (*line)(nil)
	_ phone.Transferrer = (*line)(nil)
)

// Receive returns the next message.
func (l *line) Receive() (phone.Event, error) {
	_, b, err := l.socket.Next()
	if err != nil {
		return nil, err
	}
	m, err := read(b)
	if err != nil {
		return nil, err
	}
	e, err := m.event(time.Now())
	if err == nil && e == nil {
		return nil, transport.ErrHungUp
	}
	return e, err
}

// Play sends sound.
func (l *line) Play(coded []byte) error {
	l.text = append(l.text[:0], `{"event":"media","media":{"payload":"`...)
	l.text = base64.StdEncoding.AppendEncode(l.text, coded)
	l.text = append(l.text, `"}}`...)
	return l.socket.WriteText(l.text)
}

// Mark asks to be told when all sound so far was played.
func (l *line) Mark(name string) error {
	return l.socket.WriteJSON(map[string]any{"event": "mark", "mark": map[string]string{"name": name}})
}

// Clear has Telnyx throw away what it has not played.
func (l *line) Clear() error { return l.socket.WriteJSON(map[string]any{"event": "clear"}) }

// Transfer connects the caller with a number or a SIP address. Telnyx has no place for a note.
func (l *line) Transfer(ctx context.Context, to, _ string) error {
	return l.account.transfer(ctx, l.call, to)
}

// Close ends the connection.
func (l *line) Close(why error) { l.socket.Close(why) }
