package caller

import (
	"time"

	"riposte/audio"
)

// line is the way by which the events and the sound of one call go and come. Each of its methods may be used by one goroutine beside
// those that use the others; send by many.
type line interface {
	// send sends one event.
	send(clientEvent) error
	// say sends one frame of the microphone, in the call's format.
	say(audio.PCM) error
	// receive waits for what comes next. The error is why nothing more does.
	receive() (arrival, error)
	// streams reports whether sound comes beside the events, as it is to be played.
	streams() bool
	// close ends the line, with a good-bye if it is polite, and lets receive return. Once it was called nothing of the line is used any
	// more but receive.
	close(polite bool)
}

// arrival is what came next: an event, or sound where that is not nil.
type arrival struct {
	event []byte
	sound *sound
}

// sound is a piece of what the server says, at the time at which it is played.
type sound struct {
	pcm audio.PCM
	at  time.Time // When its first sample is played.
	// apart is for how long the server sent nothing before it, by the server's own clock; 0 where it goes on with the piece before it.
	apart time.Duration
	// paused tells whether the server left out silence of the answer in that time; otherwise it had nothing to send.
	paused bool
}
