package transport

import (
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/llm"
)

// Outbound is what the service tells a caller. Times of the caller's sound count from the call's first sample.
type Outbound interface{ isOutbound() }

// SpeechStarted says that the caller has begun to speak.
type SpeechStarted struct {
	Item string // What the speech will be, once it is a turn.
	At   time.Duration
}

// Held says that the answer is held, since the caller may be about to speak: no sound comes until it goes on or ends. A side
// that can pauses what it has in hand.
type Held struct{}

// Released says that the answer goes on where it was held.
type Released struct{}

// SpeechStopped says that the caller's turn is over.
type SpeechStopped struct {
	Item string
	At   time.Duration
}

// Committed says that what the caller said is now part of the conversation.
type Committed struct {
	Item     string
	Previous string // The item before it; empty for the first.
}

// TimedOut says that nobody has said anything for Detection.Idle. The silence is Committed, and answered.
type TimedOut struct {
	Item        string
	From, Until time.Duration
}

// Cleared answers Clear.
type Cleared struct{}

// Added says that what the caller's side has added is part of the conversation.
type Added struct {
	Item     Item
	Previous string
	Aloud    bool // It is speech: what was said is Transcribed later.
}

// Found answers Look.
type Found struct {
	Item  Item // Of an answer its Text is what was heard; of speech it is empty until that is recognised.
	Aloud bool // It is speech, and not writing.
	Open  bool // It is an answer that is still being given or heard: how much of it will have been heard is not known.
	Cut   bool // It is an answer that the caller interrupted.
}

// Removed answers Remove. Unasked it says that something the caller said is no longer part of the conversation, since the caller went on
// with it: what comes next takes it in.
type Removed struct{ Item string }

// Truncated answers Truncate.
type Truncated struct {
	Item  string
	Heard time.Duration
}

// Hypothesis is what the caller seems to have said so far of what will be an item. A later one may say otherwise.
type Hypothesis struct {
	Item   string
	Text   string
	Stable int // So many bytes at its beginning are not expected to change any more.
	Speech time.Duration
}

// Transcribed is what the recogniser made of an item.
type Transcribed struct {
	Item   string
	Text   string // Empty when there were no words in it.
	Speech time.Duration
	Tokens []Token // What the text is made of, where that is known.
}

// Token is a piece of what was recognised, and the natural logarithm of the probability that the recogniser gave it. Its text may be a part of a
// UTF-8 sequence.
type Token struct {
	Text    string
	LogProb float32
}

// TranscriptionFailed says that an item could not be recognised.
type TranscriptionFailed struct {
	Item string
	Err  error
}

// ResponseStarted is the beginning of an answer. Everything of one answer lies between this and its ResponseDone, and
// answers never overlap, but for those that are given beside the conversation.
type ResponseStarted struct{ Response Response }

// MessageStarted says that the answer has words, which come next. An answer that only calls tools has none. Words that come after a tool has
// run have an item of their own, and so begin with one more of these.
type MessageStarted struct {
	Response Response // Its Item is that of the words that come next.
	Previous string   // The item before that.
}

// Called says that the model wants a tool called, as part of an answer, whose words may go on meanwhile. Where the item has no Server the
// caller's side does it, adds the result to the conversation, and asks for the next answer. Otherwise the service does, and Ran follows.
type Called struct {
	Response Response
	Item     Item
	Previous string // The item before it.
}

// Ran says that a call which the service runs has ended, as part of the same answer. The item has its outcome.
type Ran struct {
	Response Response
	Item     Item
	Previous string // The item before it.
}

// Words are the next part of an answer, sent together with the first sound of them.
type Words struct {
	Response Response
	Text     string
}

// Voice is the next part of an answer's sound, at the rate that the settings ask for.
type Voice struct {
	Response Response
	PCM      audio.PCM // Only valid until Send returns.
	Rate     int       // In hertz.
}

// ResponseDone is the end of an answer.
type ResponseDone struct {
	Response Response
	Status   Status
	Reason   string // For Cancelled: "turn_detected", "client_cancelled", "hung_up" or "shutdown"; for Incomplete: "max_output_tokens".
	Err      error  // For Failed.
	Text     string // All of its words, whether they were heard or not.
	Voice    time.Duration
	Usage    llm.Usage
}

// Status is how an answer ended.
type Status string

// The ends of an answer.
const (
	Completed  Status = "completed"
	Cancelled  Status = "cancelled"
	Incomplete Status = "incomplete"
	Failed     Status = "failed"
)

// TurnReport says, after an answer's end, what the turn took.
type TurnReport struct {
	Response   string
	Items      []string // What the caller said that this answers.
	Transcript string
	Answer     string   // What the caller heard of it.
	Calls      []string // The tools that it called, by name.
	Continued  bool     // The caller went on before anything was heard: the next turn answers this one too.
	Guesses    Guesses
	Report     budget.Report
}

// Guesses are the answers that were begun before a turn was decided.
type Guesses struct {
	Tries  int  // How many there were,
	Stood  bool // whether one of them was given,
	Wasted int  // and how many tokens the model made for those that were not.
}

// Fault tells of something that went wrong with the call or with one thing that the caller did.
type Fault struct {
	Ref     string // What the caller did, if that was it,
	Part    Part   // and what of that it is about; empty for all of it.
	Code    string // For programs, such as "input_audio_buffer_commit_empty".
	Message string // For people: what is wrong and how to mend it.
	Ours    bool   // It is not the caller's doing.
}

// Part is a part of what the caller's side has sent.
type Part string

// The parts that can be wrong of what is taken otherwise.
const (
	PartItem    Part = "item"    // The ID of an item that is there, or is to be.
	PartAfter   Part = "after"   // The ID of the item behind which another one is to be.
	PartCall    Part = "call"    // The ID of a call.
	PartRequest Part = "request" // The ID of an item that asks for approval.
	PartContent Part = "content" // What an item to be has in it.
	PartInput   Part = "input"   // What an answer is to be given to.
)

func (SpeechStarted) isOutbound()       {}
func (SpeechStopped) isOutbound()       {}
func (Held) isOutbound()                {}
func (Released) isOutbound()            {}
func (Committed) isOutbound()           {}
func (TimedOut) isOutbound()            {}
func (Cleared) isOutbound()             {}
func (Added) isOutbound()               {}
func (Removed) isOutbound()             {}
func (Found) isOutbound()               {}
func (Truncated) isOutbound()           {}
func (Hypothesis) isOutbound()          {}
func (Transcribed) isOutbound()         {}
func (TranscriptionFailed) isOutbound() {}
func (ResponseStarted) isOutbound()     {}
func (MessageStarted) isOutbound()      {}
func (Called) isOutbound()              {}
func (Ran) isOutbound()                 {}
func (Words) isOutbound()               {}
func (Voice) isOutbound()               {}
func (ResponseDone) isOutbound()        {}
func (TurnReport) isOutbound()          {}
func (Fault) isOutbound()               {}
