package phone

import "riposte/audio"

// line is the envelopes of one call on one wire. What it sends is used by one goroutine, and receive by another.
type line interface {
	// id is what the far side calls the call.
	id() string
	rate() int
	// begin sends what comes before all sound.
	begin() error
	// say sends a frame.
	say(audio.PCM) error
	// press sends a key of the telephone.
	press(digit rune) error
	// receive waits for what the service does next. fault is told of all that the protocol does not allow. The error is why nothing more comes.
	receive(fault func(format string, args ...any)) (order, error)
	// played tells that a mark was reached.
	played(mark string) error
	// end sends the far side's good-bye and closes the connection.
	end()
	// close closes the connection, and lets receive return.
	close()
}

// throttler is a line whose far side keeps no more than so much sound, and says so.
type throttler interface {
	// limits are, in frames: of how many on more is thrown away, at how many the service is told to stop, and below how many to go on.
	limits() (most, stop, again int)
	flow(stop bool) error
	// status tells what is queued, in frames.
	status(queued int, full, bulk, paused bool) error
	drained() error
	// filled tells that what was sent in one piece has been played.
	filled(id string) error
}

// order is what the service wants of the far side.
type order interface{ isOrder() }

type (
	play    struct{ pcm audio.PCM }
	mark    struct{ name string }
	empty   struct{} // Throw away what has not been played.
	pause   struct{}
	resume  struct{}
	query   struct{ bulk bool } // Say what is queued. bulk tells whether sound is being put together.
	drain   struct{}            // Say when nothing is queued any more.
	filled  struct{ id string }
	hangUp  struct{}
	nothing struct{} // A message with nothing in it for the player.
)

func (play) isOrder()    {}
func (mark) isOrder()    {}
func (empty) isOrder()   {}
func (pause) isOrder()   {}
func (resume) isOrder()  {}
func (query) isOrder()   {}
func (drain) isOrder()   {}
func (filled) isOrder()  {}
func (hangUp) isOrder()  {}
func (nothing) isOrder() {}
