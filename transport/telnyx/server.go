// Package telnyx takes calls from Telnyx: it answers the request that announces a call with TeXML, and holds the call on the media stream that
// Telnyx opens then.
package telnyx

import (
	"cmp"
	"crypto/ed25519"
	"encoding/xml"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"riposte/transport/phone"
)

// Wire is what the wire is called in traces.
const Wire = "telnyx"

// Server answers Telnyx's requests. Set the exported fields before the first one.
type Server struct {
	Phone   *phone.Server
	Tickets *phone.Tickets
	Key     ed25519.PublicKey // Of the account: it signs Telnyx's requests.
	Public  string            // Where Telnyx reaches the service, such as wss://voice.example.com.
	Path    string            // Of Media, below that.
	Buffer  time.Duration     // Sound that Telnyx has in hand.
	Account *Account          // Leads calls elsewhere; nil does not.
	Log     *slog.Logger
}

// mostRequest is how long a request may be, in bytes.
const mostRequest = 64 << 10

// texml is what Telnyx is told to do with a call.
type texml struct {
	XMLName xml.Name `xml:"Response"`
	Stream  *stream  `xml:"Connect>Stream,omitempty"`
	Reject  *reject  `xml:"Reject,omitempty"`
}

type stream struct {
	URL        string      `xml:"url,attr"`
	Track      string      `xml:"track,attr"`
	Mode       string      `xml:"bidirectionalMode,attr"` // Without it nobody hears what is sent.
	Codec      string      `xml:"bidirectionalCodec,attr"`
	In         string      `xml:"codec,attr"`
	Parameters []parameter `xml:"Parameter"`
}

type parameter struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type reject struct {
	Reason string `xml:"reason,attr"`
}

// Answer answers the request for what is to become of a call, by POST: it is connected with Media. A route may be named by ?route=NAME.
func (s *Server) Answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostRequest))
	if err != nil {
		http.Error(w, "the body is too long, or did not come", http.StatusBadRequest)
		return
	}
	if err := verify(r, body, s.Key, time.Now()); err != nil {
		s.Log.Warn("a request is refused", "wire", Wire, "from", r.RemoteAddr, "why", err)
		http.Error(w, err.Error(), http.StatusForbidden)
		return
	}
	call, err := url.ParseQuery(string(body))
	if err != nil {
		http.Error(w, "the body is no form", http.StatusBadRequest)
		return
	}
	query := r.URL.Query()
	ticket := phone.Ticket{
		Wire: Wire, ID: call.Get("CallSid"), From: call.Get("From"), To: call.Get("To"), Route: query.Get("route"),
		Placed: phone.Outbound(cmp.Or(call.Get("Direction"), query.Get("direction"))), Answerer: phone.AnsweredBy(call.Get("AnsweredBy")),
	}
	if ticket.ID == "" {
		http.Error(w, "the request has no CallSid: what announces a call has one", http.StatusBadRequest)
		return
	}
	text, ok := s.Phone.Invite(w, s.Tickets, ticket, func(why error) {
		reason := "rejected"
		if _, full := errors.AsType[*phone.Refusal](why); full {
			reason = "busy"
		}
		reply(w, texml{Reject: &reject{reason}})
	})
	if !ok {
		return
	}
	reply(w, texml{Stream: &stream{
		URL: strings.TrimSuffix(s.Public, "/") + s.Path, Track: "inbound_track", Mode: "rtp", Codec: "PCMU", In: "PCMU", Parameters: []parameter{{"ticket", text}},
	}})
}

// Media holds a call on the stream that Telnyx opens for it.
func (s *Server) Media(w http.ResponseWriter, r *http.Request) { s.Phone.Serve(w, r, Wire, s.begin) }

// begin reads what Telnyx says before the first sound.
func (s *Server) begin(socket *phone.Socket) (phone.Line, phone.Opening, error) {
	var m message
	for _, expected := range []string{"connected", "start"} {
		_, b, err := socket.First()
		if err == nil {
			m, err = read(b)
		}
		if err == nil && m.Event != expected {
			err = &phone.Misuse{Message: "A stream begins with the events connected and start."}
		}
		if err != nil {
			return nil, phone.Opening{}, err
		}
	}
	ticket, err := s.Tickets.Take(m.Start.Parameters["ticket"], Wire, time.Now())
	if err != nil {
		return nil, phone.Opening{}, &phone.Misuse{Message: err.Error()}
	}
	in, err := m.format()
	if err != nil {
		return nil, phone.Opening{}, err
	}
	o := s.opening(ticket)
	o.In, o.Parameters = in, m.Start.Parameters
	delete(o.Parameters, "ticket")
	return &line{socket: socket, call: m.Start.Call, account: s.Account}, o, nil
}

// opening is what a ticket says of a call.
func (s *Server) opening(t phone.Ticket) phone.Opening {
	o := t.Opening()
	o.Out, o.Buffer, o.Unordered = phone.Format{Encoding: phone.MuLaw, Rate: audioRate}, s.Buffer, true
	return o
}

func reply(w http.ResponseWriter, t texml) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, xml.Header)
	_ = xml.NewEncoder(w).Encode(t) // whoever asked may be gone
}
