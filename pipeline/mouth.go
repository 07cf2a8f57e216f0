package pipeline

import (
	"context"
	"fmt"
	"strings"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/transport"
	"riposte/tts"
)

// mouth speaks one answer: it gives clauses a sound at the caller's rate and cuts that into frames.
type mouth struct {
	voice     tts.Synthesizer
	settings  transport.Settings
	stall     time.Duration // How long the voice may bring nothing.
	sounds    chan<- sound
	queue     *budget.Queue // Of them.
	resampler *audio.Resampler
	frame     int       // Samples in a frame.
	rest      audio.PCM // Sound that does not fill a frame yet.
	ended     bool      // What was said last ended a sentence.
	made      int       // Samples so far.
	failed    bool      // The voice did: nothing is said any more.
	words     []word    // Of the clause that is being spoken, as far as they have not been handed on.
	unheard   int       // Samples at the beginning of it that were left out, since nobody can hear them.
}

// sentencePause is the silence between sentences. Voices leave some 110 ms behind a full stop; talkers leave 200 to 400.
const sentencePause = 150 * time.Millisecond

func newMouth(voice tts.Synthesizer, settings transport.Settings, stall time.Duration, sounds chan<- sound, queue *budget.Queue) (*mouth, error) {
	r, err := audio.OpenResampler(voice.Rate(), settings.Rate)
	if err != nil {
		return nil, fmt.Errorf("voice: %w", err)
	}
	return &mouth{
		voice: voice, settings: settings, stall: stall, sounds: sounds, queue: queue, resampler: r,
		frame: audio.Samples(frameLength, settings.Rate),
	}, nil
}

// say speaks a clause. It returns early when the answer is no longer wanted; when the voice fails, the answer ends.
func (m *mouth) say(c clause) {
	t := c.turn
	if m.failed {
		return
	}
	if m.ended {
		pause := make(audio.PCM, audio.Samples(sentencePause, m.settings.Rate))
		if m.send(&clause{turn: t, pause: true}, pause, true) != nil { // without the text: it belongs to what was said before
			return
		}
	}
	m.ended, _ = endMark(strings.TrimSpace(c.text))
	// The first sound is due by the plan, and what follows when that has been heard.
	due := t.clock.Due(m.settings.Plan, budget.TTS).Add(audio.Duration(m.made, m.settings.Rate))
	m.words, m.unheard = nil, 0
	ctx, stop := context.WithCancelCause(budget.WithBill(t.ctx, &t.bill))
	defer stop(nil)
	stalled := time.AfterFunc(m.stall, func() { stop(fmt.Errorf("%w: no sound for %v", errStalled, m.stall)) })
	defer stalled.Stop()
	sound := m.voice.Speak(ctx, c.text, tts.Options{
		Speed: m.settings.Speed, Urgency: budget.Urgency{Deadline: due}, Words: m.place,
	})
	if c.voice != nil {
		sound = c.voice.all(ctx)
	}
	sane := sanity{rate: m.voice.Rate()}
	for pcm, err := range sound {
		stalled.Stop() // who takes the sound may be slow
		if err == nil {
			err = sane.check(pcm)
		}
		if c.voice != nil {
			for _, w := range c.voice.places() {
				m.place(w)
			}
		}
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err != nil {
			m.fail(c, fmt.Errorf("voice: %w", err))
			return
		}
		t.clock.Mark(budget.FirstAudio, time.Now())
		if m.made == 0 && !sane.heard { // an opener would have to wait until it has been played
			m.unheard += len(pcm)
			stalled.Reset(m.stall)
			continue
		}
		if m.send(&c, m.resampler.Write(pcm), false) != nil {
			return
		}
		stalled.Reset(m.stall)
	}
	// The clause's last frame may be short: that keeps its sound and its text together.
	_ = m.send(&c, nil, true)
}

// fail ends the answer behind what has been said of it and of the clause c, which is heard to its end.
func (m *mouth) fail(c clause, why error) {
	m.failed = true
	_ = put(c.turn.ctx, m.sounds, sound{clause: clause{turn: c.turn, fault: why, broke: c.text == ""}}) // fails only when the answer is no longer wanted
}

// place notes where a word of the clause lies in its sound.
func (m *mouth) place(w tts.Word) {
	m.words = append(m.words, word{w.End, audio.Duration(max(0, w.Heard-m.unheard), m.voice.Rate())})
}

// finish sends what the resampler still holds.
func (m *mouth) finish(t *turn) {
	_ = m.send(&clause{turn: t}, m.resampler.Flush(), true)
}

// send hands on all whole frames, and with flush the rest as well. The clause's text goes with the first of them.
func (m *mouth) send(c *clause, pcm audio.PCM, flush bool) error {
	m.rest = append(m.rest, pcm...)
	m.made += len(pcm)
	for len(m.rest) >= m.frame || flush && (len(m.rest) > 0 || c.text != "") {
		n := min(m.frame, len(m.rest))
		if err := put(c.turn.ctx, m.sounds, sound{clause: *c, pcm: m.rest[:n:n], words: m.words}); err != nil {
			return err
		}
		m.queue.Hold(int64(len(m.sounds)) * int64(frameLength))
		m.rest, m.words, c.text = m.rest[n:], nil, ""
	}
	return nil
}

// close frees the resampler. A nil mouth has none.
func (m *mouth) close() {
	if m != nil {
		m.resampler.Close()
	}
}
