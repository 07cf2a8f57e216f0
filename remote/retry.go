package remote

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestAsked is how long a server can ask to be left alone: one that is wrong about it is found out after that.
const longestAsked = 10 * time.Minute

// retryAfter returns how long a server asks not to be asked again: in seconds, or until a date. 0 is where it does not.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return asLong(ms / 1000)
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return asLong(s)
	}
	if at, err := http.ParseTime(text); err == nil {
		return asLong(at.Sub(now).Seconds())
	}
	return 0
}

// asLong returns so many seconds, as far as they make sense.
func asLong(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, longestAsked.Seconds()) * float64(time.Second))
}

// asked returns how long the server wants to be left alone, by an error of its.
func asked(err error) time.Duration {
	if r, ok := errors.AsType[*Refused](err); ok {
		return r.Retry
	}
	return 0
}

// isSyntax reports whether what was read was no JSON, or not of the form that it has to have.
func isSyntax(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}
