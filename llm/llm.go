// Package llm is what the pipeline knows of language models.
package llm

import (
	"context"
	"errors"
	"iter"
)

// What a generator may fail with that the caller can do something about.
var (
	// ErrTooLong reports that not even the instructions and the last message fit into the model's context.
	ErrTooLong = errors.New("the conversation does not fit into the model's context")
	// ErrBusy reports that as many requests wait as may wait.
	ErrBusy = errors.New("the language model has too many requests waiting")
)

// Role says who a message is from.
type Role string

// The roles that chat templates know.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one contribution to a conversation.
type Message struct {
	Role Role
	Text string
}

// Generator continues conversations. It is safe for use by many callers at once.
type Generator interface {
	// Generate yields the answer to r piece by piece, then one last Piece that has Usage and no text. After an error
	// it yields nothing more. Breaking out of the loop, or the end of ctx, stops the model within one token.
	Generate(ctx context.Context, r Request) iter.Seq2[Piece, error]
}

// Request is a conversation to continue, and how.
type Request struct {
	// Conversation names the conversation, so that a generator can keep what it computed for the next turn.
	// Empty means that nothing is to be kept.
	Conversation string
	Messages     []Message
	Sampling     Sampling
	MaxTokens    int      // The answer is cut there. 0 means the model's own limit.
	Stop         []string // The answer ends before any of these.
}

// Sampling says how the next token is chosen. The zero value is greedy.
type Sampling struct {
	Temperature   float32 // 0 always takes the likeliest token.
	TopP          float32 // Nucleus; 0 or 1 is off.
	TopK          int     // 0 is off.
	MinP          float32 // 0 is off.
	RepeatPenalty float32 // 0 or 1 is off.
	Seed          uint32  // 0 draws a new one each time.
}

// Piece is the next part of an answer. Text is always whole UTF-8 characters.
type Piece struct {
	Text  string
	Usage *Usage // Only on the last piece.
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
)

// GeneratorFunc lets a function be a Generator.
type GeneratorFunc func(ctx context.Context, r Request) iter.Seq2[Piece, error]

// Generate calls f.
func (f GeneratorFunc) Generate(ctx context.Context, r Request) iter.Seq2[Piece, error] {
	return f(ctx, r)
}
