package transport

import (
	"time"

	"riposte/audio"
	"riposte/llm"
)

// Inbound is what a caller does.
type Inbound interface{ isInbound() }

// Sound is what came from the caller's microphone.
type Sound struct {
	PCM  audio.PCM // The receiver owns it.
	Rate int       // In hertz; it may change within a call.
	At   time.Time // When its last sample arrived here.
}

// Commit says that what the caller has said since the last turn is a turn of its own.
type Commit struct{ Ref string }

// Clear asks to forget what the caller has said since the last turn.
type Clear struct{ Ref string }

// Configure replaces the call's settings, from the next thing on that uses them.
type Configure struct{ Settings Settings }

// Add puts a written message, a call or the result of a call into the conversation. It asks for no answer.
type Add struct {
	Ref  string
	Item Item
}

// Recording puts something that was said, and not into this call, into the conversation. It becomes its words, and asks for no answer.
type Recording struct {
	Ref  string
	Item Item      // Without a text.
	PCM  audio.PCM // The receiver owns it.
	Rate int       // In hertz.
}

// Truncate says how much of an answer the caller has heard.
type Truncate struct {
	Ref   string
	Item  string        // The answer's item.
	Heard time.Duration // Of the answer's own sound.
}

// Look asks what an item of the conversation is now.
type Look struct {
	Ref  string
	Item string
}

// Remove takes an item out of the conversation, and with a call its result.
type Remove struct {
	Ref  string
	Item string
}

// Respond asks for an answer to the conversation as it stands.
type Respond struct {
	Ref string
	// Instructions replace the call's own for this answer unless nil.
	Instructions *string
	// MaxTokens replaces the call's own for this answer unless 0.
	MaxTokens int
	// Written replaces the call's own for this answer unless nil.
	Written *bool
	// Tools replace the call's own for this answer unless nil; without any in it there are none.
	Tools []llm.Tool
	// Choice replaces the call's own for this answer unless nil.
	Choice *llm.Choice
	// OneCall replaces the call's own for this answer unless nil.
	OneCall *bool
	// Rate and Encoding replace the call's own for this answer's sound unless 0 and empty.
	Rate     int
	Encoding string
	// Aside says that the answer is to be given beside the conversation, which does not hear of it, and beside whatever else is being said.
	Aside bool
	// Input is what is answered in place of the conversation unless nil. An item that has nothing but its ID is the conversation's own.
	Input []Item
	// Metadata comes back with the answer.
	Metadata map[string]string
}

// Heard says when the caller's side heard the first of an answer, by its own clock, and what the way there was like.
type Heard struct {
	Ref        string
	Response   string
	MouthToEar time.Duration // From the last voiced sample at its microphone to the first audible one at its loudspeaker.
	Detail     string        // The way, in words, for people; empty where nothing is known of it.
}

// Cancel ends the answer that is being given.
type Cancel struct {
	Ref      string
	Response string // Only this one, unless empty.
	Maybe    bool   // Where there is none, that is no fault.
}

// Key is a key of a telephone that the caller has pressed.
type Key struct {
	Ref   string
	Digit rune // 0 to 9, *, # or A to D.
}

func (Sound) isInbound()     {}
func (Key) isInbound()       {}
func (Commit) isInbound()    {}
func (Clear) isInbound()     {}
func (Configure) isInbound() {}
func (Add) isInbound()       {}
func (Recording) isInbound() {}
func (Truncate) isInbound()  {}
func (Look) isInbound()      {}
func (Remove) isInbound()    {}
func (Respond) isInbound()   {}
func (Cancel) isInbound()    {}
func (Heard) isInbound()     {}
