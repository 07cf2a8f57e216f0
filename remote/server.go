// Package remote is what engines on other machines have in common: a connection that is warm when it is needed, limits on what a
// server may do to us, and a breaker that stops asking one that fails. What is asked and what is answered is OpenAI's protocol, which the
// engines themselves speak, through OpenAI's own client library.
package remote

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3/option"

	"riposte/budget"
)

// Limits are what a server may do to us. A zero field means its default.
type Limits struct {
	Connect  time.Duration // How long a connection may take to be made, encryption included. It defaults to 2 s.
	Idle     time.Duration // How long an answer that has begun may bring nothing. It defaults to 2 s.
	Bytes    int64         // The longest answer. It defaults to 16 MiB, which is some five minutes of sound.
	Redials  int           // How often the same is asked again at once where a connection or a server dies before it has said anything. Negative for never. It defaults to 1.
	Failures int           // So many in a row, and the server is not asked for a while. It defaults to 3.
	Rest     time.Duration // How long that is the first time: it doubles up to a minute, or is what the server says. It defaults to 2 s.
	Ping     time.Duration // How long a connection may be idle while there are calls before something is sent on it. It defaults to 4 s: many servers close theirs after 5.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connect: cmp.Or(l.Connect, 2*time.Second), Idle: cmp.Or(l.Idle, 2*time.Second), Bytes: cmp.Or(l.Bytes, 16<<20), Redials: cmp.Or(l.Redials, 1),
		Failures: cmp.Or(l.Failures, 3), Rest: cmp.Or(l.Rest, 2*time.Second), Ping: cmp.Or(l.Ping, 4*time.Second),
	}
}

// longestRest is how long a server is left alone at most before it is looked at again.
const longestRest = time.Minute

// Server is one that serves a model over OpenAI's protocol. Set the exported fields, then Open it. It is safe for use by many goroutines.
type Server struct {
	Address
	Stage   budget.Stage   // What it is asked for.
	Key     string         // Sent as Authorization: Bearer KEY; empty sends none.
	Headers http.Header    // Sent as well.
	From    Name           // Who asks; empty does not say.
	Roots   *x509.CertPool // Who may vouch for it; nil are those of this machine.
	Limits  Limits
	Log     *slog.Logger     // It defaults to none.
	Now     func() time.Time // It defaults to time.Now.

	limits  Limits
	base    *http.Transport
	client  *http.Client
	breaker breaker
	life    context.Context // Ends with Close.
	end     context.CancelFunc
	used    atomic.Int64 // When something was last sent, in Unix nanoseconds.

	held    int // Calls. Guarded by mu.
	unhold  context.CancelFunc
	mu      sync.Mutex
	pings   sync.WaitGroup
	counted counts
}

// counts are what became of requests.
type counts struct{ done, failed, redialled, refused atomic.Uint64 }

// Open makes ready, once. It asks nothing of the server: who is away now may be there when there is a call.
func (s *Server) Open(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil {
		return nil
	}
	s.limits = s.Limits.withDefaults()
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.base = &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: s.limits.Connect, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   s.limits.Connect,
		TLSClientConfig:       &tls.Config{RootCAs: s.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:     true,
		HTTP2:                 &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: s.limits.Idle},
		MaxIdleConnsPerHost:   16,
		IdleConnTimeout:       90 * time.Second,
		DisableCompression:    true, // sound does not get smaller, and streams come later
		ExpectContinueTimeout: s.limits.Connect,
	}
	s.client = &http.Client{
		Transport:     guard{s},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.breaker = breaker{
		failures: s.limits.Failures, rest: s.limits.Rest, longest: longestRest, probe: s.probe,
		changed: func(to State, why error) {
			if to == Open {
				s.Log.Warn("a remote server is not asked for a while", "stage", s.Stage, "server", s.Address.String(), "err", why)
				return
			}
			s.Log.Info("a remote server", "stage", s.Stage, "server", s.Address.String(), "breaker", to)
		},
	}
	return nil
}

// Close frees the connections, and waits for what is done behind the calls. A second call does nothing more.
func (s *Server) Close() error {
	if s.end == nil {
		return nil
	}
	s.end()
	s.breaker.close()
	s.pings.Wait()
	s.base.CloseIdleConnections()
	return nil
}

// Options are what OpenAI's client library needs to know. It is given no part of the environment: a key that lies there for one
// server is not sent to another.
func (s *Server) Options() []option.RequestOption {
	o := []option.RequestOption{
		option.WithBaseURL(s.Base.String()), option.WithHTTPClient(s.client), option.WithMaxRetries(0),
	}
	if s.Key != "" {
		o = append(o, option.WithAPIKey(s.Key))
	}
	return o
}

func (s *Server) now() time.Time {
	if s.Now == nil {
		return time.Now()
	}
	return s.Now()
}

// Status is how a server does.
type Status struct {
	Stage     budget.Stage
	Server    string // Its address, with the model.
	State     State
	Done      uint64 // Requests that were answered,
	Failed    uint64 // that were not, or not in time,
	Redialled uint64 // that were made anew,
	Refused   uint64 // and that were not made, since the server rests.
}

// Add returns what both are together, in the worse state.
func (s Status) Add(t Status) Status {
	for _, worse := range []State{HalfOpen, Open} {
		if t.State == worse || s.State == worse {
			s.State = worse
		}
	}
	s.Done, s.Failed, s.Redialled, s.Refused = s.Done+t.Done, s.Failed+t.Failed, s.Redialled+t.Redialled, s.Refused+t.Refused
	return s
}

// Status says how the server does.
func (s *Server) Status() Status {
	return Status{
		Stage: s.Stage, Server: s.Address.String(), State: s.breaker.get(), Done: s.counted.done.Load(), Failed: s.counted.failed.Load(),
		Redialled: s.counted.redialled.Load(), Refused: s.counted.refused.Load(),
	}
}
