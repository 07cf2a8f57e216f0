// Package twilio takes calls from Twilio: it answers the request that announces a call with TwiML, and holds the call on the media stream that
// Twilio opens then.
package twilio

import (
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"riposte/transport/phone"
)

// Wire is what the wire is called in traces.
const Wire = "twilio"

// Server answers Twilio's requests. Set the exported fields before the first one.
type Server struct {
	Phone   *phone.Server
	Tickets *phone.Tickets
	Token   string        // The account's, by which Twilio signs its requests.
	Public  string        // Where Twilio reaches the service, such as https://voice.example.com; empty goes by what requests say.
	Proxied bool          // A proxy says by X-Forwarded-Proto and X-Forwarded-Host where that is, where Public is empty.
	Path    string        // Of Media, below that.
	Strict  bool          // Media streams that Twilio has not signed are refused, and not only those that it has signed wrongly.
	Buffer  time.Duration // Sound that Twilio has in hand.
	Say     string        // Spoken by Twilio before the stream begins; empty for nothing.
	After   string        // Address of the TwiML that goes on after the stream; empty hangs up.
	Busy    string        // What Twilio says where there is no place for a call; empty rejects it as busy.
	Account *Account      // Ends calls and leads them elsewhere; nil does neither.
	Log     *slog.Logger
}

// mostRequest is how long a request may be, in bytes.
const mostRequest = 64 << 10

// Answer answers the request for what is to become of a call, by POST: it is connected with Media. A route may be named by ?route=NAME.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostRequest)
	if err := r.ParseForm(); err != nil {
		http.Error(w, "the body is no form, is too long, or did not come", http.StatusBadRequest)
		return
	}
	address := s.address(r)
	if err := verify(r, s.Token, address, r.PostForm); err != nil {
		s.Log.Warn("a request is refused", "wire", Wire, "remote", r.RemoteAddr, "address", address, "why", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	ticket := phone.Ticket{
		Wire: Wire, ID: r.PostForm.Get("CallSid"), From: r.PostForm.Get("From"), To: r.PostForm.Get("To"), Route: r.URL.Query().Get("route"),
		Placed: phone.Outbound(r.PostForm.Get("Direction")), Answerer: phone.AnsweredBy(r.PostForm.Get("AnsweredBy")),
	}
	if ticket.ID == "" {
		http.Error(w, "the request has no CallSid: what announces a call has one", http.StatusBadRequest)
		return
	}
	text, ok := s.Phone.Invite(w, s.Tickets, ticket, func(why error) {
		_, full := errors.AsType[*phone.Refusal](why)
		switch {
		case !full:
			twiml{Reject: &reject{"rejected"}}.reply(w)
		case s.Busy == "":
			twiml{Reject: &reject{"busy"}}.reply(w)
		default:
			twiml{Say: s.Busy}.then("").reply(w)
		}
	})
	if !ok {
		return
	}
	base := strings.TrimSuffix(address, r.URL.RequestURI())
	twiml{Say: s.Say, Stream: &stream{URL: socketAddress(base) + s.Path, Parameters: []parameter{{"token", text}}}}.then(s.After).reply(w)
}

// Media holds a call on the stream that Twilio opens for it.
func (s *Server) Media(w http.ResponseWriter, r *http.Request) {
	if signed := r.Header.Get("X-Twilio-Signature") != ""; signed || s.Strict {
		address := socketAddress(s.address(r))
		if err := verify(r, s.Token, address, nil); err != nil {
			s.Log.Warn("a connection is refused", "wire", Wire, "remote", r.RemoteAddr, "address", address, "why", err)
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
	}
	s.Phone.Serve(w, r, Wire, s.begin)
}

// begin reads what Twilio says before the first sound.
func (s *Server) begin(socket *phone.Socket) (phone.Line, phone.Opening, error) {
	var m message
	for _, expected := range []string{"connected", "start"} {
		text, b, err := socket.First()
		if err == nil {
			m, err = read(b)
		}
		if err == nil && (!text || m.Event != expected) {
			err = phone.Misused("A stream begins with the events connected and start, and not with %.32q.", m.Event)
		}
		if err != nil {
			return nil, phone.Opening{}, err
		}
	}
	if err := m.begins(); err != nil {
		return nil, phone.Opening{}, err
	}
	ticket, err := s.Tickets.Take(m.Start.Parameters["token"], Wire, time.Now())
	switch {
	case err != nil:
		return nil, phone.Opening{}, phone.Misused("The parameter token is not taken: %v.", err)
	case ticket.ID != m.Start.Call:
		return nil, phone.Opening{}, phone.Misused("The parameter token is of another call.")
	}
	o := opening(ticket)
	o.Buffer, o.Parameters = s.Buffer, m.Start.Parameters
	delete(o.Parameters, "token")
	return &line{socket: socket, stream: m.Stream, call: m.Start.Call, account: s.Account}, o, nil
}

// opening is what a ticket says of a call.
func opening(t phone.Ticket) phone.Opening {
	o := t.Opening()
	o.In, o.Out = format, format
	return o
}
