package caller

import (
	"slices"
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/audio/opus/track"
)

// piece is what is played next.
type piece struct {
	kind    pieceKind
	payload []byte // Of the packet, or for recovered of the one after it.
	length  int    // In samples of opus.Clock.
	at      time.Time
	apart   int  // For how long nothing of the server's is played before it, in samples of opus.Clock.
	paused  bool // The server sent nothing in that time, and begins again a whole number of packets later.
}

type pieceKind int

const (
	whole     pieceKind = iota // As it came.
	recovered                  // It was lost; the packet after it may say what it was.
	concealed                  // It was lost.
)

// Received says what became of the server's packets on their way to a caller over WebRTC.
type Received struct {
	Packets   int // That came.
	Lost      int // That did not come before they were to be played,
	Late      int // and of these, those that came after that.
	Recovered int // Of those lost, those that the packet after them may tell of.
}

// jitter is the jitter buffer of a caller's loudspeaker, much as a browser has one: each packet is played so long after the fastest
// packet of the last seconds would have been there, as it takes for nearly all to be there, Least at least and Most at most. That time
// changes where nothing is sent between two packets; and at once when one comes too late and nothing after it was played, which is then
// played when it comes.
//
// It has no clock and asks none. The zero value with Least set is ready.
type jitter struct {
	Least time.Duration

	begun  bool
	zero   time.Time    // That timestamps count from.
	seq    int64        // Of the packet that is due,
	ts     int64        // and the time of its sound, both counted on beyond their widths.
	base   uint32       // The timestamp that is zero's.
	fast   track.Window // How long packets were underway, less than the first one of all.
	slow   track.Window // And more.
	origin time.Duration
	depth  time.Duration
	held   []heldPacket // In order.
	played time.Time    // When the last piece ends.
	count  Received
}

// heldPacket is a packet with its numbers counted on.
type heldPacket struct {
	track.Packet
	seq, ts int64
}

const (
	most       = 300 * time.Millisecond // The longest that sound waits.
	anew       = 2 * time.Second        // A packet that is so much later or earlier than those before it is of another stream.
	frameTicks = opus.Clock / 50
	warmUp     = 100 * time.Millisecond // After the first packet others may wait, until the track is read.
	madeUp     = 6                      // Packets in a row that are made up: Opus is silent by then.
	slack      = 5 * time.Millisecond
)

// arrived takes a packet.
func (j *jitter) arrived(p track.Packet) {
	j.count.Packets++
	if p.Length == 0 {
		return // without sound, as some are that probe the network
	}
	if !j.begun {
		j.begin(p)
	}
	h := heldPacket{Packet: p, seq: j.seq + int64(int16(p.Seq-uint16(j.seq))), ts: j.ts + int64(int32(p.TS-j.base-uint32(j.ts)))}
	late := p.At.Sub(j.zero) - audio.Duration(int(h.ts), opus.Clock)
	if late-j.slow.Most() > anew || late+j.fast.Most() < -anew {
		j.begin(p)
		h.seq, h.ts, late = int64(p.Seq), 0, 0
	}
	j.fast.Add(-late, p.At)
	if p.At.Sub(j.zero) > warmUp {
		j.slow.Add(late, p.At)
	}
	if h.seq < j.seq {
		j.count.Late++
		return
	}
	i, there := slices.BinarySearchFunc(j.held, h.seq, func(a heldPacket, seq int64) int { return int(a.seq - seq) })
	if !there {
		j.held = slices.Insert(j.held, i, h)
	}
}

// begin begins with a packet, whatever was before.
func (j *jitter) begin(p track.Packet) {
	j.begun, j.zero, j.base, j.seq, j.ts = true, p.At, p.TS, int64(p.Seq), 0
	j.fast, j.slow, j.origin, j.depth, j.held = track.Window{}, track.Window{}, 0, j.Least, nil
}

// plays returns when a sample is to be played.
func (j *jitter) plays(ts int64) time.Time {
	return j.zero.Add(audio.Duration(int(ts), opus.Clock) + j.origin + j.depth)
}

// next returns how many packets before the first that is held are to be made up, and the time of the first sound there is.
func (j *jitter) next() (lost int, ts int64) {
	head := j.held[0]
	lost = int(min(head.seq-j.seq, (head.ts-j.ts)/frameTicks, madeUp))
	if head.seq < j.seq || head.ts < j.ts {
		lost = 0
	}
	// What ought to have been played before it was known to be missing is not played any more.
	for lost > 0 && j.plays(head.ts-int64(lost)*frameTicks).Add(frame).Before(head.At) {
		lost--
	}
	return lost, head.ts - int64(lost)*frameTicks
}

// due returns when step has something, if no packet comes before; false if it is not known.
func (j *jitter) due() (time.Time, bool) {
	if len(j.held) == 0 {
		return time.Time{}, false
	}
	_, ts := j.next()
	return latest(j.plays(ts), j.played), true
}

// step returns what is played by now, if anything is.
func (j *jitter) step(now time.Time) (piece, bool) {
	if len(j.held) == 0 {
		return piece{}, false
	}
	lost, ts := j.next()
	pause := max(0, ts-j.ts)
	if pause > 0 || j.played.IsZero() {
		j.origin = -j.fast.Most()
		j.depth = max(j.Least, min(most, j.slow.Most()-j.origin+slack))
		lost, ts = j.next()
		pause = max(0, ts-j.ts)
	}
	at := latest(j.plays(ts), j.played)
	if now.Before(at) {
		return piece{}, false
	}
	head := j.held[0]
	if late := head.At.Sub(at); late > 0 && lost == 0 { // nothing could be played then
		j.depth = min(most, j.depth+late)
		at = latest(head.At, j.plays(ts))
	}
	p := piece{kind: whole, payload: head.Payload, length: head.Length, at: at, apart: int(pause)}
	// Silence that a server leaves out is whole packets long. When it has nothing to say yet it begins anew whenever it has.
	p.paused = pause > (head.seq-j.seq-int64(lost))*frameTicks && pause%frameTicks == 0
	if lost > 0 {
		p.length, p.kind = frameTicks, concealed
		if lost == 1 {
			p.kind = recovered
			j.count.Recovered++
		}
		j.count.Lost += int(head.seq-j.seq) - (lost - 1)
		j.seq = head.seq - int64(lost) + 1
	} else {
		j.count.Lost += int(head.seq - j.seq)
		j.seq, j.held = head.seq+1, j.held[1:]
	}
	j.ts = ts + int64(p.length)
	j.played = at.Add(audio.Duration(p.length, opus.Clock))
	return p, true
}
