package caller

import "errors"

var (
	// ErrBusy reports that the server has no room for another call.
	ErrBusy = errors.New("the server is busy")
	// ErrNoAnswer reports that a turn was not answered in time.
	ErrNoAnswer = errors.New("no answer came")
	// ErrNoVoice reports something to say in which nobody speaks.
	ErrNoVoice = errors.New("there is no voice in the sound: nothing in it is louder than -45 dBFS")
	// ErrFailed reports that the server gave up on an answer.
	ErrFailed = errors.New("the server could not answer")
	// ErrEnded reports that the server, or the network, ended the call.
	ErrEnded = errors.New("the call was ended from the other side")
	// ErrGarbage reports something that is no event of the protocol.
	ErrGarbage = errors.New("the server sent something that is no event")
	// ErrClosed reports the use of a call that its owner has closed.
	ErrClosed = errors.New("the call is closed")
)
