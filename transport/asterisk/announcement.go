package asterisk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"riposte/transport/phone"
)

// announcement is what Asterisk's side says of a call before it brings it.
type announcement struct {
	From       string            `json:"from,omitempty"`
	To         string            `json:"to,omitempty"`
	Route      string            `json:"route,omitempty"`
	Channel    string            `json:"channel,omitempty"` // Of the caller: ${CHANNEL}, by which the call can be transferred.
	Parameters map[string]string `json:"parameters,omitempty"`
}

// about returns what the fields of a query or of a form say of a call: those that are none of an announcement's are parameters, but for some.
func about(fields url.Values, but ...string) announcement {
	a := announcement{From: fields.Get("from"), To: fields.Get("to"), Route: fields.Get("route"), Channel: fields.Get("channel")}
	for _, known := range append(but, "from", "to", "route", "channel") {
		fields.Del(known)
	}
	if len(fields) > 0 {
		a.Parameters = map[string]string{}
	}
	for name := range fields {
		a.Parameters[name] = fields.Get(name)
	}
	return a
}

// readCall reads the body of a request, which says what call it is about: a JSON object, or a form, which is what CURL() in a dialplan sends.
// It has answered a request that it returns no call of.
func (s *Server) readCall(w http.ResponseWriter, r *http.Request) (c fetched, ok bool) {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.Phone.Bounds().Message)))
	switch {
	case err != nil:
	case kind == "application/json":
		err = decode(body, &c)
	case kind == "" || kind == "application/x-www-form-urlencoded":
		var fields url.Values
		if fields, err = url.ParseQuery(string(body)); err == nil {
			c.URL, c.ConnectionID = fields.Get("url"), fields.Get("connection_id")
			c.announcement = about(fields, "url", "connection_id")
		}
	default:
		err = fmt.Errorf("it is %s: send application/json or application/x-www-form-urlencoded", kind)
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("The body can not be read: %v.", err), http.StatusBadRequest)
		return c, false
	}
	return c, true
}

// Announce answers a request, POST, that announces a call: with the UUID by which AudioSocket brings the call that the body tells of.
func (s *Server) Announce(w http.ResponseWriter, r *http.Request) {
	if !s.permits(w, r) {
		return
	}
	c, ok := s.readCall(w, r)
	if !ok {
		return
	}
	if !s.leads(w, c.announcement) {
		return
	}
	id, ends, ok := s.awaited.add(c.announcement, time.Now(), s.ahead(), s.announcements())
	if !ok {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("%d announced calls have not come yet, and there may be no more (asterisk.announcements).", s.announcements()), http.StatusServiceUnavailable)
		return
	}
	if err := s.Phone.Announce(audioSocketWire, id.String()); err != nil { // so the caller can be told before AudioSocket() is begun
		s.awaited.take(id, time.Now())
		busy(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	writeJSON(w, struct {
		UUID    string `json:"uuid"`
		Expires int64  `json:"expires_at"` // Unix time in seconds.
	}{id.String(), ends.Unix()})
}

// leads reports whether there is a route for a call, and answers the request where there is none: its caller can still be told.
func (s *Server) leads(w http.ResponseWriter, a announcement) bool {
	_, err := s.Phone.Choose(phone.Opening{From: a.From, To: a.To, Route: a.Route, Parameters: a.Parameters})
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
	}
	return err == nil
}

// awaited are the calls that were announced and have not come. The zero value has none.
type awaited struct {
	mu    sync.Mutex
	calls map[uuid.UUID]awaitedCall
}

type awaitedCall struct {
	announcement
	ends time.Time
}

// add awaits a call, unless there are most already, and returns the UUID that it has to come with.
func (a *awaited) add(c announcement, now time.Time, within time.Duration, most int) (id uuid.UUID, ends time.Time, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, c := range a.calls {
		if c.ends.Before(now) {
			delete(a.calls, id)
		}
	}
	if len(a.calls) >= most {
		return id, ends, false
	}
	if a.calls == nil {
		a.calls = map[uuid.UUID]awaitedCall{}
	}
	id, ends = uuid.New(), now.Add(within)
	a.calls[id] = awaitedCall{c, ends}
	return id, ends, true
}

// take returns the call that a UUID was given for, once.
func (a *awaited) take(id uuid.UUID, now time.Time) (announcement, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c, ok := a.calls[id]
	delete(a.calls, id)
	return c.announcement, ok && !c.ends.Before(now)
}

// decode reads an object whose fields are all known.
func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the object")
	}
	return nil
}

func writeJSON(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) } // whoever asked may be gone
