package pipeline

import (
	"slices"
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
	breaks    []int64   // Where playing began anew after a break, as far as is remembered.
	held      bool      // Whether the caller's side has paused,
	since     int64     // and where.
	resampler *audio.Resampler
	came      audio.PCM // What was played last.
	rate      int
	followed  time.Time // When what was asked for last was played to its end.
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
	const together = audio.SpeechRate / 500 // frames that follow each other within 2 ms are played without a break
	if at := m.at(from); at > m.end+together || at < m.end-together {
		m.silence(at)
		m.brk(at)
	}
	m.came = m.resampler.Append(m.came[:0], pcm)
	m.write(m.came)
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
	if m.epoch.IsZero() {
		return
	}
	at := m.at(now)
	if m.held {
		at, m.held = min(at, m.since), false
	}
	m.silence(min(at, m.end))
}

// hold notes that the caller's side pauses, until pause says for how long, or cut that it does not go on.
func (m *monitor) hold(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.epoch.IsZero() && !m.held {
		m.held, m.since = true, m.at(now)
	}
}

// pause notes that what was to be played from one time on is played from another on.
func (m *monitor) pause(from, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.held = false
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
	m.brk(m.end)
	m.write(rest)
}

// write adds pcm to the end.
func (m *monitor) write(pcm audio.PCM) {
	for len(pcm) > 0 {
		n := copy(m.tape[m.end%int64(len(m.tape)):], pcm)
		m.end += int64(n)
		pcm = pcm[n:]
	}
}

// brk notes that playing begins anew at a position.
func (m *monitor) brk(at int64) {
	old := at - int64(len(m.tape))
	m.breaks = append(slices.DeleteFunc(m.breaks, func(b int64) bool { return b < old }), at)
}

// played returns n samples of what is played from a time on. Before and behind what is known there is silence. broken reports that
// playing begins anew within them: what was reckoned of when the far side plays what may be off by a little from there on.
func (m *monitor) played(from time.Time, n int) (pcm audio.PCM, broken bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.epoch.IsZero() {
		return nil, false
	}
	at := m.at(from)
	to := at + int64(n)
	pcm = m.slice(at, to)
	if m.held && m.since < to {
		clear(pcm[max(0, m.since-at):])
	}
	return pcm, slices.ContainsFunc(m.breaks, func(b int64) bool { return b >= at && b < to })
}

// follow is played for one who asks for piece after piece, and gets them without a seam: the times of a caller's sound, which networks
// and busy machines make uncertain by some milliseconds, only count where they are further off than that. An echo can be taken out
// only where both sounds go on evenly.
func (m *monitor) follow(from time.Time, n int) (pcm audio.PCM, broken bool) {
	const uncertain = 40 * time.Millisecond
	if from.Sub(m.followed).Abs() < uncertain {
		from = m.followed
	}
	m.followed = from.Add(audio.Duration(n, audio.SpeechRate))
	return m.played(from, n)
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
