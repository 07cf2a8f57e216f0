package live

import (
	"time"

	"riposte/audio"
	"riposte/audio/room"
)

// frame is how much sound goes into one message.
const frame = 20 * time.Millisecond

// microphone turns what the caller says into frames by an absolute schedule: frame k holds the sound captured from k*20 ms to
// (k+1)*20 ms after the start, and is due at its end.
type microphone struct {
	start time.Time
	taken int        // Frames.
	queue audio.PCM  // What is still to be said.
	echo  *room.Echo // How it hears the loudspeaker; nil where it does not.
	dead  time.Time  // Until then nothing of it reaches the service.
}

// say says p behind all that is queued, but not before at. It returns when p's first sample is captured, and when the frame with
// its last is due.
func (m *microphone) say(p audio.PCM, at time.Time) (start, end time.Time) {
	size := audio.Samples(frame, Rate)
	pad := func(n int) { m.queue = append(m.queue, make(audio.PCM, n)...) }
	if over := len(m.queue) % size; over > 0 {
		pad(size - over)
	}
	first := m.taken + len(m.queue)/size
	for ; m.at(first).Before(at); first++ {
		pad(size)
	}
	m.queue = append(m.queue, p...)
	last := m.taken + (len(m.queue)+size-1)/size
	return m.at(first), m.at(last)
}

// next returns the next frame, and when it is due.
func (m *microphone) next() (p audio.PCM, due time.Time) {
	p = make(audio.PCM, audio.Samples(frame, Rate))
	m.queue = m.queue[copy(p, m.queue):]
	if len(m.queue) == 0 {
		m.queue = nil
	}
	m.taken++
	return p, m.at(m.taken)
}

// at returns when frame k begins.
func (m *microphone) at(k int) time.Time { return m.start.Add(time.Duration(k) * frame) }

// hear adds to a frame what the microphone hears of what was played meanwhile.
func (m *microphone) hear(p, played audio.PCM) {
	if m.echo == nil {
		return
	}
	for i, s := range m.echo.Hear(played) {
		p[i] = int16(max(-32768, min(32767, int(p[i])+int(s))))
	}
}
