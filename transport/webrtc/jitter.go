package webrtc

import (
	"cmp"
	"slices"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/audio/opus/track"
)

// piece is what comes next of the caller's sound.
type piece struct {
	kind    pieceKind
	payload []byte    // Of the packet that it is, or for recovered of the one after it.
	length  int       // In samples of opus.Clock.
	at      time.Time // When it arrived, or was given up. It never goes back from one piece to the next.
}

type pieceKind int

const (
	whole     pieceKind = iota // As it came.
	recovered                  // It was lost, and the packet after it may say what it was.
	concealed                  // It was lost.
	quiet                      // The caller's side sent nothing, or what was lost is too long to be made up.
)

// jitter puts the packets of a caller's sound into their order. Nobody listens at a fixed pace, as a loudspeaker does: what is in order is
// handed on at once, and what came late in a row at once as well, however much it is. So there is nothing to keep in hand against jitter,
// and only one thing is waited for: a packet that is missing while a later one is there.
//
// It is waited for until it would be here if it were as late as the latest that came in the last seconds, by the time of its sound: a later
// packet that was underway for long itself proves that nothing is to be waited for any more, and where all take the same way in the same
// time a missing packet is known to be lost as soon as the next one comes, which also says what it was. Only packets that come are counted
// for that: loss makes no wait shorter or longer. It is never longer than Most.
//
// It keeps the time of the sender, by the packets' timestamps: where the sender leaves silence out it is put in, and while nothing
// comes at all silence goes on as well, so that a turn that ended before can end here. If it turns out that there was sound in that time,
// the sound comes later by as much: that is the surplus, which is made up for by leaving out silence, and nothing else.
//
// It has no clock and asks none. The zero value with Most set is ready.
type jitter struct {
	Most time.Duration // The most that a missing packet is waited for.

	begun   bool
	next    uint16         // The packet that is due,
	ts      uint32         // and the time of its sound.
	missed  uint64         // Bit i stands for the packet next-1-i, and is set if that was given up.
	held    []track.Packet // Those behind it, in order.
	since   time.Time      // When the first of those came that are held while one is missing.
	way     track.Underway
	made    int       // Samples that were made up since a packet was handed on.
	last    time.Time // When the packet came that was handed on last,
	filled  int       // and how much silence went on since, in samples.
	resting bool      // Its sender has said that it sends nothing until it has something to say.
	stopped bool      // Nobody can send anything: no silence goes on.
	surplus int       // Samples that were handed on beyond the sender's time.
	at      time.Time // Of the newest piece.
	astray  uint16    // The packet after one that seems to be from long ago.
	count   counts
}

// counts says what became of a caller's packets.
type counts struct {
	Packets    uint64 // Came.
	Lost       uint64 // Never came.
	Late       uint64 // Came after they had been given up, or were made up.
	Twice      uint64 // Came again.
	Recovered  uint64 // Were handed on from what the packet after them says of them.
	Concealed  uint64 // Pieces that were made up.
	LeftOut    uint64 // Pieces of silence that were left out, to catch up.
	Restarted  uint64 // Times that the sender began anew.
	Unreadable uint64 // Were no Opus.
}

const (
	frame       = opus.Clock / 50        // Of silence, and of what is made up, in samples.
	stall       = 500 * time.Millisecond // Without any packet, until silence goes on: networks rarely hold packets that long.
	longestGap  = opus.Clock             // In samples. What a sender leaves out beyond it is not filled: it has begun anew.
	longestMade = opus.Clock * 6 / 50    // In samples. Opus fades what it makes up, and is silent by then.
	mostHeld    = 128                    // Packets: more than come within any depth.
	misordered  = 100                    // Packets: one that is older is not late, its sender has begun anew. As in RFC 3550, A.1.
	jump        = 1000                   // Packets: so many are not lost at once, their sender has begun anew.
	darkness    = 2                      // Bytes of a packet at most by which Opus says that nothing follows.
	grace       = 5 * time.Millisecond   // A missing packet has so much longer than any that came, for what machines are late by.
)

// arrived takes a packet.
func (j *jitter) arrived(p track.Packet) {
	j.count.Packets++
	if !j.begun {
		j.begin(p)
	}
	ahead := int16(p.Seq - j.next)
	switch {
	case ahead < -misordered || ahead > jump:
		if p.Seq != j.astray || j.count.Packets == 1 {
			j.astray = p.Seq + 1
			return // one such packet alone is no news
		}
		j.count.Restarted++
		j.begin(p)
	case ahead < 0:
		j.late(p, int(-ahead)-1)
		return
	}
	at, there := slices.BinarySearchFunc(j.held, p, func(a, b track.Packet) int { return cmp.Compare(int16(a.Seq-j.next), int16(b.Seq-j.next)) })
	if there {
		j.count.Twice++
		return
	}
	j.note(p)
	if p.Seq != j.next && len(j.held) == 0 {
		j.since = p.At
	}
	j.held = slices.Insert(j.held, at, p)
}

// begin starts with a packet, whatever was before.
func (j *jitter) begin(p track.Packet) {
	j.begun, j.next, j.ts = true, p.Seq, p.TS
	j.held, j.missed, j.made, j.filled, j.surplus = j.held[:0], 0, 0, 0, 0
	j.way = track.Underway{}
	j.last, j.resting = p.At, false
}

// note takes note of how long a packet was underway. One without sound has no time of its own.
func (j *jitter) note(p track.Packet) {
	if p.Length > 0 {
		j.way.Took(p.TS, p.At)
	}
}

// late takes note of a packet whose place was passed; back is how many lie between.
func (j *jitter) late(p track.Packet, back int) {
	if back > 63 || j.missed>>back&1 == 0 {
		j.count.Twice++
		return
	}
	j.missed &^= 1 << back
	j.count.Late++
	j.count.Lost--
	j.note(p)
}

// step returns what comes next of the sound by now, if anything does.
func (j *jitter) step(now time.Time) (piece, bool) {
	for j.begun {
		if len(j.held) == 0 {
			return j.rest(now)
		}
		head := j.held[0]
		missing := head.Seq - j.next
		if missing > 0 && now.Before(j.until()) && len(j.held) < mostHeld {
			return piece{}, false
		}
		gap := int(int32(head.TS - j.ts))
		if gap > longestGap || gap < -longestGap {
			gap, j.ts, j.surplus = 0, head.TS, 0
		}
		if missing > 0 {
			if gap > 0 && head.Length > 0 {
				return j.make(head, gap, now), true
			}
			j.give(missing)
			continue
		}
		if gap > 0 && head.Length > 0 {
			n := min(gap, frame)
			return j.hand(piece{kind: quiet, length: n, at: head.At}), true
		}
		j.held = j.held[1:]
		if len(j.held) == 0 {
			j.held = nil // so that its memory goes
		} else {
			j.since = j.held[0].At // if another one is missing, it shows now
		}
		j.pass(false)
		j.last, j.filled = head.At, 0
		if head.Length == 0 {
			continue
		}
		if gap < 0 {
			j.surplus -= gap
		}
		j.ts, j.made, j.resting = head.TS, 0, len(head.Payload) <= darkness
		return j.hand(piece{kind: whole, payload: head.Payload, length: head.Length, at: head.At}), true
	}
	return piece{}, false
}

// until returns when what is missing before the first that is held is given up.
func (j *jitter) until() time.Time {
	head := j.held[0]
	most, least := j.since.Add(j.Most), j.since.Add(min(grace, j.Most))
	by, ok := j.way.By(head.TS-uint32(head.Length), head.At) // of the last of it
	by = by.Add(grace)
	switch {
	case !ok || by.After(most):
		return most
	case by.Before(least):
		return least
	}
	return by
}

// make makes up for the next part of what is missing before head: gap samples in all. The last of it is what the packet before head was.
func (j *jitter) make(head track.Packet, gap int, now time.Time) piece {
	if gap <= head.Length {
		j.give(head.Seq - j.next)
		j.count.Recovered++
		return j.hand(piece{kind: recovered, payload: head.Payload, length: gap, at: now})
	}
	p := piece{kind: concealed, length: min(gap-head.Length, frame), at: now}
	if j.made += p.length; j.made > longestMade {
		p.kind = quiet
	} else {
		j.count.Concealed++
	}
	return j.hand(p)
}

// give gives up packets that are missing.
func (j *jitter) give(missing uint16) {
	j.count.Lost += uint64(missing)
	for range missing {
		j.pass(true)
	}
}

// pass goes on to the next packet.
func (j *jitter) pass(missed bool) {
	j.next++
	j.missed <<= 1
	if missed {
		j.missed |= 1
	}
}

// rest goes on with silence while nothing comes.
func (j *jitter) rest(now time.Time) (piece, bool) {
	if due, ok := j.rests(); !ok || now.Before(due) {
		return piece{}, false
	}
	j.filled += frame
	return j.hand(piece{kind: quiet, length: frame, at: now}), true
}

// rests returns when the next silence is due: it is as late as a packet may be.
func (j *jitter) rests() (time.Time, bool) {
	if j.stopped {
		return time.Time{}, false
	}
	due := j.last.Add(audio.Duration(j.filled+frame, opus.Clock) + j.Most)
	if stalled := j.last.Add(stall); !j.resting && due.Before(stalled) {
		due = stalled
	}
	return due, true
}

// hand counts a piece as handed on.
func (j *jitter) hand(p piece) piece {
	j.ts += uint32(p.length)
	if p.at.Before(j.at) {
		p.at = j.at
	}
	j.at = p.at
	return p
}

// due returns when step will have something if no packet comes before.
func (j *jitter) due() (time.Time, bool) {
	switch {
	case !j.begun:
		return time.Time{}, false
	case len(j.held) > 0:
		return j.until(), true
	}
	return j.rests()
}

// stop says whether nobody can send anything now, since the connection is broken.
func (j *jitter) stop(stopped bool, now time.Time) {
	if j.stopped && !stopped {
		j.last, j.filled = now, 0
	}
	j.stopped = stopped
}

// leaveOut reports whether a piece that is silent, in the middle of a longer silence, is to be left out, to catch up.
func (j *jitter) leaveOut(p piece) bool {
	if j.surplus < p.length {
		return false
	}
	j.surplus -= p.length
	j.count.LeftOut++
	return true
}
