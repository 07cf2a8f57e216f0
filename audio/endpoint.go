package audio

import (
	"cmp"
	"time"
)

// Event is what a step of an Endpointer found.
type Event int

// The events. A turn is Onset, any number of Maybe and Resumed in turn, and Done.
const (
	None    Event = iota
	Onset         // Somebody began to speak.
	Maybe         // The talker is silent for Eager: the turn may be over.
	Resumed       // The talker went on after Maybe.
	Done          // The talker is silent for Silence: the turn is over.
)

// String returns the event's name in lower case.
func (e Event) String() string {
	return [...]string{"none", "onset", "maybe", "resumed", "done"}[e]
}

// Endpointer finds where turns begin and end, from the speech probabilities that a VAD gives to frames. It is a step
// function: all its time is counted in samples of what it was fed, so it knows neither clocks nor goroutines. The zero
// value is ready to use, and its settings may be changed between steps. It must not be used by two goroutines at once.
type Endpointer struct {
	Rate      int           // Hertz. It defaults to SpeechRate.
	Threshold float32       // The probability that makes a frame speech; right after speech 0.15 less will do. It defaults to 0.5.
	MinSpeech time.Duration // Speech shorter than this is a click or a cough, no beginning. It defaults to 64 ms, two frames.
	Eager     time.Duration // Silence after which the turn may be over. It defaults to 160 ms, a long closure of a stop.
	Silence   time.Duration // Silence after which the turn is over. It defaults to 500 ms.
	Gate      float64       // Frames below this level in dBFS are no speech, whatever the VAD says. It defaults to DefaultGate.

	position int64 // After the last frame.
	voiced   bool  // Whether the last frame was.
	runStart int64 // Where the present run of voiced frames began.
	run      PCM   // Its sound, the last second at most.
	stirs    int   // Frames in a row that may be the soft beginning of a voice.

	talking bool  // Between Onset and Done.
	maybe   bool  // Maybe was the last event.
	start   int64 // Of the turn.
	end     int64 // Of the last voiced frame of the turn.
	last    int64 // end, refined by energy.
	loud    bool  // Whether any of the turn was loud enough for that. A faint talker's turn is not.
	paused  int64 // The silence before the last Resumed.
}

// DefaultGate is the level, in dBFS, up to which a frame is no speech: the noise of a quiet line.
const DefaultGate = -60

// hysteresis is how far below Threshold speech that has begun may fall.
const hysteresis = 0.15

// A voice that begins softly has a low probability in its first frames. From stirring of Threshold on a frame may be such a
// beginning; after longestStir of them it is a noise that sounds a little like a voice. Measured on 81 clips of speech behind other
// speech and a pause: the frame that is speech comes up to 104 ms (p95) after the first sound of the voice, the one that stirs up to
// 59 ms; in 200 s of loud noises 11 stirred.
const (
	stirring    = 0.4
	longestStir = 3
)

// Step takes the next frame, with the probability that it holds speech, and returns what follows from it. Frames may be
// of any length; none is kept.
//
// Within Eager any voiced frame goes on with the turn, since probabilities flicker inside words. After Maybe it takes
// MinSpeech of them, so that a breath or a click does not throw away what was begun on the likely end; while such a run
// is undecided the turn is not Done either.
func (e *Endpointer) Step(speech float32, frame PCM) Event {
	e.position += int64(len(frame))
	e.hear(speech, frame)
	switch {
	case e.voiced && e.talking && !e.maybe:
		e.extend()
	case e.voiced && e.position-e.runStart >= e.samples(cmp.Or(e.MinSpeech, 64*time.Millisecond)):
		return e.speak()
	case !e.voiced && e.talking:
		return e.wait()
	}
	return None
}

// Start returns the position of the first voiced sample of the turn, without any padding. It holds from Onset until the
// next Onset.
func (e *Endpointer) Start() int64 { return e.start }

// LastVoiced returns the position after the last voiced sample of the turn so far: where the last voiced frames end, or
// earlier in them where their sound fell to near silence (see the function LastVoiced). Voiced frames that hold only near
// silence, such as a breath at the end, do not move it. It holds from Onset until the next Onset.
func (e *Endpointer) LastVoiced() int64 { return e.last }

// Position returns the position after the last frame.
func (e *Endpointer) Position() int64 { return e.position }

// Talking returns whether a turn has begun and is not over.
func (e *Endpointer) Talking() bool { return e.talking }

// Paused returns how long the silence was that the last Resumed ended.
func (e *Endpointer) Paused() time.Duration { return Duration(int(e.paused), e.rate()) }

// Voiced returns whether the last frame held speech, be it part of a turn or not.
func (e *Endpointer) Voiced() bool { return e.voiced }

// Stirring returns whether the last frame held speech or may have been its soft beginning: too little for an Onset, enough to pause for.
func (e *Endpointer) Stirring() bool { return e.voiced || e.stirs > 0 && e.stirs <= longestStir }

// Reset ends the turn without an event, for a turn that was ended by other means. Positions go on.
func (e *Endpointer) Reset() {
	e.talking, e.maybe, e.voiced, e.run = false, false, false, e.run[:0]
}

// hear decides whether the frame is voiced and keeps the run of voiced frames.
func (e *Endpointer) hear(speech float32, frame PCM) {
	whole := cmp.Or(e.Threshold, 0.5)
	threshold := whole
	if e.voiced {
		threshold -= hysteresis
	}
	was, loud := e.voiced, frame.Level() > cmp.Or(e.Gate, DefaultGate)
	e.voiced = loud && speech >= threshold
	switch {
	case e.voiced:
		e.stirs = longestStir // what follows is its end
	case loud && speech >= stirring*whole:
		e.stirs++
	default:
		e.stirs = 0
	}
	if !e.voiced {
		return
	}
	if !was {
		e.runStart = e.position - int64(len(frame))
		e.run = e.run[:0]
	}
	e.run = append(e.run, frame...)
	if over := len(e.run) - e.rate(); over > 0 {
		e.run = append(e.run[:0], e.run[over:]...)
	}
}

// speak begins a turn, or goes on with one after Maybe.
func (e *Endpointer) speak() Event {
	event := Resumed
	if !e.talking {
		e.talking, e.loud, e.start, event = true, false, e.runStart, Onset
	} else {
		e.paused = e.runStart - e.end
	}
	e.maybe = false
	e.extend()
	return event
}

// extend moves the turn's end to the end of the present run.
func (e *Endpointer) extend() {
	e.end = e.position
	if n := LastVoiced(e.run, e.rate()); n > 0 {
		e.last, e.loud = e.position-int64(len(e.run)-n), true
	} else if !e.loud {
		e.last = e.position
	}
}

// wait counts the silence.
func (e *Endpointer) wait() Event {
	switch silence := e.position - e.end; {
	case silence >= e.samples(cmp.Or(e.Silence, 500*time.Millisecond)):
		e.talking, e.maybe = false, false
		return Done
	case !e.maybe && silence >= e.samples(cmp.Or(e.Eager, 160*time.Millisecond)):
		e.maybe = true
		return Maybe
	}
	return None
}

// rate returns Rate or its default.
func (e *Endpointer) rate() int { return cmp.Or(e.Rate, SpeechRate) }

// samples returns d in samples.
func (e *Endpointer) samples(d time.Duration) int64 { return int64(Samples(d, e.rate())) }
