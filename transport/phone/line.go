package phone

import (
	"context"
	"fmt"
	"strings"
	"time"

	"riposte/transport"
)

// Line is one telephone call on one wire. It reads and writes that wire's envelopes and does nothing else: it keeps no time, queues nothing
// and decides nothing. Receive is used by one goroutine; what writes is used by one at a time, beside it, but for HangUp and Transfer, which
// may take their time: sound may be written meanwhile.
//
// A line says what else its far side can do by being a Marker, Clearer, Pauser, Presser, Hanger or Transferrer.
type Line interface {
	// Receive waits for what the far side does next. The error says why nothing more will come: transport.ErrHungUp where the call has ended,
	// transport.ErrLost where the connection has, or what the far side did that ends the call, which is a *Misuse.
	Receive() (Event, error)
	// Play sends the next sound to the far side, in the opening's format: whole frames of FrameLength.
	Play(coded []byte) error
	// Close ends the connection, in the wire's own words for why, and lets Receive return.
	Close(why error)
}

// Marker is a Line whose far side says when it has played all that it was sent before a mark.
type Marker interface{ Mark(name string) error }

// Clearer is a Line whose far side keeps sound to be played, and throws it away when told to.
type Clearer interface{ Clear() error }

// Pauser is a Line whose far side stops playing what it has, and goes on with it, when told to.
type Pauser interface {
	Pause() error
	Resume() error
}

// Presser is a Line that has messages for keys of a telephone. On one that has none they are sounds.
type Presser interface{ Press(keys string) error }

// Hanger is a Line that has to be told to end the call: on others it ends with the connection.
type Hanger interface {
	HangUp(ctx context.Context) error
}

// Transferrer is a Line that can lead the caller to somebody else.
type Transferrer interface {
	Transfer(ctx context.Context, to, note string) error
}

// Opening is what is known of a call when it begins.
type Opening struct {
	Wire       string            // What the wire is called in traces: twilio, audiosocket.
	ID         string            // What the far side calls the call; empty where it has no name for it.
	From, To   string            // Who calls, and what was dialled; empty where the wire does not say.
	Route      string            // The route that the far side was told to ask for; empty leaves that to the number.
	Parameters map[string]string // What else the far side says of it.
	// Placed says that the call was placed, and has been answered; Answerer by whom, where the far side knows. Where both are not set the parameters
	// direction and answered_by say it, in the words of Direction and AnsweredBy.
	Placed   bool
	Answerer transport.Answerer
	In, Out  Format // Of the sound that comes, and of that which is sent.
	// Buffer is how much sound the far side keeps to be played: so much is sent ahead, against jitter. Where it is 0 the far side plays what
	// comes as it comes, and each frame leaves just when it is due.
	Buffer time.Duration
	// Unordered says that the far side may send pieces of sound out of their order.
	Unordered bool
	// Steady says that the far side needs sound all the time, and not only while something is said.
	Steady bool
	// Toned says that the wire has no messages for keys that the caller presses: they are sounds.
	Toned bool
}

// FrameLength is how much sound goes over a telephone line at a time.
const FrameLength = 20 * time.Millisecond

// Misuse is what a far side did against the rules of its wire, so that the call had to end. The message says how to mend it.
type Misuse struct{ Message string }

// Misused returns a *Misuse.
func Misused(format string, args ...any) error { return &Misuse{fmt.Sprintf(format, args...)} }

// mostMisuse is how much of a message is shown, in bytes: it may quote what the far side sent, which may be as long as it likes.
const mostMisuse = 400

func (m *Misuse) Error() string {
	if len(m.Message) > mostMisuse {
		return strings.ToValidUTF8(m.Message[:mostMisuse], "") + "…"
	}
	return m.Message
}
