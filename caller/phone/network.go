package phone

import (
	"math/rand/v2"
	"time"
)

// network is a way that messages take, in their order, each in its own time.
type network struct {
	delay, jitter time.Duration
	rnd           *rand.Rand
}

// arrives returns when a message arrives that is sent now, given when the one before it does.
func (n *network) arrives(now, before time.Time) time.Time {
	at := now.Add(n.delay)
	if n.jitter > 0 {
		at = at.Add(time.Duration(n.rnd.Int64N(int64(n.jitter))))
	}
	if at.Before(before) {
		return before
	}
	return at
}
