package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

// What a remote engine may fail with.
var (
	// ErrResting reports that a server has failed so often that it is not asked at present.
	ErrResting = errors.New("the remote server is not asked, since it has failed too often")
	// ErrLate reports that nothing came in the time that there was.
	ErrLate = errors.New("the remote server brought nothing in time")
	// ErrStalled reports an answer of which nothing more comes.
	ErrStalled = errors.New("the remote server's answer does not go on")
	// ErrBig reports an answer that is larger than any that makes sense.
	ErrBig = errors.New("the remote server's answer is too big")
	// ErrCut reports an answer that ends before its end.
	ErrCut = errors.New("the remote server's answer ends in the middle")
	// ErrGarbage reports an answer that is none.
	ErrGarbage = errors.New("the remote server's answer makes no sense")
	// ErrUnreachable reports that there was no connection.
	ErrUnreachable = errors.New("the remote server cannot be reached")
)

// Refused says that a server took a request and did not do what it asks.
type Refused struct {
	Status int           // Of HTTP.
	Why    string        // In the server's words, as far as they can be shown.
	Retry  time.Duration // When it wants to be asked again, if it says so; 0 otherwise.
}

// Error says what the server said, and what to do where that is clear.
func (r *Refused) Error() string {
	text := fmt.Sprintf("the remote server refused: %d %s", r.Status, http.StatusText(r.Status))
	if r.Why != "" {
		text += ": " + r.Why
	}
	switch {
	case r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden:
		text += " (set the stage's key)"
	case r.Status == http.StatusNotFound:
		text += " (is the address right, up to and with /v1, and is the model served there?)"
	case r.Status >= 300 && r.Status < 400:
		text += " (it is elsewhere: set the new address)"
	}
	return text
}

// fatal reports whether the server itself is to blame, so that others would fare no better: a request that it does not understand is ours.
func fatal(err error) bool {
	if r, ok := errors.AsType[*Refused](err); ok {
		return r.Status != http.StatusBadRequest && r.Status != http.StatusRequestEntityTooLarge && r.Status != http.StatusUnprocessableEntity
	}
	return err != nil && !errors.Is(err, ErrResting)
}

// again reports whether to ask the same again at once may help: where a connection or a server has died, and not where it says no.
func again(err error) bool {
	if r, ok := errors.AsType[*Refused](err); ok {
		return r.Status >= 500 && r.Status != http.StatusNotImplemented && r.Status != http.StatusLoopDetected && r.Retry == 0
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrCut) || errors.Is(err, ErrGarbage)
}

// explain turns what went wrong with a request into one of ours, without anything secret in it.
func (s *Server) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r, ok := errors.AsType[*Refused](err); ok {
		return r // without the request that the HTTP client puts around it
	}
	if f, ok := errors.AsType[fault](err); ok {
		return f
	}
	for _, ours := range []error{ErrResting, ErrLate, ErrStalled, ErrBig, ErrCut, ErrGarbage, ErrUnreachable} {
		if err == ours {
			return err
		}
		if errors.Is(err, ours) {
			return fault{ours, s.shown(err.Error())}
		}
	}
	if e, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return fault{ErrCut, s.shown(e.Message)}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	if isSyntax(err) {
		return fault{ErrGarbage, s.shown(err.Error())}
	}
	return fault{ErrUnreachable, s.shown(err.Error())}
}

// fault is one of our errors, with what can be shown of what it comes from.
type fault struct {
	kind   error
	detail string
}

func (f fault) Error() string {
	if strings.HasPrefix(f.detail, f.kind.Error()) {
		return f.detail
	}
	return f.kind.Error() + ": " + f.detail
}
func (f fault) Unwrap() error { return f.kind }

// mostShown is how much of what a server says is shown, in bytes.
const mostShown = 200

// shown returns what a server says as it can be logged: short, in one line, and without our secrets, which some servers repeat.
func (s *Server) shown(text string) string {
	for _, secret := range s.secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > mostShown {
		text = strings.ToValidUTF8(text[:mostShown], "") + "…"
	}
	return strings.TrimSpace(text)
}

// secrets returns what nobody may see.
func (s *Server) secrets() (all []string) {
	if s.Key != "" {
		all = append(all, s.Key)
	}
	for _, values := range s.Headers {
		for _, v := range values {
			if len(v) >= 8 {
				all = append(all, v)
			}
		}
	}
	return all
}
