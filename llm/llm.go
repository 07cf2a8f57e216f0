// Package llm is what the pipeline knows of language models.
package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"riposte/budget"
)

// What a generator may fail with that the caller can do something about.
var (
	// ErrTooLong reports that not even the instructions and the last message fit into the model's context.
	ErrTooLong = errors.New("the conversation does not fit into the model's context")
	// ErrBusy reports that as many requests wait as may wait.
	ErrBusy = errors.New("the language model has too many requests waiting")
	// ErrFormat reports a grammar or a JSON schema that cannot be kept to, or tools that cannot be described to the model.
	ErrFormat = errors.New("the form that is asked for cannot be kept to")
)

// Role says who a message is from.
type Role string

// The roles that chat templates know.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool" // The result of a tool call.
)

// Message is one contribution to a conversation.
type Message struct {
	Role  Role
	Text  string
	Calls []ToolCall // What an assistant called, instead of or after its text.
	Call  string     // For ToolRole: the ID of the call that this is the result of.
}

// Generator continues conversations. It is safe for use by many callers at once.
type Generator interface {
	// Generate yields the answer to r piece by piece, then one last Piece that has Usage and no text. After an error
	// it yields nothing more. Breaking out of the loop, or the end of ctx, stops the model within one token.
	Generate(ctx context.Context, r Request) iter.Seq2[Piece, error]
	// Read has the model read r's messages without answering, so that a Generate that begins with the same words starts
	// sooner. The last message may be unfinished, and may be read again with other words: what differs is taken back.
	// Sampling, MaxTokens, Stop and Format mean nothing here.
	Read(ctx context.Context, r Request) (Reading, error)
}

// Forgetter is a Generator that keeps what it has computed for a conversation's next turn, and wants to know when there will be none.
type Forgetter interface {
	// Forget says that a conversation is over. It does not wait.
	Forget(conversation string)
}

// Request is a conversation to continue, and how.
type Request struct {
	// Conversation names the conversation, so that a generator can keep what it computed for the next turn.
	// Empty means that nothing is to be kept.
	Conversation string
	Messages     []Message
	Whole        bool    // A conversation that is too long is ErrTooLong, and does not lose its oldest messages.
	Keep         float32 // Where a conversation loses its oldest messages, about so much of the room is used again, above 0 up to 1; 0 leaves that to the generator.
	Tools        []Tool  // What the model may call.
	Choice       Choice  // Whether it may, must or must not.
	OneCall      bool    // One answer makes no more than one call.
	Sampling     Sampling
	MaxTokens    int      // The answer is cut there. 0 means the model's own limit.
	Stop         []string // The answer ends before any of these.
	Format       Format
	Urgency      budget.Urgency // By when the answer has to begin.
	Began        func(Reading)  // Is told what the model has read, before the first piece, where the generator knows that by then: an answer that is cut has no Usage. nil is not told.
}

// Format is a form that the answer has to keep to. At most one field is set; without any the model is free.
type Format struct {
	Schema  json.RawMessage // A JSON schema; "{}" is any JSON object.
	Grammar string          // A grammar in llama.cpp's GBNF.
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // A JSON schema of an object; empty for no parameters.
}

// Choice says whether tools are to be used: ChoiceAuto, ChoiceNone, ChoiceRequired, or the name of the one to use.
type Choice string

// The choices that are no tool's name.
const (
	ChoiceAuto     Choice = ""
	ChoiceNone     Choice = "none"
	ChoiceRequired Choice = "required"
)

// ToolCall is a model's wish to have a tool called.
type ToolCall struct {
	ID        string // Made by the generator, unlike any other.
	Name      string
	Arguments json.RawMessage // A JSON object.
}

// Sampling says how the next token is chosen. The zero value is greedy.
type Sampling struct {
	Temperature   float32 // 0 always takes the likeliest token.
	TopP          float32 // Nucleus; 0 or 1 is off.
	TopK          int     // 0 is off.
	MinP          float32 // 0 is off.
	RepeatPenalty float32 // Divides the odds of what was said; 0 or 1 is off.
	// What was said is less likely by so much on the scale of logarithms: once, and for each time that it was said. Below
	// 0 it is more likely; 0 is off.
	PresencePenalty  float32
	FrequencyPenalty float32

	Seed     uint32 // 0 draws a new one each time.
	LogProbs bool   // Fill in Piece.LogProb and Piece.Tokens, at some cost.
	Top      int    // With LogProbs, how many of the likeliest tokens Token.Top names at each place.
}

// Check reports the first value that is out of its range, by the name that OpenAI's protocol or llama.cpp has for it.
func (s Sampling) Check() error {
	for _, v := range []struct {
		name     string
		is       float32
		from, to float32
	}{
		{"temperature", s.Temperature, 0, 5},
		{"top_p", s.TopP, 0, 1},
		{"top_k", float32(s.TopK), 0, 1 << 20},
		{"min_p", s.MinP, 0, 1},
		{"repeat_penalty", s.RepeatPenalty, 0, 10},
		{"presence_penalty", s.PresencePenalty, -2, 2},
		{"frequency_penalty", s.FrequencyPenalty, -2, 2},
	} {
		if !(v.is >= v.from && v.is <= v.to) { // Nor is what is not a number.
			return fmt.Errorf("%s is %v: it can be from %v to %v", v.name, v.is, v.from, v.to)
		}
	}
	return nil
}

// Piece is the next part of an answer. Text is always whole UTF-8 characters. A piece has one of Text, Call and Usage.
type Piece struct {
	Text    string
	LogProb float32 // Natural logarithm of the probability that the model gave the tokens of Text, when asked for.
	Tokens  []Token // Those that end in Text, when asked for. A generator may not know them.
	Call    *ToolCall
	Usage   *Usage // Only on the last piece.
}

// Token is a token of an answer, and how likely it was.
type Token struct {
	Text    string  // Its bytes, which may be part of a character.
	LogProb float32 // Natural logarithm of its probability; 0 where the answer's form left nothing else.
	Top     []Token // What was likeliest at its place, the likeliest first; none where it was not asked for, or nothing else was left.
}

// Usage counts an answer's tokens.
type Usage struct {
	Prompt int    // Tokens of the conversation, those kept from earlier included.
	Cached int    // Those of them that did not have to be computed again.
	Output int    // Tokens generated.
	Finish Finish // Why the answer ended.
}

// Finish is why an answer ended.
type Finish string

// The reasons for an end.
const (
	FinishStop   Finish = "stop"   // The model was done, or came to a stop string.
	FinishLength Finish = "length" // MaxTokens, or the model's context, was used up.
	FinishTools  Finish = "tools"  // The model wants tools called, and goes on when it is given their results.
)

// Reading is what came of a Read.
type Reading struct {
	Prompt int     // Tokens read, those kept from earlier included.
	Cached int     // Those of them that did not have to be computed again.
	Over   float32 // The probability, by the model, that the last message is complete as it stands.
}
