package phone

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Refusal says that a call was not taken, and why. The line is as it was: its wire tells the far side so, in its own words.
type Refusal struct{ Why error }

func (r *Refusal) Error() string { return "the call is refused: " + r.Why.Error() }

// Unwrap returns why.
func (r *Refusal) Unwrap() error { return r.Why }

// ErrCrowded says that a connection had to make room, since it has not said which call it brings, and so many others came that have not either.
var ErrCrowded = errors.New("too many connections have not said which call they bring (phone.waiting): this one has waited the longest")

// waiting holds the connections that have not said yet which call they bring, and keeps places for calls that were announced.
type waiting struct {
	mu     sync.Mutex
	silent []*waiter // The one that has waited the longest first.
	gone   int       // How many had to make room since that was told,
	told   time.Time // which was here.
	places map[announced]*place
}

// waiter is a connection that waits.
type waiter struct{ leave context.CancelCauseFunc }

// announced is a call that is to come.
type announced struct{ wire, id string }

// place is taken for one.
type place struct {
	release func()
	ends    *time.Timer
}

// PlaceKept is how long a place is kept for a call that was announced. One that comes later is admitted like any other.
const PlaceKept = 20 * time.Second

// Wait takes one of the places for connections that have not said yet which call they bring: the first thing that a wire does with one. Who takes
// it has shown nothing yet, so it is given to whoever comes, and the one that has waited the longest goes: else a few that say nothing would keep
// all calls out. The context ends with ctx, and with ErrCrowded where the connection has to go. done gives the place back, the sooner the better; a
// second time it does nothing.
func (s *Server) Wait(ctx context.Context) (waits context.Context, done func()) {
	most := s.Limits.withDefaults().Waiting
	waits, leave := context.WithCancelCause(ctx)
	self, w := &waiter{leave}, &s.waiting
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.silent) >= most {
		w.silent[0].leave(ErrCrowded)
		w.silent = slices.Delete(w.silent, 0, 1)
		w.gone++
	}
	if now := time.Now(); w.gone > 0 && now.Sub(w.told) >= time.Second { // whoever reaches a port can make as many as they like
		s.log().Warn("connections that have not said which call they bring make room for others", "count", w.gone, "waiting", most)
		w.gone, w.told = 0, now
	}
	w.silent = append(w.silent, self)
	return waits, func() {
		leave(nil)
		w.mu.Lock()
		defer w.mu.Unlock()
		if i := slices.Index(w.silent, self); i >= 0 {
			w.silent = slices.Delete(w.silent, i, i+1)
		}
	}
}

// Announce takes a place for a call before it comes, so that its far side can be told that there is none while it still rings. Converse finds
// it by what the opening says. One that is announced again, as far sides do that got no answer, keeps its place. The error is a *Refusal.
func (s *Server) Announce(wire, id string) error {
	w, key := &s.waiting, announced{wire, id}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.places[key]; p != nil && p.ends.Stop() {
		p.ends.Reset(PlaceKept)
		return nil
	}
	release, err := s.Admit()
	if err != nil {
		return &Refusal{err}
	}
	if w.places == nil {
		w.places = map[announced]*place{}
	}
	p := &place{release: release}
	w.places[key] = p
	p.ends = time.AfterFunc(PlaceKept, func() { s.forget(key, p) })
	return nil
}

// Invite announces the call of a ticket, for a wire whose far side asks over HTTP what is to become of it, and returns the text of the ticket, by
// which the call comes. Where no route takes the call, and where there is no place for it, which is a *Refusal, it has the wire turn it away, in
// its own words. Then, and where it has answered the request itself, ok is false.
func (s *Server) Invite(w http.ResponseWriter, tickets *Tickets, t Ticket, turnAway func(why error)) (text string, ok bool) {
	log := s.log().With("wire", t.Wire, "line", t.ID, "from", t.From, "to", t.To)
	_, err := s.Choose(t.Opening())
	if err == nil {
		err = s.Announce(t.Wire, t.ID)
	}
	if err != nil {
		log.Warn("a call is turned away", "why", err)
		turnAway(err)
		return "", false
	}
	if text, err = tickets.Issue(t, time.Now()); err != nil {
		s.Withdraw(t.Wire, t.ID)
		log.Error("a call cannot be answered", "err", err)
		http.Error(w, "the call cannot be answered", http.StatusInternalServerError)
		return "", false
	}
	return text, true
}

// Withdraw gives back the place of a call that was announced and will not come.
func (s *Server) Withdraw(wire, id string) {
	if p := s.announced(wire, id); p != nil {
		p.release()
	}
}

// Drain gives back the places of all calls that were announced: the service goes down, and takes no more calls.
func (s *Server) Drain() {
	s.waiting.mu.Lock()
	places := s.waiting.places
	s.waiting.places = nil
	s.waiting.mu.Unlock()
	for _, p := range places {
		if p.ends.Stop() {
			p.release()
		}
	}
}

// forget gives a place back that was kept for too long.
func (s *Server) forget(key announced, p *place) {
	s.waiting.mu.Lock()
	if s.waiting.places[key] == p {
		delete(s.waiting.places, key)
	}
	s.waiting.mu.Unlock()
	p.release()
}

// announced takes the place that was kept for a call; nil where none was.
func (s *Server) announced(wire, id string) *place {
	s.waiting.mu.Lock()
	defer s.waiting.mu.Unlock()
	key := announced{wire, id}
	p := s.waiting.places[key]
	delete(s.waiting.places, key)
	if p == nil || !p.ends.Stop() {
		return nil
	}
	return p
}

// admit returns the place of a call.
func (s *Server) admit(o Opening) (release func(), err error) {
	if p := s.announced(o.Wire, o.ID); p != nil {
		return p.release, nil
	}
	if release, err = s.Admit(); err != nil {
		return nil, &Refusal{err}
	}
	return release, nil
}
