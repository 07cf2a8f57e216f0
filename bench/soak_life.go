package bench

import (
	"fmt"
	"math/rand/v2"
	"time"

	"riposte/caller"
	"riposte/caller/lossy"
)

// life is what one caller does, from coming to going. Chance has drawn it before it begins.
type life struct {
	way     Way
	away    time.Duration // Before the call.
	network lossy.Network // Over WebRTC: what lies between.
	deaf    bool          // It stops to read what comes, and has to be let go.
	hangUp  time.Duration // When it hangs up, whatever is going on; 0 when all is done.
	pause   time.Duration // Between the beginning of the call and the first deed: shorter than a greeting, or longer.
	deeds   []deed
}

// deed is one thing that a caller does.
type deed struct {
	kind deedKind
	clip int           // What is said,
	next int           // and what is said over the answer to it.
	wait time.Duration // Of an interruption: how long after the first thing that was said. Of silence: how long it is.
	keys string
}

// deedKind says what a caller does.
type deedKind string

// What callers do.
const (
	poses      deedKind = "asks"       // It says something, and hears the answer to its end.
	interrupts deedKind = "interrupts" // It says something, and something else while it is thought about or answered.
	falls      deedKind = "is silent"
	presses    deedKind = "presses keys"
)

const (
	// mostDeeds is how much a caller does in a call at most.
	mostDeeds = 6
	// longestAway, longestPause, longestSilence and latestHangUp bound times that are drawn.
	longestAway, longestPause, longestSilence, latestHangUp = 5 * time.Second, 3 * time.Second, 12 * time.Second, 25 * time.Second
	// latestInterruption reaches from the thinking far into the answer.
	latestInterruption = 5 * time.Second
)

// drawLife draws a life: one in six over WebSocket reads nothing after a while, and two in five hang up at any moment.
func drawLife(rnd *rand.Rand, ways []Way, clips int) life {
	l := life{way: ways[rnd.IntN(len(ways))], away: upTo(rnd, longestAway), pause: upTo(rnd, longestPause)}
	if l.way.overWebRTC() && rnd.IntN(2) == 0 {
		l.network = lossy.Network{Loss: 0.05 * rnd.Float64(), Delay: upTo(rnd, 80*time.Millisecond), Jitter: upTo(rnd, 40*time.Millisecond), Seed: rnd.Uint64()}
	}
	l.deaf = rnd.IntN(6) == 0 && l.way.Telephone == nil && !l.way.overWebRTC()
	if rnd.IntN(5) < 2 {
		l.hangUp = upTo(rnd, latestHangUp)
	}
	for range 1 + rnd.IntN(mostDeeds) {
		l.deeds = append(l.deeds, drawDeed(rnd, l.way, clips))
	}
	return l
}

func drawDeed(rnd *rand.Rand, w Way, clips int) deed {
	d := deed{kind: poses, clip: rnd.IntN(clips), next: rnd.IntN(clips)}
	switch n := rnd.IntN(10); {
	case n < 6:
	case n < 8:
		d.kind, d.wait = interrupts, upTo(rnd, latestInterruption)
	case n < 9 && w.Telephone != nil:
		d.kind = presses
		for range 1 + rnd.IntN(6) {
			d.keys += fmt.Sprint(rnd.IntN(10))
		}
		d.keys += "#" // which ends a number
	default:
		d.kind, d.wait = falls, upTo(rnd, longestSilence)
	}
	return d
}

// upTo draws a time that is not 0.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration {
	return 1 + time.Duration(rnd.Int64N(int64(d)))
}

// Way is one by which a service is called.
type Way struct {
	Name      string
	Caller    caller.Caller
	Telephone *Telephone // In place of Caller, where it is not nil.
}

func (w Way) overWebRTC() bool { return w.Telephone == nil && w.Caller.Wire == caller.WebRTC }
