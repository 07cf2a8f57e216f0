// Package vonage takes calls from Vonage's Voice API: it answers the request that announces a call, and holds the call on the WebSocket that
// Vonage opens then.
package vonage

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"riposte/transport/phone"
)

// Wire is what the wire is called in traces.
const Wire = "vonage"

// Server answers Vonage's requests. Set the exported fields before the first one.
type Server struct {
	Phone   *phone.Server
	Tickets *phone.Tickets
	Secret  string        // Signs Vonage's requests: the account's signature secret.
	Public  string        // Where Vonage reaches the service, such as wss://voice.example.com.
	Path    string        // Of Media, below that.
	Rate    int           // Of the sound, in hertz: 8000, 16000 or 24000.
	Buffer  time.Duration // Sound that Vonage has in hand.
	Busy    string        // What a caller is told for whom there is no place.
	Account *Account      // Leads calls elsewhere; nil does not.
	Log     *slog.Logger
}

// mostRequest is how long a request may be, in bytes.
const mostRequest = 64 << 10

// announced is what Vonage says of a call that has come.
type announced struct {
	From string `json:"from"`
	To   string `json:"to"`
	Leg  string `json:"uuid"`
}

// Answer answers the request for what is to become of a call (answer_url, by GET or POST): it is connected with Media. A route may be named by
// ?route=NAME, and that the call was placed said by ?direction=outbound and answered_by.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request) {
	body, ok := s.signed(w, r)
	if !ok {
		return
	}
	call := announced{From: r.URL.Query().Get("from"), To: r.URL.Query().Get("to"), Leg: r.URL.Query().Get("uuid")}
	if r.Method == http.MethodPost {
		if err := json.Unmarshal(body, &call); err != nil {
			http.Error(w, "the body is no JSON of a call", http.StatusBadRequest)
			return
		}
	}
	query := r.URL.Query()
	ticket := phone.Ticket{
		Wire: Wire, ID: call.Leg, From: call.From, To: call.To, Route: query.Get("route"),
		Placed: phone.Outbound(query.Get("direction")), Answerer: phone.AnsweredBy(query.Get("answered_by")),
	}
	if ticket.ID == "" {
		http.Error(w, "the request has no uuid: what announces a call has one", http.StatusBadRequest)
		return
	}
	text, ok := s.Phone.Invite(w, s.Tickets, ticket, func(error) { reply(w, []any{map[string]any{"action": "talk", "text": s.Busy}}) })
	if !ok {
		return
	}
	reply(w, []any{map[string]any{
		"action": "connect", "from": call.To, "endpoint": []any{map[string]any{
			"type": "websocket", "uri": strings.TrimSuffix(s.Public, "/") + s.Path, "content-type": s.contentType(),
			"headers": map[string]string{"ticket": text},
		}},
	}})
}

// contentType is how Vonage is asked to send sound.
func (s *Server) contentType() string {
	switch s.Rate {
	case 8000:
		return "audio/l16;rate=8000"
	case 24000:
		return "audio/l16;rate=24000"
	}
	return "audio/l16;rate=16000"
}

// Events takes the notices of what becomes of calls (event_url). The socket says the same.
func (s *Server) Events(w http.ResponseWriter, r *http.Request) {
	if body, ok := s.signed(w, r); ok {
		s.Log.Debug("notice", "wire", Wire, "body", string(body))
		w.WriteHeader(http.StatusNoContent)
	}
}

// signed returns the body of a request that Vonage has signed. Others it refuses.
func (s *Server) signed(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	if err != nil {
		http.Error(w, "the body is too long, or did not come", http.StatusBadRequest)
		return nil, false
	}
	if err := verify(r, body, s.Secret, time.Now()); err != nil {
		s.Log.Warn("a request is refused", "wire", Wire, "from", r.RemoteAddr, "why", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return nil, false
	}
	return body, true
}

// Media holds a call on the socket that Vonage opens for it.
func (s *Server) Media(w http.ResponseWriter, r *http.Request) { s.Phone.Serve(w, r, Wire, s.begin) }

// begin reads what Vonage says first.
func (s *Server) begin(socket *phone.Socket) (phone.Line, phone.Opening, error) {
	text, b, err := socket.First()
	if err != nil {
		return nil, phone.Opening{}, err
	}
	m, err := read(b)
	if !text || err != nil || m.Event != connected {
		return nil, phone.Opening{}, errors.Join(err, &phone.Misuse{Message: "The first message must be the event " + connected + "."})
	}
	ticket, err := s.Tickets.Take(m.Ticket, Wire, time.Now())
	if err != nil {
		return nil, phone.Opening{}, &phone.Misuse{Message: err.Error()}
	}
	f, err := format(m.ContentType)
	if err != nil {
		return nil, phone.Opening{}, err
	}
	return &line{socket: socket, format: f, call: ticket.ID, account: s.Account}, s.opening(ticket, f), nil
}

// opening is what a ticket says of a call, whose sound has a format.
func (s *Server) opening(t phone.Ticket, f phone.Format) phone.Opening {
	o := t.Opening()
	o.In, o.Out, o.Buffer = f, f, s.Buffer
	return o
}

func reply(w http.ResponseWriter, ncco []any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(ncco) // whoever asked may be gone
}
