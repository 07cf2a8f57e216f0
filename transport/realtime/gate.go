package realtime

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Guest is whoever may call.
type Guest struct {
	Route   string          // That the address names; empty for none.
	Session json.RawMessage // What the client secret that was shown says the session is to be; nil for the service's own.
	secret  bool            // A client secret was shown, and no key.
	listens bool            // The address asks for a transcription.
	beta    bool            // The events of the protocol's beta are asked for.
}

// denial is why somebody may not call.
type denial struct {
	status        int
	code, message string
}

func (d *denial) Error() string { return d.message }

// Enter lets in who may call: programs, and pages of origins that may, with a key or a client secret where keys are set. It tells
// browsers that their pages may read the answer. Refuse knows the error.
func (s *Server) Enter(w http.ResponseWriter, r *http.Request) (Guest, error) {
	if err := s.allow(w, r); err != nil {
		return Guest{}, err
	}
	guest, err := s.identify(r)
	if err != nil {
		return Guest{}, err
	}
	guest.Route, guest.listens, err = s.asked(r)
	guest.beta = wantsBeta(r)
	return guest, err
}

// EnterByKey is Enter for what a client secret is not for: where keys are set it takes one of them.
func (s *Server) EnterByKey(w http.ResponseWriter, r *http.Request) (Guest, error) {
	guest, err := s.Enter(w, r)
	if err == nil && guest.secret && len(s.Keys) > 0 {
		err = &denial{http.StatusForbidden, "key_needed", "A client secret is for calls alone: this takes one of the service's keys."}
	}
	return guest, err
}

// identify finds out who calls.
func (s *Server) identify(r *http.Request) (Guest, error) {
	shown := credential(r)
	if strings.HasPrefix(shown, secretPrefix) {
		session, err := s.secrets.read(shown, time.Now())
		return Guest{Session: session, secret: true}, err
	}
	switch {
	case len(s.Keys) == 0, s.isKey(shown):
		return Guest{}, nil
	case shown == "":
		return Guest{}, &denial{http.StatusUnauthorized, "missing_api_key", "This service asks for a key: send \"Authorization: Bearer KEY\" with one of its setting keys, or with a client secret."}
	}
	return Guest{}, &denial{http.StatusUnauthorized, "invalid_api_key", "The key is none of this service's: its setting keys names them."}
}

// credential returns the key or client secret that a request shows. Browsers cannot send a header with a WebSocket, so the protocol
// lets them name a subprotocol.
func credential(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	for _, p := range strings.Split(strings.Join(r.Header.Values("Sec-WebSocket-Protocol"), ","), ",") {
		if key, ok := strings.CutPrefix(strings.TrimSpace(p), "openai-insecure-api-key."); ok {
			return key
		}
	}
	return ""
}

// isKey compares in a time that says nothing of the keys.
func (s *Server) isKey(shown string) bool {
	sum, found := sha256.Sum256([]byte(shown)), 0
	for _, k := range s.Keys {
		key := sha256.Sum256([]byte(k))
		found |= subtle.ConstantTimeCompare(key[:], sum[:])
	}
	return found == 1
}

// allow refuses pages of origins that may not call, and tells browsers of those that may.
func (s *Server) allow(w http.ResponseWriter, r *http.Request) error {
	origin := r.Header.Get("Origin")
	if !s.originAllowed(r) {
		return &denial{http.StatusForbidden, "origin_not_allowed", fmt.Sprintf("Pages of %.100q may not connect: the setting origins has to name them.", origin)}
	}
	if origin != "" {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Expose-Headers", "Location, Retry-After")
		w.Header().Add("Vary", "Origin")
	}
	return nil
}

// Preflight answers a browser that asks whether a page may send a request.
func (s *Server) Preflight(w http.ResponseWriter, r *http.Request) {
	if err := s.allow(w, r); err != nil {
		s.Refuse(w, err)
		return
	}
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" { // clients name themselves in headers of their own, which mean nothing here
		w.Header().Set("Access-Control-Allow-Headers", asked)
		w.Header().Add("Vary", "Access-Control-Request-Headers")
	}
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// originAllowed lets programs in, which send no origin, pages that this service itself has served, and those that the
// settings name. Only an address, localhost or the machine's own name is taken for this service: a page elsewhere can have its own name lead
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
	own, err := os.Hostname()
	if host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil || err == nil && own != "" && strings.EqualFold(host, own) {
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

// Refuse answers a request that is not taken, in the protocol's form. It knows the errors of Admit, Enter and Open; others are
// reasons for which there is no place now.
func (s *Server) Refuse(w http.ResponseWriter, err error) {
	var wrong *wireError
	var denied *denial
	switch {
	case errors.As(err, &wrong):
		write(w, http.StatusBadRequest, fields{"error": fields{
			"type": "invalid_request_error", "code": wrong.code, "message": wrong.message, "param": orNull(wrong.param),
		}})
	case errors.As(err, &denied):
		if denied.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, denied.status, denied.code, denied.message)
	default:
		var r *Refusal
		if !errors.As(err, &r) {
			r = &Refusal{Code: "unavailable", Message: err.Error(), Retry: 5 * time.Second}
		}
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(r.Retry.Round(time.Second).Seconds()))))
		refuse(w, http.StatusServiceUnavailable, r.Code, r.Message)
	}
}

// ReadBody returns the body of a request, which may have so many bytes. Refuse knows the error.
func ReadBody(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, Wrong(http.StatusRequestEntityTooLarge, "request_too_large", "The request's body is too long: it may have %d bytes.", most)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, Wrong(http.StatusRequestTimeout, "request_timeout", "The request's body took too long to come. Send all of it at once.")
	case err != nil:
		return nil, Wrong(http.StatusBadRequest, "incomplete_request", "The request's body cannot be read: %v.", err)
	}
	return b, nil
}

// Wrong is an error for Refuse: a request that cannot be taken as it is. The message says how to mend it.
func Wrong(status int, code, format string, args ...any) error {
	return &denial{status, code, fmt.Sprintf(format, args...)}
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	write(w, status, fields{"error": fields{"type": kind, "code": code, "message": message}})
}

func write(w http.ResponseWriter, status int, body fields) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // whoever asked may be gone
}
