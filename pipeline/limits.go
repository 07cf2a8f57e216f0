package pipeline

import (
	"cmp"
	"time"
)

// Limits bounds what one call may hold. A zero field means its default.
type Limits struct {
	Utterance time.Duration // The longest turn; a longer one is cut there. It defaults to 2 minutes.
	Asides    int           // Answers beside the conversation that are given at once. It defaults to 4.
	Turns     int           // Turns that wait for an answer. It defaults to 8.
	Clauses   int           // Clauses that wait to be spoken, besides two in hand: the model stops that far ahead. It defaults to 1.
	Ahead     time.Duration // Sound that waits to be played: the voice stops that far ahead. It defaults to 400 ms.
	Lead      time.Duration // Sound that the caller's side may hold: what an interruption has to throw away. It defaults to 200 ms.
	Guesses   int           // Answers that may be begun before a turn is decided, for each turn; negative for none. It defaults to 3.
	Commit    time.Duration // Speech over an answer that takes the word, whatever it says. It defaults to 300 ms.
	Steps     int           // Answers in a row that may call tools, for one turn of the caller: the next one has to do without. Negative lets none call any. It defaults to 8.
	Stall     time.Duration // An engine that brings nothing for so long has failed. It defaults to 5 s.
	Lapse     time.Duration // A caller whose line brings no sound for so long has finished speaking. It defaults to 2 s.
	Unheard   time.Duration // An answer that was to be heard for less than this counts as not heard. It defaults to 700 ms, a word or two.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Utterance: cmp.Or(l.Utterance, 2*time.Minute),
		Asides:    cmp.Or(l.Asides, 4),
		Turns:     cmp.Or(l.Turns, 8),
		Clauses:   cmp.Or(l.Clauses, 1),
		Ahead:     cmp.Or(l.Ahead, 400*time.Millisecond),
		Lead:      cmp.Or(l.Lead, 200*time.Millisecond),
		Guesses:   cmp.Or(l.Guesses, 3),
		Commit:    cmp.Or(l.Commit, 300*time.Millisecond),
		Steps:     cmp.Or(l.Steps, 8),
		Stall:     cmp.Or(l.Stall, 5*time.Second),
		Lapse:     cmp.Or(l.Lapse, 2*time.Second),
		Unheard:   cmp.Or(l.Unheard, 700*time.Millisecond),
	}
}
