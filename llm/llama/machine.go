package llama

import "riposte/llm"

// machine decodes. It is what the loop needs of a model and its memory; only the loop's goroutine calls it.
type machine interface {
	// Decode computes a batch on so many threads and adds it to the memory. It returns errStopped if stop became true
	// meanwhile, and then, as after any error, the memory of the batch's sequences is undefined beyond what it held
	// before.
	Decode(batch []entry, threads int, stop func() bool) error
	// Keep cuts the memory of a sequence to its first n tokens. False means that the memory cannot do that, and that
	// the sequence is now empty.
	Keep(seq, n int) bool
	// Copy makes the memory of one sequence the first n tokens of another's. False is as for Keep.
	Copy(from, to, n int) bool
	// Save returns what the memory holds of a sequence, or nil if it cannot be had.
	Save(seq int) []byte
	// Restore makes the memory of a sequence what Save has returned. False is as for Keep.
	Restore(seq int, state []byte) bool
	// LogProb returns the natural logarithm of the probability that t follows the i-th entry of the last batch, whose
	// last must have been true.
	LogProb(i int, t token) float64
	// Top returns the n tokens that are likeliest to follow the i-th entry of the last batch, the likeliest first.
	Top(i, n int) []likely
	// Picker returns what chooses the tokens of one answer, such that it keeps to f if that is not nil.
	Picker(s llm.Sampling, f *form) picker
}

// likely is a token and the natural logarithm of its probability.
type likely struct {
	token   token
	logProb float64
}

// entry is one token of a batch.
type entry struct {
	token token
	pos   int  // Its place in its sequence.
	seq   int  // The sequence.
	last  bool // What follows it will be picked.
}

// picker chooses the next token of one answer. It must be closed.
type picker interface {
	// Pick chooses what follows the i-th entry of the last batch, whose last must have been true. It fails if the
	// answer's form leaves nothing to choose.
	Pick(i int) (token, error)
	Close()
}

// vocabulary says what tokens mean.
type vocabulary interface {
	// Piece returns the bytes of a token, valid until the next call.
	Piece(t token) []byte
	// Ends reports whether a token ends an answer.
	Ends(t token) bool
}
