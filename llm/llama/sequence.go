package llama

import (
	"context"
	"time"

	"riposte/budget"
	"riposte/llm"
)

// sequence is one answer in the making, or one text being read. The reader makes it, the loop works on it, and the
// reader receives from out; the fields under result are the loop's until out is closed and the reader's afterwards.
type sequence struct {
	ctx          context.Context
	conversation string
	sampling     llm.Sampling
	urgency      budget.Urgency // By when the answer has to begin, or the text to be read.
	form         *form          // What the answer keeps to. Nil lets it be anything.
	most         int            // Tokens that the answer may have.
	reading      bool           // There is to be no answer.
	closing      token          // What would close the last message of a text that is read; -1 if that is not known.
	out          chan llm.Piece

	// The loop's.
	tokens  []token // The prompt, and the answer so far.
	prompt  int     // How many of them are the prompt.
	slot    int     // The sequence in the model's memory, -1 without one.
	decoded int     // How many of the tokens are in the memory.
	placed  bool    // It has had a slot.
	picker  picker  // Nil before the first slot, and for what is only read.
	text    answerText
	began   time.Time // When the answer's first token was there.
	logProb float64   // Of the tokens since the last text that was offered.
	notes   notes     // Of these tokens, when asked for.
	unsent  llm.Piece // What the reader had no room for. The answer pauses until it has.

	// Result.
	rest  llm.Piece // The end of the text.
	usage llm.Usage
	over  float32
	err   error
}

// How an answer's tokens are due. The first ones make the first clause, which somebody waits for in silence; what follows
// is due when the voice comes to it. People speak three to four words a second: five tokens.
const (
	opening = 12
	pace    = time.Second / 5
	// leeway is how far ahead of the voice an answer has to be to let others go first. Half a second is a clause more
	// to speak, and several steps.
	leeway = time.Second / 2
)

// due returns how urgent the sequence's next token is. Only an answer that has not begun can be late.
func (s *sequence) due() budget.Urgency {
	u := s.urgency.Now()
	switch {
	case s.usage.Output == 0:
	case u.Class != budget.Awaited:
		u.Deadline = time.Time{}
	case s.usage.Output >= opening:
		u.Deadline = s.began.Add(time.Duration(s.usage.Output) * pace)
	}
	return u
}

// ahead reports whether so much of an answer is there that its hearer would not notice if it went on a little later.
func (s *sequence) ahead(now time.Time) bool {
	return s.usage.Output >= opening && s.due().Deadline.Sub(now) > leeway
}

// late reports whether nobody wants the sequence any more because its deadline has passed.
func (s *sequence) late(now time.Time) bool {
	u := s.due()
	return u.Class != budget.Awaited && u.Wanted == nil && !u.Deadline.IsZero() && !now.Before(u.Deadline)
}

// sooner reports whether work of urgency u goes before that of v.
func sooner(u, v budget.Urgency) bool {
	switch {
	case u.Class != v.Class:
		return u.Class < v.Class
	case u.Deadline.IsZero() || v.Deadline.IsZero():
		return !u.Deadline.IsZero()
	}
	return u.Deadline.Before(v.Deadline)
}

// paused reports whether the sequence waits for its reader.
func (s *sequence) paused() bool { return s.unsent.Text != "" }

// speaking reports whether only the newest token is missing from the memory, so that the next step yields another.
func (s *sequence) speaking() bool { return s.picker != nil && s.decoded == len(s.tokens)-1 }

// offer gives the reader text if it has room, and keeps it otherwise.
func (s *sequence) offer(text string) {
	if text == "" {
		return
	}
	p := llm.Piece{Text: text, LogProb: float32(s.logProb), Tokens: s.notes.take(s.text.holds())}
	s.logProb = 0
	select {
	case s.out <- p:
	default:
		s.unsent = p
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
		s.unsent = llm.Piece{}
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
	s.rest = llm.Piece{Text: s.unsent.Text + s.text.rest(), LogProb: s.unsent.LogProb + float32(s.logProb), Tokens: append(s.unsent.Tokens, s.notes.take(0)...)}
	close(s.out)
}

// missing is how many tokens are not in the memory yet.
func (s *sequence) missing() int { return len(s.tokens) - s.decoded }

// full reports whether the answer may not become longer, in a context of so many tokens.
func (s *sequence) full(context int) bool {
	return s.usage.Output >= s.most || len(s.tokens) >= context
}
