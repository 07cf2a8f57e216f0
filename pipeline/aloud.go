package pipeline

import "sync"

// aloud is what the caller may just have heard of an answer: its newest clauses. It is safe for use by several goroutines.
type aloud struct {
	mu   sync.Mutex
	text [2]string // The clause before, and the one that is being sent.
}

// begin notes that a new answer begins.
func (a *aloud) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text = [2]string{}
}

// say notes that a clause begins to be sent.
func (a *aloud) say(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text[0], a.text[1] = a.text[1], text
}

// recent returns the clauses.
func (a *aloud) recent() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text[0] + a.text[1]
}
