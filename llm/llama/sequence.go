package llama

import (
	"context"

	"riposte/llm"
)

// sequence is one answer in the making. The reader makes it, the loop works on it, and the reader receives from out;
// the fields under result are the loop's until out is closed and the reader's afterwards.
type sequence struct {
	ctx          context.Context
	conversation string
	sampling     llm.Sampling
	most         int // Tokens that the answer may have.
	out          chan string

	// The loop's.
	tokens  []token // The prompt, and the answer so far.
	prompt  int     // How many of them are the prompt.
	slot    int     // The sequence in the model's memory, -1 without one.
	decoded int     // How many of the tokens are in the memory.
	picker  picker  // Nil before the first slot.
	text    answerText
	unsent  string // What the reader had no room for. The answer pauses until it has.

	// Result.
	rest  string // The end of the text.
	usage llm.Usage
	err   error
}

// paused reports whether the sequence waits for its reader.
func (s *sequence) paused() bool { return s.unsent != "" }

// speaking reports whether only the newest token is missing from the memory, so that the next step yields another.
func (s *sequence) speaking() bool { return s.picker != nil && s.decoded == len(s.tokens)-1 }

// offer gives the reader text if it has room, and keeps it otherwise.
func (s *sequence) offer(text string) {
	if text == "" {
		return
	}
	select {
	case s.out <- text:
	default:
		s.unsent = text
	}
}

// resume tries again to give the reader what it had no room for. It waits until half of the room is free: a reader
// that is slow is woken, and costs a step, once for many tokens.
func (s *sequence) resume() bool {
	if len(s.out) > cap(s.out)/2 {
		return false
	}
	select {
	case s.out <- s.unsent:
		s.unsent = ""
		return true
	default:
		return false
	}
}

// end hands the result to the reader.
func (s *sequence) end(finish llm.Finish, err error) {
	if s.picker != nil {
		s.picker.Close()
		s.picker = nil
	}
	s.usage.Finish = finish
	s.err = err
	s.rest = s.unsent + s.text.rest()
	close(s.out)
}

// missing is how many tokens are not in the memory yet.
func (s *sequence) missing() int { return len(s.tokens) - s.decoded }
