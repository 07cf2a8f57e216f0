package vonage

import (
	"context"
	"time"

	"riposte/transport/phone"
)

// line is a call over a WebSocket of Vonage's. The call ends with it, since nothing follows it in what Vonage is told to do.
type line struct {
	socket  *phone.Socket
	format  phone.Format
	call    string // Vonage's ID of the leg that the caller is on; empty where it is not known.
	account *Account
}

var (
	_ phone.Line        = (*line)(nil)
	_ phone.Marker      = (*line)(nil)
	_ phone.Clearer     = (*line)(nil)
	_ phone.Transferrer = (*line)(nil)
)

// Receive returns the next message.
func (l *line) Receive() (phone.Event, error) {
	text, b, err := l.socket.Next()
	switch {
	case err != nil:
		return nil, err
	case text:
		return event(b)
	}
	return sound(b, l.format, time.Now())
}

// Play sends sound, a message for each frame: Vonage takes no others.
func (l *line) Play(coded []byte) error {
	for size := l.format.Bytes(); len(coded) > 0; {
		frame := coded[:min(size, len(coded))]
		coded = coded[len(frame):]
		if err := l.socket.WriteBinary(frame); err != nil {
			return err
		}
	}
	return nil
}

// Mark asks to be told when all sound so far was played. Vonage forgets that when it clears what it has.
func (l *line) Mark(name string) error {
	return l.socket.WriteJSON(map[string]any{"action": "notify", "payload": map[string]string{"mark": name}})
}

// Clear has Vonage throw away what it has not played.
func (l *line) Clear() error { return l.socket.WriteJSON(map[string]any{"action": "clear"}) }

// Transfer connects the caller with a number. Vonage has no place for a note.
func (l *line) Transfer(ctx context.Context, to, _ string) error {
	return l.account.transfer(ctx, l.call, to)
}

// Close ends the connection.
func (l *line) Close(why error) { l.socket.Close(why) }
