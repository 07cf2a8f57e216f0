package pipeline

import (
	"context"
	"sync"

	"riposte/transport"
)

// saying is the item that the caller is about to add to the conversation, as those know it who work ahead on it.
type saying struct {
	mu       sync.Mutex
	item     string // Empty while the caller says nothing.
	settings transport.Settings
	stop     context.CancelFunc // Of what works on it; nil while nothing does.
}

// begin notes what is being said from now on.
func (s *saying) begin(item string, settings transport.Settings) {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.item, s.settings = item, settings
}

// end stops what works on it.
func (s *saying) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
	}
	s.item, s.stop = "", nil
}

// read notes that somebody works on an item, who is told to stop once it has been said. It reports false if it has been.
func (s *saying) read(item string, stop context.CancelFunc) (transport.Settings, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if item == "" || s.item != item {
		return transport.Settings{}, false
	}
	s.stop = stop
	return s.settings, true
}
