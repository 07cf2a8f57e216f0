package realtime

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Client secrets let a page call without the service's key: whoever has a key makes one and gives it to the page. A secret carries
// what its calls begin with, and when it ends, signed by a key that the process has drawn. So nothing is kept of it here, and with
// the process all of them end.

// secretPrefix begins each client secret.
const secretPrefix = "ek_"

// Bounds of client secrets. They travel in a header, and most servers in between take 32 KiB of that.
const (
	leastValid  = 10 * time.Second
	usualValid  = 10 * time.Minute
	mostValid   = 2 * time.Hour
	mostCarried = 16 << 10 // Of the session, in bytes.
)

// claims are what a client secret says. Without the nonce two of one second would be the same.
type claims struct {
	Expires int64           `json:"exp"` // Unix time in seconds.
	Nonce   string          `json:"nonce"`
	Session json.RawMessage `json:"session,omitempty"`
}

// secrets signs and reads client secrets.
type secrets struct {
	once sync.Once
	key  []byte
}

func (s *secrets) sign(body string) []byte {
	s.once.Do(func() { s.key = []byte(rand.Text() + rand.Text()) })
	h := hmac.New(sha256.New, s.key)
	h.Write([]byte(body))
	return h.Sum(nil)
}

// issue returns a client secret.
func (s *secrets) issue(c claims) (string, error) {
	b, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	body := base64.RawURLEncoding.EncodeToString(b)
	return secretPrefix + body + "." + base64.RawURLEncoding.EncodeToString(s.sign(body)), nil
}

// read returns the session that a client secret carries. The error is a *denial.
func (s *secrets) read(secret string, now time.Time) (json.RawMessage, error) {
	wrong := &denial{http.StatusUnauthorized, "invalid_client_secret",
		"The client secret is none of this service's, or was made before it was started anew: get another one by POST /v1/realtime/client_secrets."}
	body, signature, ok := strings.Cut(strings.TrimPrefix(secret, secretPrefix), ".")
	sum, err := base64.RawURLEncoding.Strict().DecodeString(signature) // else several would be right
	if !ok || err != nil || !hmac.Equal(sum, s.sign(body)) {
		return nil, wrong
	}
	var c claims
	b, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(b, &c) != nil {
		return nil, wrong
	}
	if expired := time.Unix(c.Expires, 0); !now.Before(expired) {
		return nil, &denial{http.StatusUnauthorized, "expired_client_secret",
			"The client secret ended at " + expired.UTC().Format(time.RFC3339) + ": get another one by POST /v1/realtime/client_secrets."}
	}
	return c.Session, nil
}

// secretRequest asks for a client secret.
type secretRequest struct {
	Expires struct {
		Anchor  string `json:"anchor"`
		Seconds *int64 `json:"seconds"`
	} `json:"expires_after"`
	Session json.RawMessage `json:"session"`
}

// decodeSecretRequest reads one; an empty body asks for nothing special. The error is a *wireError.
func decodeSecretRequest(b []byte) (q secretRequest, valid time.Duration, err error) {
	if len(bytes.TrimSpace(b)) > 0 {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(&q); err != nil {
			if field, ok := unknownField(err); ok {
				return q, 0, invalid(field, "unknown_parameter", "A request for a client secret has no field %.64q; it has expires_after and session.", field)
			}
			return q, 0, misread("The request", err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return q, 0, invalid("", "invalid_json", "The request is one JSON object, and something stands behind it.")
		}
	}
	if a := q.Expires.Anchor; cmp.Or(a, "created_at") != "created_at" {
		return q, 0, invalid("expires_after.anchor", "invalid_value", "expires_after.anchor is %.64q; it must be created_at.", a)
	}
	valid = usualValid
	if n := q.Expires.Seconds; n != nil {
		if *n < int64(leastValid.Seconds()) || *n > int64(mostValid.Seconds()) {
			return q, 0, invalid("expires_after.seconds", "invalid_value", "expires_after.seconds is %d; it must be %v to %v.", *n, leastValid.Seconds(), mostValid.Seconds())
		}
		valid = time.Duration(*n) * time.Second
	}
	if len(q.Session) > mostCarried {
		return q, 0, invalid("session", "invalid_value", "The session has %d bytes; a client secret carries %d. Leave the rest to session.update.", len(q.Session), mostCarried)
	}
	if isNull(q.Session) {
		q.Session = nil
	}
	return q, valid, nil
}

// Issue answers POST /v1/realtime/client_secrets.
func (s *Server) Issue(w http.ResponseWriter, r *http.Request) {
	guest, err := s.EnterByKey(w, r)
	if err != nil {
		s.Refuse(w, err)
		return
	}
	body, err := ReadBody(w, r, 2*mostCarried)
	if err != nil {
		s.Refuse(w, err)
		return
	}
	q, valid, err := decodeSecretRequest(body)
	if err != nil {
		s.Refuse(w, err)
		return
	}
	o, err := s.Open(guest, "", q.Session) // what would be refused later is refused now, to whom it can be told
	if err != nil {
		s.Refuse(w, err)
		return
	}
	expires := time.Now().Add(valid).Unix()
	value, err := s.secrets.issue(claims{Expires: expires, Nonce: rand.Text()[:8], Session: q.Session})
	if err != nil {
		s.Refuse(w, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	write(w, http.StatusOK, fields{"value": value, "expires_at": expires, "session": o.session.shown()})
}
