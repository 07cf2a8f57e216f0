package bench

import (
	"context"
	"errors"
	"time"

	"riposte/caller"
	"riposte/caller/phone"
)

// Telephone makes calls by a telephone wire.
type Telephone struct {
	phone.Phone
	// Witness is told what the service knows of its turns: what was heard, what was said, and what each stage took. nil knows nothing, and
	// such turns have no report.
	Witness *Witness
	// Silence is what ends turns: the wire does not tell, and some of what is measured goes by it. 0 where it is not always the same.
	Silence time.Duration
}

// deaf reports whether nobody tells what the service has heard.
func (t *Telephone) deaf() bool { return t != nil && t.Witness == nil }

// heldCall is a call, by whichever wire.
type heldCall interface {
	// Say says something and returns what came of it once the answer has been heard.
	Say(ctx context.Context, s caller.Speech) (caller.Turn, error)
	// Late returns by how much each of the caller's frames left later than it was due.
	Late() []time.Duration
	// frames returns how many frames of answers came, and how many of those not when they were to be played.
	frames() (n, missed int)
	Close() error
}

// dialled is a call over the Realtime protocol.
type dialled struct {
	*caller.Call
	rate int
}

func (d dialled) frames() (n, missed int) {
	for _, a := range d.Now().Answers {
		if !a.Cut() {
			n += int(a.Sound.Duration(d.rate) / telephoneFrame)
			missed += int((a.Starved + telephoneFrame - 1) / telephoneFrame)
		}
	}
	return n, missed
}

// telephoneFrame is how much sound goes at a time.
const telephoneFrame = 20 * time.Millisecond

// phoned is a call by telephone.
type phoned struct {
	*phone.Call
	witness *Witness
	silence time.Duration
	id      string // What the service calls the call.
}

// dial makes a call.
func (t *Telephone) dial(ctx context.Context) (phoned, error) {
	call, err := t.Dial(ctx)
	if err != nil {
		return phoned{}, err
	}
	p := phoned{Call: call, witness: t.Witness, silence: t.Silence}
	if p.witness != nil {
		if p.id, err = p.witness.call(ctx, call.ID()); err != nil {
			return phoned{}, errors.Join(err, call.Close())
		}
	}
	return p, nil
}

// Say is heldCall's. What the service does against the protocol of its wire is an error.
func (p phoned) Say(ctx context.Context, s caller.Speech) (caller.Turn, error) {
	from := time.Now()
	turn, spoke, err := p.Call.Say(ctx, s)
	turn.Silence = p.silence
	if err != nil || p.witness == nil {
		return turn, err
	}
	const patience = 10 * time.Second
	told, err := p.witness.account(ctx, p.id, from, spoke, patience)
	if err != nil {
		return turn, err
	}
	tell(&turn, told)
	return turn, nil
}

func (p phoned) frames() (n, missed int) {
	m := p.Now()
	for _, a := range m.Answers {
		if !a.Cut {
			n += (a.To - a.From) * int(time.Second/telephoneFrame) / m.Rate
		}
	}
	for _, gap := range m.Gaps(stutter) {
		missed += int((gap + telephoneFrame - 1) / telephoneFrame)
	}
	return n, missed
}

// stutter is the longest time in which nothing was there to be played that is taken for a fault within an answer: what is longer lies between
// two of them.
const stutter = 500 * time.Millisecond
