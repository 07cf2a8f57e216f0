// Package realtime speaks the OpenAI Realtime protocol, in its GA form, over WebSocket. It translates between the protocol's
// events and what a call is to the pipeline, and holds each client to its limits.
package realtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"riposte/budget"
	"riposte/transport"
)

// Server answers GET /v1/realtime. Set the exported fields before the first request.
type Server struct {
	// Hold holds one call until it ends and says why it ended.
	Hold func(ctx context.Context, c transport.Call, s transport.Settings) error
	// Admit takes a place for a call, or says why there is none: a *Refusal.
	Admit    func() (release func(), err error)
	Defaults transport.Settings     // What calls begin with.
	Model    string                 // What clients are told answers them, unless they ask for another name.
	Voice    string                 // The name of the voice.
	Language func(code string) bool // Whether callers may speak it. nil takes any.
	Origins  []string               // Pages of other origins that may connect; "*" is any.
	Limits   Limits
	Queue    *budget.Queue // Counts the events that wait to be written; nil is nobody.
	Log      *slog.Logger
}

// Limits bounds what one client may take. A zero field means its default.
type Limits struct {
	Message  int64         // The longest message, in bytes. It defaults to 32 MiB.
	Append   int           // The longest sound in one message, in bytes. It defaults to 15 MiB, as the protocol says.
	Queue    int           // Events that wait to be sent. It defaults to 256: 5 s of sound.
	Write    time.Duration // How long a client may take to read an event. It defaults to 5 s.
	Ping     time.Duration // How often a client is asked whether it still reads. It defaults to 10 s.
	Pong     time.Duration // How long it may take to say so. It defaults to 30 s.
	Idle     time.Duration // How long a client may send nothing at all. It defaults to 10 minutes.
	Lifetime time.Duration // How long a call may last. It defaults to 60 minutes, as the protocol says.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message:  cmp.Or(l.Message, 32<<20),
		Append:   cmp.Or(l.Append, 15<<20),
		Queue:    cmp.Or(l.Queue, 256),
		Write:    cmp.Or(l.Write, 5*time.Second),
		Ping:     cmp.Or(l.Ping, 10*time.Second),
		Pong:     cmp.Or(l.Pong, 30*time.Second),
		Idle:     cmp.Or(l.Idle, 10*time.Minute),
		Lifetime: cmp.Or(l.Lifetime, 60*time.Minute),
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
	release, err := s.Admit()
	if err != nil {
		s.refuse(w, err)
		return
	}
	defer release()

	limits := s.Limits.withDefaults()
	upgrader := websocket.Upgrader{
		CheckOrigin:     s.originAllowed,
		WriteBufferSize: 4 << 10,
		Subprotocols:    []string{"realtime"},
		Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
			if status == http.StatusForbidden {
				refuse(w, status, "origin_not_allowed", fmt.Sprintf("Pages of %.100q may not connect: the setting origins has to name them.", r.Header.Get("Origin")))
				return
			}
			refuse(w, status, "bad_handshake", reason.Error())
		},
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // the upgrader has answered
	}
	c := newCall(ws, limits, s, r.URL.Query().Get("model"))
	log := s.Log.With("call", c.ID())
	log.Info("call begins", "from", r.RemoteAddr, "agent", r.UserAgent())
	began := time.Now()
	err = c.hold(r.Context(), s.Hold)
	log.Info("call ended", "why", err, "lasted", time.Since(began).Round(time.Millisecond))
}

func (s *Server) refuse(w http.ResponseWriter, err error) {
	var r *Refusal
	if !errors.As(err, &r) {
		r = &Refusal{Code: "unavailable", Message: err.Error(), Retry: 5 * time.Second}
	}
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(r.Retry.Round(time.Second).Seconds()))))
	refuse(w, http.StatusServiceUnavailable, r.Code, r.Message)
}

// refuse answers a request that is not taken, in the protocol's form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	_ = json.NewEncoder(w).Encode(fields{"error": fields{"type": kind, "code": code, "message": message}}) // whoever asked may be gone
}

// originAllowed lets programs in, which send no origin, pages that this service itself has served, and those that the
// settings name. Only an address, or localhost, is taken for this service: a page elsewhere can have its own name lead
// here, and that name would then be origin and host alike.
func (s *Server) originAllowed(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil {
		if origin == "http://"+r.Host || origin == "https://"+r.Host {
			return true
		}
	}
	for _, o := range s.Origins {
		if o == "*" || o == origin {
			return true
		}
	}
	return false
}
