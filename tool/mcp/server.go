// Package mcp has the tools of MCP servers: child processes that speak the Model Context Protocol over their standard input and output,
// and servers elsewhere that speak it over streamable HTTP.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"riposte/tool"
)

// Server is an MCP server, whose tools it has as a tool.Source. Set the exported fields, then Open it. It is dialled again where the
// connection breaks; in the meantime its tools answer that they are not available.
type Server struct {
	Label    string
	Command  []string          // A program and its arguments, which is run as a child; or
	Env      map[string]string // what it has in its environment besides PATH, HOME and what else every program needs.
	URL      string            // Where it is reached over HTTP,
	Header   http.Header       // and what is sent with each request.
	Only     []string          // The names of those tools that are taken; empty takes all.
	Timeout  time.Duration     // How long one call may take. It defaults to tool.DefaultTimeout.
	Bytes    int               // How much of a result the model reads. It defaults to tool.DefaultBytes.
	Patience time.Duration     // How long dialling may take, and listing tools. It defaults to 10 s.
	Dial     http.RoundTripper // Makes its requests. It defaults to http.DefaultTransport.
	Version  string            // Of the service, for the server.
	Log      *slog.Logger      // It defaults to slog.Default().

	tools  atomic.Pointer[tool.List]
	stop   context.CancelFunc
	done   chan struct{} // Closed when nothing of it runs any more.
	ctx    context.Context
	news   chan struct{} // Its tools have changed.
	broken chan *sdk.ClientSession

	mu      sync.Mutex
	session *sdk.ClientSession // nil while there is none,
	why     error              // and why.
	late    int                // Calls in a row that took too long.
}

var _ tool.Source = (*Server)(nil)

// Between two attempts to dial a server lies at first the first of these, and each time twice as much, up to the second.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 30 * time.Second
)

// listPause is how long lies between two lists of the tools at least, however often a server says that they have changed.
const listPause = time.Second

// mostLate is how many calls in a row may take too long until the server is dialled anew, or begun anew.
const mostLate = 3

// errOpening says that the server has not been reached yet.
var errOpening = errors.New("it is still being started")

// Open begins to hold a connection and waits until the tools are known, or there are none to be had. The error says why; Server goes on
// trying nevertheless. Close has to be called in either case.
func (s *Server) Open(ctx context.Context) error {
	s.Log = logger(s.Log).With("mcp", s.Label)
	s.Patience = cmp.Or(s.Patience, 10*time.Second)
	s.tools.Store(&tool.List{})
	s.ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.done, s.news, s.broken, s.why = make(chan struct{}), make(chan struct{}, 1), make(chan *sdk.ClientSession, 1), errOpening
	first := make(chan error, 1)
	go s.keep(first)
	select {
	case err := <-first:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close ends the connection, and a child with it and everything that it has begun. It returns when they are gone.
func (s *Server) Close() {
	s.stop()
	<-s.done
}

// Tools returns those that the server has, as it last said.
func (s *Server) Tools() []*tool.Tool { return *s.tools.Load() }

// Err says why the server cannot be reached now; nil where it can.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// keep holds a connection until Close, and says on first how the first attempt went.
func (s *Server) keep(first chan<- error) {
	defer close(s.done)
	if len(s.Command) > 0 {
		// The kernel kills a child when the thread ends that has begun it, not when the process does: so the thread stays as long as this.
		runtime.LockOSThread()
	}
	pause, level := firstPause, slog.LevelWarn
	for s.ctx.Err() == nil {
		began := time.Now()
		dialled, why := s.hold(func(err error) {
			select {
			case first <- err:
			default:
			}
		})
		if s.ctx.Err() != nil {
			break
		}
		if dialled && time.Since(began) > lastPause { // one that ends each time as soon as it is there is none that works
			pause, level = firstPause, slog.LevelWarn
		}
		s.Log.Log(s.ctx, level, "an MCP server is not there, so its tools are not either: it is dialled again", "err", why, "after", pause)
		level = slog.LevelDebug // once is enough to know it
		select {
		case <-time.After(pause):
		case <-s.ctx.Done():
		}
		pause = min(2*pause, lastPause)
	}
}

// hold dials once and follows the server until the connection ends. It says why that is, and whether there was one.
func (s *Server) hold(opened func(error)) (dialled bool, why error) {
	session, leave, told, err := s.dial()
	if err == nil {
		if err = told(s.list(session)); err != nil {
			leave(session)
		}
	}
	s.is(session, err)
	opened(err)
	if err != nil {
		return false, err
	}
	s.Log.Info("an MCP server is there", "tools", len(s.Tools()))
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	defer leave(session)
	listed := time.Now()
	var due <-chan time.Time // When they are to be listed again.
	for {
		select {
		case <-s.news:
			if due == nil {
				due = time.After(time.Until(listed.Add(listPause)))
			}
			continue
		case <-due:
			err = s.list(session)
			if due, listed = nil, time.Now(); err == nil {
				s.Log.Debug("the tools of an MCP server have changed", "tools", len(s.Tools()))
				continue
			}
		case err = <-ended:
			err = cmp.Or(err, errors.New("it has ended the connection"))
		case old := <-s.broken:
			if old != session {
				continue
			}
			err = errors.New("it does not answer")
		case <-s.ctx.Done():
			err = context.Cause(s.ctx)
		}
		err = told(err)
		s.is(nil, err)
		return true, err
	}
}

// is notes whether there is a session now.
func (s *Server) is(session *sdk.ClientSession, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if why != nil {
		session = nil
	}
	s.session, s.why, s.late = session, why, 0
}

// dial makes a connection. leave ends it, and told puts to an error of it what the server has told about that.
func (s *Server) dial() (_ *sdk.ClientSession, leave func(*sdk.ClientSession), told func(error) error, err error) {
	client := sdk.NewClient(&sdk.Implementation{Name: "riposte", Version: cmp.Or(s.Version, "development")}, &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{}, // it knows no folders and asks no model
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case s.news <- struct{}{}:
			default: // they will be asked for anyway
			}
		},
		KeepAlive: 15 * time.Second, KeepAliveFailureThreshold: 2,
	})
	var by sdk.Transport
	kill, told := func() {}, func(err error) error { return err }
	if len(s.Command) > 0 {
		child, said := s.child()
		by = &sdk.CommandTransport{Command: child, TerminateDuration: time.Second}
		kill = func() { end(child) }
		told = func(err error) error {
			if err == nil || child.Process == nil {
				return err // it was not begun
			}
			return &loss{err, said}
		}
	} else {
		by = &sdk.StreamableClientTransport{
			Endpoint: s.URL, MaxRetries: 2, MaxEventSize: mostMessage,
			HTTPClient: &http.Client{Transport: s.carrier(), CheckRedirect: stay},
		}
	}
	ctx, stop := context.WithTimeout(s.ctx, s.Patience)
	defer stop()
	session, err := client.Connect(ctx, by, nil)
	if err != nil {
		if ctx.Err() != nil && s.ctx.Err() == nil {
			err = fmt.Errorf("it said nothing that makes sense for %v: %w", s.Patience, err)
		}
		kill()
		return nil, nil, nil, told(err)
	}
	return session, func(session *sdk.ClientSession) {
		gone := make(chan struct{})
		go func() { defer close(gone); session.Close() }()
		select {
		case <-gone:
		case <-time.After(5 * time.Second): // it takes part in nothing any more
		}
		kill()
	}, told, nil
}

const (
	// mostTools is how many tools of one server are taken: the model reads all of them with each conversation.
	mostTools = 64
	// mostListed is how many are looked at, and mostLeftOut of how many the log says why they are left out.
	mostListed, mostLeftOut = 1024, 8
)

// list asks for the tools. What cannot be offered is left out, and said in the log.
func (s *Server) list(session *sdk.ClientSession) error {
	ctx, stop := context.WithTimeout(s.ctx, s.Patience)
	defer stop()
	tools := tool.List{}
	listed, leftOut := 0, 0
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("listing its tools: %w", err)
		}
		if listed++; listed > mostListed {
			s.Log.Warn("an MCP server has more tools than are looked at", "most", mostListed)
			break
		}
		if !s.wants(t.Name) {
			continue
		}
		if len(tools) == mostTools {
			s.Log.Warn("an MCP server has more tools than are taken: name those that are meant", "most", mostTools)
			break
		}
		adopted, err := s.adopt(t)
		if err != nil {
			if leftOut++; leftOut <= mostLeftOut {
				s.Log.Warn("a tool of an MCP server is left out", "tool", tool.Fit(t.Name, 64), "err", err)
			}
			continue
		}
		tools = append(tools, adopted)
	}
	if leftOut > mostLeftOut {
		s.Log.Warn("more tools of an MCP server are left out", "more", leftOut-mostLeftOut)
	}
	s.tools.Store(&tools)
	return nil
}

func (s *Server) wants(name string) bool {
	for _, only := range s.Only {
		if only == name {
			return true
		}
	}
	return len(s.Only) == 0
}

// logger returns the log, or the usual one where there is none.
func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.Default()
	}
	return l
}
