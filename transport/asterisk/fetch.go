package asterisk

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/gorilla/websocket"
)

// fetched is a call that Asterisk has dialled as WebSocket/INCOMING, and waits for this side to connect to.
type fetched struct {
	URL          string `json:"url,omitempty"`           // Of Asterisk's HTTP server; empty is the first of Exchanges.
	ConnectionID string `json:"connection_id,omitempty"` // ${MEDIA_WEBSOCKET_CONNECTION_ID}
	announcement
}

// Fetch answers requests, POST, to fetch a call: it connects to the Asterisk that the body names, and holds the call until held ends.
func (s *Server) Fetch(held context.Context) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.permits(w, r) {
			s.fetch(held, w, r)
		}
	}
}

func (s *Server) fetch(held context.Context, w http.ResponseWriter, r *http.Request) {
	c, ok := s.readCall(w, r)
	if !ok {
		return
	}
	if _, err := uuid.Parse(c.ConnectionID); err != nil {
		http.Error(w, fmt.Sprintf("connection_id is %q: it has to be the channel's MEDIA_WEBSOCKET_CONNECTION_ID, a UUID.", c.ConnectionID), http.StatusBadRequest)
		return
	}
	exchange, ok := s.exchange(c.URL)
	if !ok {
		http.Error(w, fmt.Sprintf("No call may be fetched from %q: name the address of Asterisk's HTTP server, such as ws://127.0.0.1:8088, in the setting asterisk.exchanges.", c.URL), http.StatusForbidden)
		return
	}
	if c.Route != "" && !s.leads(w, c.announcement) { // without one the channel's variables may still name it
		return
	}
	waits, done := s.Phone.Wait(held)
	ws, err := s.connect(r.Context(), exchange, c.ConnectionID)
	if err != nil {
		done()
		http.Error(w, fmt.Sprintf("Asterisk was not reached: %v.", err), http.StatusBadGateway)
		return
	}
	s.calls.Go(func() { s.takeMedia(held, waits, s.Phone.Socket(ws), c.announcement, done) })
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	writeJSON(w, struct {
		ConnectionID string `json:"connection_id"`
	}{c.ConnectionID})
}

// exchange returns the one of Exchanges that is meant, with the name and the password that belong to it.
func (s *Server) exchange(asked string) (*url.URL, bool) {
	for i, e := range s.Exchanges {
		u, err := url.Parse(e)
		if err != nil {
			continue // settings are checked before
		}
		bare := *u
		bare.User = nil
		if asked == "" && i == 0 || slices.Contains([]string{e, bare.String()}, strings.TrimSuffix(asked, "/")) {
			return u, true
		}
	}
	return nil, false
}

// connect opens the WebSocket on which Asterisk waits for a call.
func (s *Server) connect(ctx context.Context, exchange *url.URL, id string) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.Phone.Bounds().Start)
	defer cancel()
	at := *exchange.JoinPath("media", id)
	header := http.Header{}
	if at.User != nil {
		password, _ := at.User.Password()
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(at.User.Username()+":"+password)))
		at.User = nil
	}
	ws, answer, err := (&websocket.Dialer{Subprotocols: []string{subprotocol}, WriteBufferSize: mostMessage + 16}).DialContext(ctx, at.String(), header)
	if answer != nil && err != nil {
		return nil, fmt.Errorf("it answers %s", cmp.Or(answer.Status, err.Error()))
	}
	return ws, err
}
