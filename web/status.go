package web

import (
	"errors"
	"sync"
)

// State is what the service is doing.
type State int

// The states, in the order in which a service passes them.
const (
	Loading  State = iota // Models are being loaded.
	Ready                 // Calls are taken.
	Draining              // The service goes down: calls end, none begin.
)

// String returns the state's name in lower case.
func (s State) String() string { return [...]string{"loading", "ready", "draining"}[s] }

// The reasons for which a call is not taken.
var (
	ErrLoading  = errors.New("the models are being loaded")
	ErrDraining = errors.New("the service is shutting down")
	ErrFull     = errors.New("all places are taken")
)

// Remote is how an engine on another machine does. One that is not asked keeps nobody from calling: something else answers, or says why not.
type Remote struct {
	Stage string `json:"stage"`
	Model string `json:"model"` // And not where it is served: whoever reaches the service may ask.
	State string `json:"breaker"`
}

// Status is the service's state, how many calls it holds, and how many requests it answers beside them. The zero value is Loading. It is safe for use by many
// goroutines.
type Status struct {
	// Remotes says how engines on other machines do; nil where there are none. It has to be set before anybody asks.
	Remotes func() []Remote

	mu       sync.Mutex
	state    State
	calls    int
	requests int
}

// Set changes the state.
func (s *Status) Set(state State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// Get returns the state.
func (s *Status) Get() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Calls returns how many calls are held.
func (s *Status) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// Enter counts a call in, unless limit are held already or none is taken now: ErrFull, ErrLoading, ErrDraining.
func (s *Status) Enter(limit int) error {
	return s.take(&s.calls, limit)
}

// take counts one more of what there may be limit of.
func (s *Status) take(count *int, limit int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state == Loading:
		return ErrLoading
	case s.state == Draining:
		return ErrDraining
	case *count >= limit:
		return ErrFull
	}
	*count++
	return nil
}

// Leave counts a call out.
func (s *Status) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls--
}

// Requests returns how many requests are being answered.
func (s *Status) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Begin counts a request in, with the errors of Enter.
func (s *Status) Begin(limit int) error {
	return s.take(&s.requests, limit)
}

// End counts a request out.
func (s *Status) End() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests--
}
