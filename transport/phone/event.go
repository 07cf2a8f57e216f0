package phone

import "time"

// Event is what the far side of a line does.
type Event interface{ isEvent() }

// Media is the next of the caller's sound.
type Media struct {
	Coded    []byte // In the opening's format. The receiver owns it.
	Arrived  time.Time
	Sequence uint64        // Counts the wire's pieces of sound, from 1; 0 where the wire does not.
	At       time.Duration // Of its first sample, by the far side's clock, from the beginning of the call,
	Timed    bool          // where the wire says so.
}

// Key is a key that was pressed, which the wire tells of by a message of its own.
type Key struct{ Digit rune } // 0 to 9, *, # or A to D.

// Marked says that the far side has come to a mark: it has played what was sent before, or was told to clear it.
type Marked struct{ Name string }

// Flow says that the far side has more sound in hand than it wants, or that it wants sound again.
type Flow struct{ Stop bool }

// Nothing is a message that has nothing in it for the call, such as a notice of some state. It shows that the far side lives.
type Nothing struct{}

func (Media) isEvent()   {}
func (Key) isEvent()     {}
func (Marked) isEvent()  {}
func (Flow) isEvent()    {}
func (Nothing) isEvent() {}
