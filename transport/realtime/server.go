// Package realtime speaks the OpenAI Realtime protocol, in its GA form. It translates between the protocol's events and what a call
// is to the pipeline, on any Line, and holds each client to its limits. It brings one Line, over WebSocket, and says who may call.
package realtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"riposte/budget"
	"riposte/transport"
)

// Server answers GET /v1/realtime, and is what calls on other lines are held by. Set the exported fields before the first request.
type Server struct {
	// Hold holds one call until it ends and says why it ended.
	Hold func(ctx context.Context, c transport.Call, s transport.Settings) error
	// Admit takes a place for a call, or says why there is none: a *Refusal.
	Admit    func() (release func(), err error)
	Defaults transport.Settings            // What calls begin with that come by no route.
	Routes   map[string]transport.Settings // What those begin with that come by one, by its name.
	Model    string                        // What clients are told answers them, unless they ask for another name.
	Voice    string                        // The name of the voice.
	Language func(code string) bool        // Whether callers may speak it, as far as that is known yet. nil takes any.
	// Permit says why a call by a route cannot have an MCP server at an address that its client names. nil permits none.
	Permit  func(route, address string) error
	Origins []string      // Pages of other origins that may connect; "*" is any.
	Keys    []string      // One of them is asked of whoever calls. Without any, everybody may.
	Rates   func() []Rate // What clients are told of limits with each answer; nil tells nothing.
	Limits  Limits
	Queue   *budget.Queue // Counts the events that wait to be written; nil is nobody.
	Log     *slog.Logger

	secrets secrets
	held    held
}

// Limits bounds what one client may take. A zero field means its default.
type Limits struct {
	Message  int64         // The longest message, in bytes. It defaults to 32 MiB.
	Append   int           // The longest sound in one message, in bytes. It defaults to 15 MiB, as the protocol says.
	Queue    int           // Events that wait to be sent. It defaults to 256: 5 s of sound.
	Buffer   int64         // How much they may have together, in bytes. It defaults to 16 MiB; one alone may have more.
	Write    time.Duration // How long a client may take to read an event. It defaults to 5 s.
	Ping     time.Duration // How often a client is asked whether it still reads. It defaults to 10 s.
	Pong     time.Duration // How long it may take to say so. It defaults to 30 s.
	Idle     time.Duration // How long a client may send nothing at all. It defaults to 10 minutes.
	Lifetime time.Duration // How long a call may last. It defaults to 60 minutes, as the protocol says.
	Sides    int           // Connections that may be attached to one call. It defaults to 4.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message:  cmp.Or(l.Message, 32<<20),
		Append:   cmp.Or(l.Append, 15<<20),
		Queue:    cmp.Or(l.Queue, 256),
		Buffer:   cmp.Or(l.Buffer, 16<<20),
		Write:    cmp.Or(l.Write, 5*time.Second),
		Ping:     cmp.Or(l.Ping, 10*time.Second),
		Pong:     cmp.Or(l.Pong, 30*time.Second),
		Idle:     cmp.Or(l.Idle, 10*time.Minute),
		Lifetime: cmp.Or(l.Lifetime, 60*time.Minute),
		Sides:    cmp.Or(l.Sides, 4),
	}
}

// Refusal is why a call was not taken. It becomes a 503.
type Refusal struct {
	Code    string // For programs, such as "too_many_calls".
	Message string // For people.
	Retry   time.Duration
}

func (r *Refusal) Error() string { return r.Message }

// ServeHTTP takes a call, or refuses it before the handshake.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) {
		refuse(w, http.StatusUpgradeRequired, "not_a_websocket", "This address speaks WebSocket: connect with a Realtime client.")
		return
	}
	guest, err := s.Enter(w, r)
	if err != nil {
		s.Refuse(w, err)
		return
	}
	if q := r.URL.Query(); q.Has("call_id") { // an empty one is no call, and begins none
		s.attach(w, r, guest, q.Get("call_id"))
		return
	}
	release, err := s.Admit()
	if err != nil {
		s.Refuse(w, err)
		return
	}
	defer release()
	o, err := s.Open(guest, r.URL.Query().Get("model"), guest.Session)
	if err != nil {
		s.Refuse(w, err)
		return
	}
	ws, err := s.upgrade(w, r)
	if err != nil {
		return // the upgrader has answered
	}
	_ = s.Converse(r.Context(), newSocket(ws, s.Limits.withDefaults()), o, "from", r.RemoteAddr, "agent", r.UserAgent())
}

// Opening is a call that is about to begin.
type Opening struct {
	ID      string // Of the call, and of its session on the wire.
	Alias   string // Another name by which connections can be attached to it; empty for none.
	session session
	beta    bool // The client wants the events of the protocol's beta.

	defaults transport.Settings // Of its route.
}

// Open makes ready a call that the model is asked for by a name, or by none, and whose session is to differ from the service's own as each of
// the patches says that is not empty. Refuse knows the error.
func (s *Server) Open(guest Guest, model string, patches ...json.RawMessage) (*Opening, error) {
	var asked struct {
		Model string `json:"model"`
		Type  string `json:"type"`
	}
	for _, p := range patches {
		_ = json.Unmarshal(p, &asked) // update says what is wrong with it
	}
	model = cmp.Or(model, asked.Model)
	kind := talks
	if guest.listens || asked.Type == listens {
		kind = listens
	}
	o := &Opening{ID: "sess_" + rand.Text(), beta: guest.beta, defaults: s.begins(cmp.Or(guest.Route, model))}
	o.session = newSession(kind, o.ID, cmp.Or(model, s.Model), s.Voice, o.defaults)
	for _, p := range patches {
		if len(p) == 0 {
			continue
		}
		next, err := o.session.update(p, o.defaults, s.Voice)
		if err == nil {
			err = s.stays(o.defaults, o.session, next)
		}
		if err != nil {
			return nil, err
		}
		o.session = next
	}
	if err := s.hears(o.session); err != nil {
		return nil, err
	}
	if err := s.reaches(o.defaults, o.session); err != nil {
		return nil, err
	}
	return o, nil
}

// Converse holds a call on a line, which it closes, and says why it ended. about is said of it in the log.
func (s *Server) Converse(ctx context.Context, line Line, o *Opening, about ...any) error {
	c := newCall(line, s, o)
	s.held.add(c, o.ID, o.Alias)
	defer s.held.remove(c)
	log := s.Log.With("call", c.ID())
	log.Info("call begins", about...)
	began := time.Now()
	err := c.hold(ctx, s.Hold)
	log.Info("call ended", "why", err, "lasted", time.Since(began).Round(time.Millisecond))
	return err
}
