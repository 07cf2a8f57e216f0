// Package answering tells whether a person or a machine has answered a call that was placed, and when a machine is ready to record: after its
// beep.
package answering

import (
	"cmp"
	"time"

	"riposte/audio"
)

// Event is what a step of a Detector found.
type Event int

// The events. Of Human, Machine and Nobody there is one in a call; of Beeped and Over there may be any number after that, since some machines beep
// more than once.
const (
	None    Event = iota
	Human         // Somebody said a few words and waits.
	Machine       // Somebody, or something, speaks on and on.
	Nobody        // Nobody says anything.
	Beeped        // A beep has ended: a message may be left.
	Over          // A machine has fallen silent, and there comes no beep: a message may be left.
)

// String returns the event's name in lower case.
func (e Event) String() string {
	return [...]string{"none", "human", "machine", "nobody", "beeped", "over"}[e]
}

// Detector tells persons from machines by how long they speak before they wait. It is a step function: all its time is counted in samples of what
// it was fed, from when the call was answered on. Settings hold from the first step on; the zero value is ready to use. It must not be used by
// two goroutines at once.
//
// People who answer say "hello?" or their name, and wait. Machines have a greeting, and a beep. So a machine whose greeting begins with a short
// word and a long pause is taken for a person, and a person who says more than Greeting for a machine: both cannot be told from what is heard
// until then.
type Detector struct {
	Rate     int           // Hertz. It defaults to audio.SpeechRate.
	Initial  time.Duration // How long nobody may speak until it is Nobody. It defaults to 4 s.
	Greeting time.Duration // Speech longer than this, short pauses included, is a machine's. It defaults to 2.2 s.
	Waits    time.Duration // Silence after which a person waits for an answer. It defaults to 800 ms; a pause between sentences is shorter.
	Quiet    time.Duration // Silence after a machine's greeting after which it is Over. It defaults to 2.5 s; most beeps come within 2 s.
	Speech   time.Duration // Sounds shorter than this are no speech. It defaults to 96 ms, three frames of a VAD.
	Beeps    Beeps         // What a beep is. Its rate is the Detector's.
	Known    Event         // The verdict, where it is known from elsewhere: Machine. It is not an event then. None leaves it to what is heard.

	ends    audio.Endpointer
	verdict Event // Human, Machine or Nobody, once it is known.
	silent  int64 // Position since when a machine is silent; -1 once that was told.
}

// Step takes the next frame, with the probability that a VAD gave for speech in it, and returns what follows from it. Frames may be of any
// length; none is kept.
func (d *Detector) Step(speech float32, frame audio.PCM) Event {
	rate := cmp.Or(d.Rate, audio.SpeechRate)
	d.Beeps.Rate = rate
	d.ends.Rate, d.ends.Silence, d.ends.MinSpeech = rate, cmp.Or(d.Waits, 800*time.Millisecond), cmp.Or(d.Speech, 96*time.Millisecond)
	event := d.ends.Step(speech, frame)
	if d.verdict == None {
		d.verdict = d.Known
	}
	if len(d.Beeps.Take(frame)) > 0 {
		if d.verdict == None {
			d.verdict = Machine
		}
		d.silent = -1
		return Beeped
	}
	if d.verdict == None {
		d.verdict = d.judge(event)
		d.silent = d.ends.LastVoiced()
		return d.verdict
	}
	return d.wait()
}

// Verdict returns Human, Machine or Nobody, and None as long as it is not known. A beep is a machine's, whatever came before it, and one that comes
// after a verdict does not change that.
func (d *Detector) Verdict() Event { return d.verdict }

// judge returns the verdict, if there is enough for one.
func (d *Detector) judge(event audio.Event) Event {
	switch spoken := d.ends.LastVoiced() - d.ends.Start(); {
	case d.ends.Talking() && spoken > d.samples(cmp.Or(d.Greeting, 2200*time.Millisecond)):
		return Machine
	case event == audio.Done:
		return Human
	case !d.ends.Talking() && !d.Beeps.Sounding() && d.ends.Position() >= d.samples(cmp.Or(d.Initial, 4*time.Second)):
		return Nobody
	}
	return None
}

// wait looks for the silence in which a machine without a beep waits for a message.
func (d *Detector) wait() Event {
	if d.ends.Talking() {
		d.silent = d.ends.LastVoiced()
	}
	if d.verdict != Machine || d.silent < 0 || d.Beeps.Sounding() || d.ends.Position()-d.silent < d.samples(cmp.Or(d.Quiet, 2500*time.Millisecond)) {
		return None
	}
	d.silent = -1
	return Over
}

// samples returns t in samples.
func (d *Detector) samples(t time.Duration) int64 {
	return int64(audio.Samples(t, cmp.Or(d.Rate, audio.SpeechRate)))
}
