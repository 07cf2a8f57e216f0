package audio

import "time"

// Pacer schedules the frames of an answer so that the far side always has some sound in hand and never much. The schedule
// is absolute: a frame that leaves late does not make the next ones late, so nothing drifts over a call. A Pacer asks no
// clock; whoever uses it says what time it is. The zero value sends each frame just when its sound is due.
type Pacer struct {
	// Lead is how far ahead of its playing a frame may leave. It is what the far side has in hand against jitter, and what
	// has to be thrown away there when the caller interrupts.
	Lead time.Duration

	start  time.Time     // When the far side began to play without a break.
	sent   time.Duration // What was scheduled since start.
	before time.Duration // What was scheduled, and is played, from before start.
	held   time.Time     // Since when the far side has paused its playing; zero while it plays.
}

// Wait returns how long the next frame has to wait, from now, before it may leave.
func (p *Pacer) Wait(now time.Time) time.Duration {
	return max(0, p.start.Add(p.sent-p.Lead).Sub(p.playing(now)))
}

// Next schedules a frame that sounds for d and returns how long to wait, from now, before it may leave. When the far side
// has played all it had, the frame leaves at once and a new schedule begins with it: lost time is not caught up with a
// burst.
func (p *Pacer) Next(d time.Duration, now time.Time) (wait time.Duration) {
	now = p.playing(now)
	if now.Sub(p.start) > p.sent {
		p.before += p.sent
		p.start, p.sent = now, 0
	}
	wait = max(0, p.start.Add(p.sent-p.Lead).Sub(now))
	p.sent += d
	return wait
}

// Begins returns when the far side plays the frame that was scheduled last and sounds for d: no sooner than that.
func (p *Pacer) Begins(d time.Duration) time.Time { return p.start.Add(p.sent - d) }

// Played returns how much of what was scheduled the far side has played by now at most: it plays no sooner than it
// receives, and no faster than real time.
func (p *Pacer) Played(now time.Time) time.Duration {
	now = p.playing(now)
	return p.before + min(max(0, now.Sub(p.start)), p.sent)
}

// Queued returns how much of what was scheduled the far side has not played yet by now, at least.
func (p *Pacer) Queued(now time.Time) time.Duration {
	return p.before + p.sent - p.Played(now)
}

// Cut forgets what the far side has not played by now, because its buffer was emptied, and returns what it has played at
// most. The next frame begins a new schedule.
func (p *Pacer) Cut(now time.Time) time.Duration {
	p.before = p.Played(now)
	p.start, p.sent, p.held = now, 0, time.Time{}
	return p.before
}

// Hold notes that the far side pauses its playing, until Resume. Holding twice is holding once.
func (p *Pacer) Hold(now time.Time) {
	if p.held.IsZero() {
		p.held = now
	}
}

// Resume notes that the far side goes on with what it has in hand.
func (p *Pacer) Resume(now time.Time) {
	if !p.held.IsZero() {
		p.start, p.held = p.start.Add(max(0, now.Sub(p.held))), time.Time{}
	}
}

// playing returns the time by which the far side has played what it has by now.
func (p *Pacer) playing(now time.Time) time.Time {
	if !p.held.IsZero() && p.held.Before(now) {
		return p.held
	}
	return now
}
