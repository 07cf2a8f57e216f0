package budget

import "time"

// Urgency says how long a piece of work may wait. The zero value is work that somebody waits for, by no certain time.
type Urgency struct {
	Class    Class
	Deadline time.Time // When it has to be done; zero for some time soon.
	// Wanted is closed when the work turns out to be needed: from then on its class is Awaited. nil never is.
	Wanted <-chan struct{}
}

// Now returns the urgency as it is now: Wanted is nil where it makes no difference any more.
func (u Urgency) Now() Urgency {
	select {
	case <-u.Wanted:
		u.Class = Awaited
	default:
	}
	if u.Class == Awaited {
		u.Wanted = nil
	}
	return u
}

// Class says for whom work is done. A lower class goes first, whatever the deadlines.
type Class int8

// The classes, the most urgent first.
const (
	Awaited     Class = iota // Somebody hears silence until it is done, or will: closing passes, answers, their sound.
	Partial                  // What is made of the words of somebody who still talks.
	Speculative              // What may turn out not to be needed.
	Background               // What others than callers wait for: it takes what callers leave.
	classes
)

// String returns the class's name.
func (c Class) String() string {
	switch c {
	case Awaited:
		return "awaited"
	case Partial:
		return "partial"
	case Speculative:
		return "speculative"
	case Background:
		return "background"
	}
	return "unknown"
}
