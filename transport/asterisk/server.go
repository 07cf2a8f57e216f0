// Package asterisk takes telephone calls from an Asterisk: by its AudioSocket, which is frames over TCP, and by its chan_websocket, to which
// either side connects. It knows their envelopes, and who may bring a call; what a call is belongs to transport/phone.
package asterisk

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"riposte/transport"
	"riposte/transport/phone"
)

// Server takes the calls of Asterisks. Set the exported fields before the first call.
type Server struct {
	Phone *phone.Server
	Keys  []string // One of them is asked of whoever brings a call over HTTP. Without any, everybody may.
	// Peers are the networks from which AudioSocket may connect. It defaults to this machine.
	Peers []netip.Prefix
	// Announced says that AudioSocket brings calls that were announced, and no others.
	Announced bool
	// Ahead is how long an announced call may take to come. It defaults to 1 minute.
	Ahead time.Duration
	// Announcements are how many calls may be announced that have not come yet. It defaults to 1,000.
	Announcements int
	// Exchanges are the addresses of Asterisks' HTTP servers to which calls may be fetched, such as ws://pbx.example.org:8088. A name and a
	// password in one are shown to it. Without any, none are.
	Exchanges []string
	// Answer says that calls of chan_websocket are answered when they are taken, which the dial string's option n leaves to this side.
	Answer bool
	// Buffer is how much sound is sent to chan_websocket ahead of its playing. It defaults to 200 ms.
	Buffer time.Duration
	// Manager leads callers elsewhere. Without one they can not be transferred.
	Manager *Manager
	Log     *slog.Logger

	awaited awaited
	calls   sync.WaitGroup // Those that no request and no listener waits for.
}

// Close waits for the calls that were fetched: they end with the context that Fetch was given.
func (s *Server) Close() { s.calls.Wait() }

// permits reports whether a request shows a key, and answers it where it has to and does not.
func (s *Server) permits(w http.ResponseWriter, r *http.Request) bool {
	if len(s.Keys) == 0 || s.shows(r) {
		return true
	}
	w.Header().Set("WWW-Authenticate", `Basic realm="riposte"`)
	http.Error(w, "Show a key of the service (keys): as Authorization: Bearer KEY, or as a password.", http.StatusUnauthorized)
	return false
}

// shows reports whether a request has a key, as Authorization: Bearer KEY, or as the password of Basic, whatever the name.
func (s *Server) shows(r *http.Request) bool {
	shown, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if _, password, basic := r.BasicAuth(); basic {
		shown = password
	} else if !bearer {
		return false
	}
	found := 0
	for _, k := range s.Keys {
		found |= subtle.ConstantTimeCompare([]byte(k), []byte(shown))
	}
	return found == 1
}

// converse holds a call on a line until it ends.
func (s *Server) converse(ctx context.Context, l phone.Line, o phone.Opening) {
	err := s.Phone.Converse(ctx, l, o) // which tells the log of a call
	if _, refused := errors.AsType[*phone.Refusal](err); refused {
		s.Log.Warn("a call was not taken", "wire", o.Wire, "line", o.ID, "from", o.From, "to", o.To, "err", err)
		l.Close(err)
	}
}

// between counts what came that was no sound, since there was some.
type between int

// mostBetween is the most of that: marks and keys of a caller who sends no sound while nobody speaks.
const mostBetween = 1000

// another counts one. The error is a *phone.Misuse.
func (b *between) another() error {
	if *b++; *b > mostBetween {
		return phone.Misused("%d messages came without any sound between them.", mostBetween)
	}
	return nil
}

// transfer leads a caller elsewhere, whose channel has a name where one was told.
func (s *Server) transfer(ctx context.Context, channel, to, note string) error {
	if s.Manager == nil || channel == "" {
		return transport.ErrCannot
	}
	return s.Manager.Redirect(ctx, channel, to, note)
}

func (s *Server) buffer() time.Duration { return cmp.Or(s.Buffer, 200*time.Millisecond) }

func (s *Server) ahead() time.Duration { return cmp.Or(s.Ahead, time.Minute) }

func (s *Server) announcements() int { return cmp.Or(s.Announcements, 1000) }
