package caller

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

var (
	// ErrBusy reports that the server has no room for another call.
	ErrBusy = errors.New("the server is busy")
	// ErrKey reports that the server takes only callers who show one of its keys.
	ErrKey = errors.New("the server takes nobody without one of its keys")
	// ErrNoAnswer reports that a turn was not answered in time.
	ErrNoAnswer = errors.New("no answer came")
	// ErrNoVoice reports something to say in which nobody speaks.
	ErrNoVoice = errors.New("there is no voice in the sound: nothing in it is louder than -45 dBFS")
	// ErrFailed reports that the server gave up on an answer.
	ErrFailed = errors.New("the server could not answer")
	// ErrEnded reports that the server, or the network, ended the call.
	ErrEnded = errors.New("the call was ended from the other side")
	// ErrGarbage reports something that is no event of the protocol.
	ErrGarbage = errors.New("the server sent something that is no event")
	// ErrClosed reports the use of a call that its owner has closed.
	ErrClosed = errors.New("the call is closed")
)

// BusyError is an ErrBusy, with what the server says of it.
type BusyError struct {
	Status string        // Such as 503 Service Unavailable.
	Code   string        // Why, for programs, such as overloaded_cores; empty when the server does not say.
	Reason string        // The same for people.
	Retry  time.Duration // After which it may have room again; 0 when it does not say.
}

// newBusyError reads a refusal.
func newBusyError(resp *http.Response, body []byte) *BusyError {
	e := &BusyError{Status: resp.Status, Reason: strings.Join(strings.Fields(string(body)), " ")}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.Retry = time.Duration(seconds) * time.Second
	}
	if code, message, ok := errorIn(body); ok {
		e.Code, e.Reason = code, cmp.Or(message, e.Reason)
	}
	return e
}

// errorIn returns what a refusal says, where it is an error object of OpenAI's.
func errorIn(body []byte) (code, message string, ok bool) {
	var said struct {
		Error struct{ Code, Message string }
	}
	err := json.Unmarshal(body, &said)
	return said.Error.Code, said.Error.Message, err == nil
}

func (e *BusyError) Error() string {
	s := fmt.Sprintf("%v (%s)", ErrBusy, e.Status)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	if e.Retry > 0 {
		s += fmt.Sprintf(" Try again in %v.", e.Retry)
	}
	return s
}

// Is reports that it is an ErrBusy.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }
