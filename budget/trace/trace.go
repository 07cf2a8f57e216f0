// Package trace says what is kept of calls and their turns, so that an engineer can see where each millisecond went. It holds
// values only: the pipeline fills them in, and a sink does something with them (a store, metrics, a collector of spans).
package trace

import (
	"time"

	"riposte/budget"
)

// Call is one conversation, from its beginning to its end.
type Call struct {
	ID      string
	Route   string // The way in that took it, such as "default".
	Wire    string // What it came over: "websocket", "webrtc" and so on.
	Version string // Of the service.
	Parent  string // W3C traceparent that the caller's side sent; empty without one.
	Began   time.Time
	Ended   time.Time // Zero while it goes on.
	Reason  string    // Why it ended, such as HungUp; empty while it goes on.
	Turns   int
	Record  *Record // What it came to; nil where nobody counts.
}

// Turn is one turn's timeline.
type Turn struct {
	ID      string // Of the response on the wire.
	Call    string
	Number  int // In the call, from 1 on.
	Route   string
	Version string
	Report  budget.Report // Marks, stages, verdict, blame and actions. Marks count from Report.SpeechEnd.

	Origin Origin // What the turn answers.
	Said   string // What the caller said; for Written, what was written.
	Answer string // What the caller heard of the answer.
	Words  []Heard

	Models  map[budget.Stage]string // What did the work of each stage.
	Tokens  Tokens
	Work    map[budget.Stage]Work
	Guesses Guesses
	Status  string // How the answer ended: "completed", "cancelled", "failed".
	Reason  string // Why, where it was not completed.
	Tools   []string
	Events  []Event
	Sound   *Sound // What was recorded; nil without.
}

// Origin is what a turn answers. Only what a caller said aloud is judged against a budget: the others have no last voiced sample from which a
// gap could count. They have no verdict, unless answering failed.
type Origin string

// The origins.
const (
	Aloud     Origin = ""          // What the caller said.
	Greeting  Origin = "greeting"  // That a call began.
	Prompt    Origin = "prompt"    // That the caller said nothing for long.
	Message   Origin = "message"   // That a machine records what is said.
	Written   Origin = "written"   // What the caller's side wrote, or the keys of a telephone.
	Requested Origin = "requested" // That the caller's side asked for an answer, without anything new to be answered.
)

// Heard is what the recogniser thought so far at one moment.
type Heard struct {
	At     time.Duration // Since the end of speech; negative before it.
	Text   string
	Stable int // How many bytes of Text will not change any more.
}

// Tokens are what the model read and wrote for a turn.
type Tokens struct {
	Input, Cached, Output int
}

// Work is what a stage's engine did on the native executor for a turn.
type Work struct {
	Runs   int           // Jobs that ran.
	Waited time.Duration // How long they were in the queue, all together.
	Ran    time.Duration // How long they ran, all together.
}

// Guesses are the answers that were begun before the turn was decided.
type Guesses struct {
	Tries  int
	Stood  bool
	Wasted int // Tokens of those that were not given.
}

// Event is something that happened to a turn besides its marks: an interruption, a hedge, a drop.
type Event struct {
	At     time.Duration // Since the end of speech; negative before it.
	Kind   string        // One of the Kind constants.
	Detail string        // For people.
}

// The kinds of events.
const (
	KindBargeIn   = "barge_in"  // The caller took the word.
	KindHeld      = "held"      // Speech over the answer held it.
	KindReleased  = "released"  // It went on.
	KindContinued = "continued" // The caller went on before anything was heard.
	KindAction    = "action"    // The budget acted: Detail names the budget.Action.
	KindDropped   = "dropped"   // Sound was thrown away because it was late.
	KindDegraded  = "degraded"  // Less work is done for each call, since the machine is full.
	KindTool      = "tool"      // A tool was called.
	KindFiller    = "filler"    // Something was said since a tool took long: Detail is it.
	KindFault     = "fault"     // An engine failed.
	KindRedial    = "redial"    // A remote engine was dialled again or replaced.
	KindTruncated = "truncated" // The caller's side said how much of the answer was played.
	KindGuess     = "guess"     // An answer was begun before the turn was decided.
	// The caller's side heard the first of the answer. At is the time from mouth to ear by its own clock.
	KindEar = "mouth_to_ear"
)

// Sound is what was recorded of a turn: 16-bit mono PCM.
type Sound struct {
	Rate   int // Hz.
	Caller []int16
	Answer []int16 // As it was sent.
	// Offset is where Answer begins, since the beginning of Caller.
	Offset time.Duration
	// Begins is when the first sample of Caller was heard, or of Answer where there is no Caller, since the end of speech: negative for a
	// caller who spoke. 0 where nobody knows.
	Begins time.Duration
}

// Sink takes what there is to be kept. Its methods return at once, whatever becomes of it: a call never waits for them. What
// is passed must not be changed any more.
type Sink interface {
	CallBegan(Call)
	TurnEnded(Turn)
	CallEnded(Call)
}
