package realtime

import (
	"context"
	"errors"
	"time"

	"riposte/transport"
)

// Line is what carries one call: a WebSocket, or a data channel with tracks beside it. Receive, Send and the rest may each be used by one
// goroutine at a time, at the same time as the others.
type Line interface {
	// Name is what the wire is called in traces.
	Name() string
	// Receive waits for what comes next from the client. An event's bytes are the line's own: they hold until Receive is called for the second time
	// after it, since one is read while the one before it is being understood. The error says why nothing more will: transport.ErrHungUp where the client is gone,
	// transport.ErrSlowReader where it no longer reads, or what it did that ends the call.
	Receive() (Incoming, error)
	// Send sends one event. For a client that does not take it it waits up to its own limit: then the error is transport.ErrSlowReader.
	Send(event []byte) error
	// Goodbye says why the call ends, as far as the line has words for it, behind all that was sent.
	Goodbye(why error)
	// Close ends the line and frees what belongs to it. Receive returns.
	Close()
}

// ErrTooBig says that a client sent a message beyond the line's limit.
var ErrTooBig = errors.New("the message is too big")

// Incoming is what came from a client.
type Incoming struct {
	Event []byte            // One event in JSON; nil where what came was binary,
	Other transport.Inbound // or came beside the events, such as sound on a track.
	At    time.Time         // When it came.
	from  *side             // That it came from; nil for the line itself.
}

// Tracks are what a Line has on which sound goes by a way of its own, and not within events.
type Tracks interface {
	// Play takes what concerns the sound of answers: transport.Voice, which is at PCMRate, Held, Released and ResponseDone. One that was
	// Cancelled is silent at once.
	Play(ctx context.Context, out transport.Outbound) error
	// Playback says what becomes of that sound.
	Playback() <-chan Playback
	// Lead is how far ahead of its playing sound is to be there.
	Lead() time.Duration
}

// Playback is what has become of an answer's sound.
type Playback struct {
	Response string
	State    PlaybackState
}

// PlaybackState is how far an answer's sound has come.
type PlaybackState string

// The states of playback, by the names of their events.
const (
	PlaybackStarted PlaybackState = "started" // The first of it is on its way.
	PlaybackStopped PlaybackState = "stopped" // All of it has left.
	PlaybackCleared PlaybackState = "cleared" // What had not left was thrown away.
)
