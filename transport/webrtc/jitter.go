package webrtc

import (
	"cmp"
	"slices"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
)

// packet is one packet of the caller's sound.
type packet struct {
	seq     uint16
	ts      uint32 // In samples of opus.Clock.
	payload []byte
	length  int       // How long it sounds, in samples of opus.Clock; 0 for one without sound.
	at      time.Time // When it arrived.
}

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
// and only one thing is waited for: a packet that is missing while a later one is there. For that there is a depth, as long as packets of
// this call that came out of order have lately been late, and never longer than Most.
//
// It keeps the time of the sender, by the packets' timestamps: where the sender leaves silence out it is put in, and while nothing
// comes at all silence goes on as well, so that a turn that ended before can end here. If it turns out that there was sound in that time,
// the sound comes later by as much: that is the surplus, which is made up for by leaving out silence, and nothing else.
//
// It has no clock and asks none. The zero value with Most set is ready.
type jitter struct {
	Most time.Duration // The most that a missing packet is waited for.

	begun   bool
	next    uint16    // The packet that is due,
	ts      uint32    // and the time of its sound.
	missed  uint64    // Bit i stands for the packet next-1-i, and is set if that was given up.
	held    []packet  // Those behind it, in order.
	since   time.Time // When the first of those came that are held while one is missing.
	depth   time.Duration
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
	leastDepth  = 20 * time.Millisecond  // A packet that is late by less came in time in any network.
	stall       = 500 * time.Millisecond // Without any packet, until silence goes on: networks rarely hold packets that long.
	longestGap  = opus.Clock             // In samples. What a sender leaves out beyond it is not filled: it has begun anew.
	longestMade = opus.Clock * 6 / 50    // In samples. Opus fades what it makes up, and is silent by then.
	mostHeld    = 128                    // Packets: more than come within any depth.
	misordered  = 100                    // Packets: one that is older is not late, its sender has begun anew. As in RFC 3550, A.1.
	jump        = 1000                   // Packets: so many are not lost at once, their sender has begun anew.
	darkness    = 2                      // Bytes of a packet at most by which Opus says that nothing follows.
	settling    = 8                      // The depth gets smaller by this part of it with each packet that never came.
	grace       = 5 * time.Millisecond   // What is added to how late packets were.
)

// arrived takes a packet.
func (j *jitter) arrived(p packet) {
	j.count.Packets++
	if !j.begun {
		j.begin(p)
	}
	ahead := int16(p.seq - j.next)
	switch {
	case ahead < -misordered || ahead > jump:
		if p.seq != j.astray || j.count.Packets == 1 {
			j.astray = p.seq + 1
			return // one such packet alone is no news
		}
		j.count.Restarted++
		j.begin(p)
	case ahead < 0:
		j.late(p, int(-ahead)-1)
		return
	}
	at, there := slices.BinarySearchFunc(j.held, p, func(a, b packet) int { return cmp.Compare(int16(a.seq-j.next), int16(b.seq-j.next)) })
	if there {
		j.count.Twice++
		return
	}
	switch {
	case p.seq != j.next && len(j.held) == 0:
		j.since = p.at
	case p.seq == j.next && len(j.held) > 0: // it was waited for
		j.depth = min(j.Most, max(j.depth, p.at.Sub(j.since)*5/4+grace))
	}
	j.held = slices.Insert(j.held, at, p)
}

// begin starts with a packet, whatever was before.
func (j *jitter) begin(p packet) {
	if !j.begun {
		j.depth = j.Most
	}
	j.begun, j.next, j.ts = true, p.seq, p.ts
	j.held, j.missed, j.made, j.filled, j.surplus = j.held[:0], 0, 0, 0, 0
	j.last, j.resting = p.at, false
}

// late takes note of a packet whose place was passed; back is how many lie between.
func (j *jitter) late(p packet, back int) {
	if back > 63 || j.missed>>back&1 == 0 {
		j.count.Twice++
		return
	}
	j.missed &^= 1 << back
	j.count.Late++
	j.count.Lost--
	j.depth = min(j.Most, 2*j.depth)
}

// step returns what comes next of the sound by now, if anything does.
func (j *jitter) step(now time.Time) (piece, bool) {
	for j.begun {
		if len(j.held) == 0 {
			return j.rest(now)
		}
		head := j.held[0]
		missing := head.seq - j.next
		if missing > 0 && now.Sub(j.since) < j.depth && len(j.held) < mostHeld {
			return piece{}, false
		}
		gap := int(int32(head.ts - j.ts))
		if gap > longestGap || gap < -longestGap {
			gap, j.ts, j.surplus = 0, head.ts, 0
		}
		if missing > 0 {
			if gap > 0 && head.length > 0 {
				return j.make(head, gap, now), true
			}
			j.give(missing)
			continue
		}
		if gap > 0 && head.length > 0 {
			n := min(gap, frame)
			return j.hand(piece{kind: quiet, length: n, at: head.at}), true
		}
		j.held = j.held[1:]
		if len(j.held) == 0 {
			j.held = nil // so that its memory goes
		} else {
			j.since = j.held[0].at // if another one is missing, it shows now
		}
		j.pass(false)
		j.last, j.filled = head.at, 0
		if head.length == 0 {
			continue
		}
		if gap < 0 {
			j.surplus -= gap
		}
		j.ts, j.made, j.resting = head.ts, 0, len(head.payload) <= darkness
		return j.hand(piece{kind: whole, payload: head.payload, length: head.length, at: head.at}), true
	}
	return piece{}, false
}

// make makes up for the next part of what is missing before head: gap samples in all. The last of it is what the packet before head was.
func (j *jitter) make(head packet, gap int, now time.Time) piece {
	if gap <= head.length {
		j.give(head.seq - j.next)
		j.count.Recovered++
		return j.hand(piece{kind: recovered, payload: head.payload, length: gap, at: now})
	}
	p := piece{kind: concealed, length: min(gap-head.length, frame), at: now}
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
	j.depth = max(min(leastDepth, j.Most), j.depth-j.depth/settling)
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
		return j.since.Add(j.depth), true
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
