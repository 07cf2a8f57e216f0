package phone

import (
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"riposte/transport"
)

// Ticket is what a far side is given when it announces a call, and has to show when it brings the call's sound. Whoever has it may bring one call.
type Ticket struct {
	Wire     string             `json:"wire"`
	ID       string             `json:"id,omitempty"` // What the far side calls the call.
	From     string             `json:"from,omitempty"`
	To       string             `json:"to,omitempty"`
	Route    string             `json:"route,omitempty"`
	Language string             `json:"language,omitempty"`
	Placed   bool               `json:"placed,omitempty"` // As in Opening.
	Answerer transport.Answerer `json:"answerer,omitempty"`
}

// Opening is what a ticket says of a call.
func (t Ticket) Opening() Opening {
	return Opening{Wire: t.Wire, ID: t.ID, From: t.From, To: t.To, Route: t.Route, Placed: t.Placed, Answerer: t.Answerer}
}

// The reasons for which a ticket is not taken.
var (
	ErrNoTicket    = errors.New("no ticket is shown, or one that is none of this service's, or of before it was started anew")
	ErrTicketEnded = errors.New("the ticket has ended")
	ErrTicketUsed  = errors.New("the ticket was used already")
)

// Tickets issues tickets, which are JSON Web Tokens that the process signs by a key of its own, and takes each of them once. The zero value is ready.
type Tickets struct {
	mu   sync.Mutex
	key  []byte
	used map[string]time.Time // Those that were taken, by their IDs, until they end.
}

// TicketLife is how long a ticket is good: a far side shows it within a second or two.
const TicketLife = time.Minute

type ticketClaims struct {
	jwt.RegisteredClaims
	Ticket
}

// Issue returns a ticket.
func (t *Tickets) Issue(k Ticket, now time.Time) (string, error) {
	claims := ticketClaims{jwt.RegisteredClaims{ID: rand.Text(), ExpiresAt: jwt.NewNumericDate(now.Add(TicketLife))}, k}
	text, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString(t.signer())
	if err != nil {
		return "", fmt.Errorf("signing a ticket: %w", err)
	}
	return text, nil
}

// Take takes a ticket for a wire, once. The error is ErrNoTicket, ErrTicketEnded or ErrTicketUsed.
func (t *Tickets) Take(text, wire string, now time.Time) (Ticket, error) {
	var c ticketClaims
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }))
	_, err := parser.ParseWithClaims(text, &c, func(*jwt.Token) (any, error) { return t.signer(), nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return Ticket{}, ErrTicketEnded
	case err != nil, c.Wire != wire:
		return Ticket{}, ErrNoTicket
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, ends := range t.used {
		if ends.Before(now) {
			delete(t.used, id)
		}
	}
	if _, used := t.used[c.RegisteredClaims.ID]; used {
		return Ticket{}, ErrTicketUsed
	}
	if t.used == nil {
		t.used = map[string]time.Time{}
	}
	t.used[c.RegisteredClaims.ID] = c.ExpiresAt.Time
	return c.Ticket, nil
}

// signer returns the key.
func (t *Tickets) signer() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.key == nil {
		t.key = []byte(rand.Text() + rand.Text())
	}
	return t.key
}
