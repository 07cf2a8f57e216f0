package pipeline

import (
	"context"
	"sync"

	"riposte/transport"
)

// saying is the item that the caller is about to add to the conversation, as those know it who work ahead on it.
type saying struct {
	mu   sync.Mutex
	what utterance
	stop context.CancelFunc // Of what works on it; nil while nothing does.
}

// utterance is something that is being said.
type utterance struct {
	item     string // Empty while the caller says nothing.
	replaces string // The item that it goes on with and will take in, if any.
	settings transport.Settings
}

// begin notes what is being said from now on.
func (s *saying) begin(u utterance) {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.what = u
}

// end stops what works on it.
func (s *saying) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
	s.what, s.stop = utterance{}, nil
}

// join notes that somebody works on an item, who is told to stop once it has been said. It reports false if it has been.
func (s *saying) join(item string, stop context.CancelFunc) (utterance, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item == "" || s.what.item != item {
		return utterance{}, false
	}
	s.stop = stop
	return s.what, true
}
