package caller

import (
	"time"

	"riposte/audio"
)

// frame is how much sound goes into one event: what telephones send, and little enough to add no delay worth naming.
const frame = 20 * time.Millisecond

// microphone turns what the caller says into frames by an absolute schedule: frame k holds the sound captured from k*20 ms
// to (k+1)*20 ms after the start, and is due at its end. A frame that leaves late does not move the others.
type microphone struct {
	rate  int
	start time.Time
	taken int       // Frames.
	queue audio.PCM // What is still to be said.
}

// newMicrophone returns one that begins to record at start.
func newMicrophone(rate int, start time.Time) *microphone {
	return &microphone{rate: rate, start: start}
}

// play says p after all that is queued, from the next frame on. It returns when p's first sample is captured, and when the
// frame with its last is due.
func (m *microphone) play(p audio.PCM) (start, end time.Time) {
	size := audio.Samples(frame, m.rate)
	if over := len(m.queue) % size; over > 0 {
		m.queue = append(m.queue, make(audio.PCM, size-over)...)
	}
	first := m.taken + len(m.queue)/size
	m.queue = append(m.queue, p...)
	last := m.taken + (len(m.queue)+size-1)/size
	return m.at(first), m.at(last)
}

// next returns the next frame and when it is due. The frame is the caller's.
func (m *microphone) next() (p audio.PCM, due time.Time) {
	p = make(audio.PCM, audio.Samples(frame, m.rate))
	n := copy(p, m.queue)
	if m.queue = m.queue[n:]; len(m.queue) == 0 {
		m.queue = nil
	}
	m.taken++
	return p, m.at(m.taken)
}

// at returns when frame k begins.
func (m *microphone) at(k int) time.Time { return m.start.Add(time.Duration(k) * frame) }
