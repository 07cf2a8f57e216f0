package twilio

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// errSignature says that a request does not come from Twilio, or that the two ends do not agree on where it went.
var errSignature = errors.New("the signature (X-Twilio-Signature) is missing or wrong: twilio.token must be the account's, and phone.public where Twilio reaches the service")

// signature returns what Twilio signs a request with: HMAC-SHA1 of its address and the fields of its form, by the account's token
// (twilio.com/docs/usage/security).
func signature(token, address string, form url.Values) string {
	mac := hmac.New(sha1.New, []byte(token))
	mac.Write([]byte(address))
	for _, name := range slices.Sorted(maps.Keys(form)) {
		values := slices.Clone(form[name])
		slices.Sort(values)
		for _, v := range slices.Compact(values) {
			mac.Write([]byte(name + v))
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// verify looks whether Twilio has signed a request to an address. Twilio may sign it with the port that it goes to by itself, or without.
func verify(r *http.Request, token, address string, form url.Values) error {
	given := r.Header.Get("X-Twilio-Signature")
	for _, a := range []string{address, withPort(address)} {
		if given != "" && hmac.Equal([]byte(signature(token, a, form)), []byte(given)) {
			return nil
		}
	}
	return errSignature
}

// withPort returns an address with the port that it has by itself, or without that where it is there.
func withPort(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	port := ":443"
	if scheme == "http" || scheme == "ws" {
		port = ":80"
	}
	if bare, has := strings.CutSuffix(host, port); has {
		return scheme + "://" + bare + path
	}
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return address // it has another one
	}
	return scheme + "://" + host + port + path
}

// address returns where Twilio has sent a request.
func (s *Server) address(r *http.Request) string {
	base := strings.TrimSuffix(s.Public, "/")
	if base == "" {
		scheme, host := "http", r.Host
		if r.TLS != nil {
			scheme = "https"
		}
		if s.Proxied {
			scheme, host = first(r.Header.Get("X-Forwarded-Proto"), scheme), first(r.Header.Get("X-Forwarded-Host"), host)
		}
		base = scheme + "://" + host
	}
	return base + r.URL.RequestURI()
}

// socketAddress returns an address as one of WebSockets: to others than these over TLS Twilio opens no streams.
func socketAddress(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	return "wss://" + rest
}

// first returns the first of a header's values, which is that of the proxy that callers reach; or what there is without any.
func first(header, otherwise string) string {
	if v, _, _ := strings.Cut(header, ","); strings.TrimSpace(v) != "" {
		return strings.TrimSpace(v)
	}
	return otherwise
}
