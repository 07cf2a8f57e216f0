package pipeline

import (
	"sync"
	"time"

	"riposte/audio"
)

// monitor knows what the caller's side is playing at any time, at audio.SpeechRate, for whoever has to tell the agent's voice
// from the caller's. It is safe for use by several goroutines.
type monitor struct {
	mu        sync.Mutex
	epoch     time.Time // When sample 0 is played; zero before the first.
	tape      audio.PCM // Sample n lies at n % len(tape).
	end       int64     // Behind the last sample.
	resampler *audio.Resampler
	rate      int
}

// remembered is how much sound a monitor keeps: as late as an echo comes, and as early as sound is sent.
const remembered = 2 * time.Second

// play notes that pcm, at the given rate, is played from a time on. Sound comes in order.
func (m *monitor) play(pcm audio.PCM, rate int, from time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rate != rate {
		r, err := audio.OpenResampler(rate, audio.SpeechRate)
		if err != nil {
			return err
		}
		m.close()
		m.rate, m.resampler = rate, r
	}
	if m.epoch.IsZero() {
		m.epoch, m.tape = from, make(audio.PCM, audio.Samples(remembered, audio.SpeechRate))
	}
	const together = audio.SpeechRate / 50 // frames that follow each other within a frame's length are played without a break
	if at := m.at(from); at > m.end+together || at < m.end-together {
		m.silence(at)
	}
	for _, s := range m.resampler.Write(pcm) {
		m.tape[m.end%int64(len(m.tape))] = s
		m.end++
	}
	return nil
}

// silence ends the sound at a position: what lay behind it is not played, and up to it nothing is.
func (m *monitor) silence(at int64) {
	if at < m.end {
		m.end = max(at, 0)
		return
	}
	for range min(at-m.end, int64(len(m.tape))) {
		m.tape[m.end%int64(len(m.tape))] = 0
		m.end++
	}
	m.end = at
}

// cut notes that nothing more of what was sent is played.
func (m *monitor) cut(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.epoch.IsZero() {
		m.silence(min(m.at(now), m.end))
	}
}

// pause notes that what was to be played from one time on is played from another on.
func (m *monitor) pause(from, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch.IsZero() {
		return
	}
	at := max(m.at(from), m.end-int64(len(m.tape)), 0)
	if at >= m.end {
		return
	}
	rest := m.slice(at, m.end)
	m.end = at
	m.silence(max(m.at(until), at))
	for _, s := range rest {
		m.tape[m.end%int64(len(m.tape))] = s
		m.end++
	}
}

// played returns n samples of what is played from a time on. Before and behind what is known there is silence.
func (m *monitor) played(from time.Time, n int) audio.PCM {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch.IsZero() {
		return nil
	}
	at := m.at(from)
	return m.slice(at, at+int64(n))
}

func (m *monitor) slice(from, to int64) audio.PCM {
	out := make(audio.PCM, to-from)
	for i := max(from, m.end-int64(len(m.tape)), 0); i < min(to, m.end); i++ {
		out[i-from] = m.tape[i%int64(len(m.tape))]
	}
	return out
}

func (m *monitor) at(t time.Time) int64 {
	return int64(audio.Samples(t.Sub(m.epoch), audio.SpeechRate))
}

// close frees the resampler.
func (m *monitor) close() {
	if m.resampler != nil {
		m.resampler.Close()
		m.resampler, m.rate = nil, 0
	}
}
