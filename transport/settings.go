package transport

import (
	"time"

	"riposte/budget"
	"riposte/llm"
)

// Settings are how one call is to be held. A wire fills in what its caller asked for over the service's own.
type Settings struct {
	Route        string // By which the call came; the pipeline only hands it back.
	Instructions string
	Language     string // ISO 639-1 of what the caller speaks; empty lets the recogniser find out.
	Vocabulary   string // Words that are likely in what the caller says.
	Rate         int    // Of the sound that goes to the caller, in hertz.
	Encoding     string // How that sound is written, in the wire's own words; the pipeline only hands it back.
	Speed        float32
	Written      bool          // Answers are text, without sound.
	Holds        bool          // The caller's side stops what it plays when it is told Held, and goes on with it when Released.
	Lead         time.Duration // Of the call's sound, ahead of its playing, where the wire knows better than the service what its far side needs; 0 where not.
	Plan         budget.Plan   // What a turn may take. It defaults to budget.DefaultPlan.
	Sampling     llm.Sampling
	MaxTokens    int          // Of one answer; 0 is the model's own limit.
	Tools        []llm.Tool   // What the model may call. The caller's side does it, and adds the results.
	Choice       llm.Choice   // Whether it may, must or must not.
	Servers      []ToolServer // What the caller's side wants the model to have besides; the service runs it.
	Tooled       bool         // The service runs tools for the call besides; the pipeline only hands it back.
	OneCall      bool         // One answer makes no more than one call at a time.
	Alone        bool         // The model may call nothing but Tools: nothing that the service runs.
	Whole        bool         // A conversation that the model's context has no room for fails, and does not lose its oldest items.
	Keep         float32      // Where it loses them, about so much of the room is used again; 0 leaves that to the model.
	Listens      bool         // The caller is only listened to: nothing is answered, and nothing said unasked.
	Detection    *Detection   // nil: the caller commits turns and asks for answers.
}

// Detection says how the service notices that a caller speaks.
type Detection struct {
	Threshold float32       // Speech probability from which sound counts as speech.
	Padding   time.Duration // Sound before the speech that is listened to as well.
	Silence   time.Duration // How much silence ends a turn; 0 goes by what is said and how.
	Eagerness Eagerness     // For Silence 0: how soon.
	Respond   bool          // Answer every turn.
	Interrupt bool          // Speech ends the answer that is being given.
	Idle      time.Duration // Of silence on both sides, after which the model is to speak up; 0 leaves that to the service.
}

// Eagerness is how soon a turn is taken to be over where that is not clear.
type Eagerness string

// The degrees of eagerness. Empty means Medium.
const (
	Low    Eagerness = "low"
	Medium Eagerness = "medium"
	High   Eagerness = "high"
)

// Item is a message in a conversation, a call of a tool, or the result of one.
type Item struct {
	ID   string
	Role llm.Role // A call is the assistant's, and its result has llm.ToolRole.
	Text string   // Of a result, and of a call that the service has run: what came of it. Another call has none.
	// Call is what is called. Of a result it is the call that this is the result of, and only its ID counts. nil for a message.
	Call *llm.ToolCall
	// Server is who runs a call, where the service does; empty where the caller's side has to.
	Server string
	// Outcome is what became of a call that the service runs, in a word: empty while it runs, RanWell where Text is its result, and
	// otherwise Text says what went wrong.
	Outcome string
	// Asked says of such a call that it waits for the caller's side to approve of it.
	Asked bool
	// Request is the item that asked for approval of such a call; empty where none was needed.
	Request string
	// After is the item that it follows: empty for the last one so far, Root for the very beginning.
	After string
}

// RanWell is the outcome of a call that brought a result.
const RanWell = "ok"

// Root stands for the place before the first item.
const Root = "root"

// Response is an answer that is being given.
type Response struct {
	ID       string
	Item     string // The item of its words in the conversation, if it has any; where tools run in between, of the newest. Each of its calls is an item of its own.
	Written  bool
	Aside    bool   // It is given beside the conversation: its items are no part of that.
	Encoding string // From the settings under which it is given.
	Metadata map[string]string
}
