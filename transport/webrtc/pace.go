package webrtc

import (
	"time"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/transport/realtime"
)

// slot is how much sound one packet carries.
const slot = 20 * time.Millisecond

// slotSamples is that many samples of the sound that is encoded.
const slotSamples = realtime.PCMRate / 50

// sounding is one slot of sound that waits to leave.
type sounding struct {
	pcm      audio.PCM // slotSamples of it; nil for what is only said of the answer.
	response string    // The answer that it is of.
	state    realtime.PlaybackState
	at       time.Time // When it came here.
}

// leaving is a packet that is due.
type leaving struct {
	pcm   audio.PCM // nil where only something is said.
	ts    uint32    // In samples of opus.Clock, since the first packet.
	spurt bool      // Nothing was sent just before it.
	said  realtime.Playback
}

// pace says when each slot of the answers' sound leaves, and at which time of the stream: one every 20 ms, on a schedule that does not
// drift. Slots that are late because nobody asked for them leave at once, with the times that they were due at. Where sound comes late, or
// again after a pause, the stream's time has gone on meanwhile, and a new schedule begins with it.
//
// It has no clock and asks none. The zero value is ready, and sends nothing while there is nothing to be heard.
type pace struct {
	Always bool // Silence is sent as well.

	queue   []sounding
	rest    audio.PCM // Less than a slot.
	current string    // The answer whose sound comes,
	begun   bool      // and whether it is known to have begun.
	sent    bool      // Something was.
	due     time.Time // When the next slot is due, if the sound goes on without a break.
	ts      uint32    // Of that.
	held    bool
}

// push takes the next sound of an answer.
func (p *pace) push(response string, pcm audio.PCM, now time.Time) {
	if response != p.current {
		p.flush(now)
		p.current, p.begun = response, false
	}
	p.rest = append(p.rest, pcm...)
	for len(p.rest) >= slotSamples {
		p.slot(p.rest[:slotSamples:slotSamples], now)
		p.rest = p.rest[slotSamples:]
	}
}

// slot queues one slot of the current answer.
func (p *pace) slot(pcm audio.PCM, now time.Time) {
	s := sounding{pcm: pcm, response: p.current, at: now}
	if !p.begun {
		p.begun, s.state = true, realtime.PlaybackStarted
	}
	p.queue = append(p.queue, s)
}

// flush makes a whole slot of what is left.
func (p *pace) flush(now time.Time) {
	if len(p.rest) == 0 {
		return
	}
	last := make(audio.PCM, slotSamples)
	copy(last, p.rest)
	p.rest = nil
	p.slot(last, now)
}

// end says that nothing more comes of the current answer.
func (p *pace) end(now time.Time) {
	p.flush(now)
	if p.begun {
		// The encoder looks ahead by some milliseconds, which a slot of silence brings out.
		p.queue = append(p.queue, sounding{pcm: make(audio.PCM, slotSamples), response: p.current, at: now},
			sounding{response: p.current, state: realtime.PlaybackStopped, at: now})
	}
	p.current, p.begun = "", false
}

// cut throws away what has not left. said is what is to be told of it, if anything is.
func (p *pace) cut() (said realtime.Playback, ok bool) {
	began := p.begun // of the current answer, unless it waits here that it has
	for _, s := range p.queue {
		switch {
		case s.state == realtime.PlaybackStarted && s.response == p.current:
			began = false
		case s.state == realtime.PlaybackStopped:
			said, ok = realtime.Playback{Response: s.response, State: realtime.PlaybackCleared}, true
		}
	}
	if began {
		said, ok = realtime.Playback{Response: p.current, State: realtime.PlaybackCleared}, true
	}
	p.queue, p.rest, p.current, p.begun, p.held = nil, nil, "", false, false
	return said, ok
}

// hold lets nothing leave until release.
func (p *pace) hold() { p.held = true }

// release lets sound leave again, from now on.
func (p *pace) release(now time.Time) {
	if !p.held {
		return
	}
	p.held = false
	for i := range p.queue {
		p.queue[i].at = now
	}
}

// waiting returns how much sound waits.
func (p *pace) waiting() time.Duration { return time.Duration(len(p.queue)) * slot }

// next returns what leaves by now, if anything does.
func (p *pace) next(now time.Time) (leaving, bool) {
	at, ok := p.nextAt()
	if !ok || now.Before(at) {
		return leaving{}, false
	}
	if p.held || len(p.queue) == 0 {
		return p.leave(leaving{pcm: make(audio.PCM, slotSamples)}, at), true
	}
	s := p.queue[0]
	p.queue = p.queue[1:]
	out := leaving{pcm: s.pcm}
	if s.state != "" {
		out.said = realtime.Playback{Response: s.response, State: s.state}
	}
	if s.pcm == nil {
		return out, true
	}
	return p.leave(out, at), true
}

// nextAt returns when the next slot is due; false when there will be none before more comes.
func (p *pace) nextAt() (time.Time, bool) {
	switch {
	case p.held || len(p.queue) == 0:
		return p.due, p.Always && p.sent
	case p.sent && p.queue[0].at.Sub(p.due) < slot:
		return p.due, true
	}
	return p.queue[0].at, true
}

// leave gives a packet its time. at is when it was due.
func (p *pace) leave(out leaving, at time.Time) leaving {
	if gap := at.Sub(p.due); !p.sent || gap > 0 {
		out.spurt = true
		if p.sent {
			p.ts += uint32(audio.Samples(gap, opus.Clock))
		}
	}
	out.ts = p.ts
	p.sent, p.due, p.ts = true, at.Add(slot), p.ts+frame
	return out
}
