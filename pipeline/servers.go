package pipeline

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"

	"riposte/llm"
	"riposte/transport"
)

// This file is what a call knows of servers whose tools its caller's side wants the model to have.

// errNoServers says that the service dials none.
var errNoServers = errors.New("this service reaches no servers that its callers name")

// Dialled are the tools of a server that was dialled for one call. They have to be closed.
type Dialled interface {
	Tools
	Close()
}

// servers are those of a call. The zero value has none. It is safe for use by several goroutines.
type servers struct {
	mu  sync.Mutex
	all []*server
}

// server is one of them.
type server struct {
	to    transport.ToolServer
	stop  context.CancelFunc
	tools Dialled // nil before it is known, and where there are none.
}

// serve has the call have the servers of its settings: it dials those that are new, and closes those that are not there any more.
func (s *Session) serve(ctx context.Context, wanted []transport.ToolServer) {
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	before := s.servers.all
	s.servers.all = nil
	for _, to := range wanted {
		i := slices.IndexFunc(before, func(b *server) bool { return reflect.DeepEqual(b.to, to) })
		if i >= 0 {
			s.servers.all = append(s.servers.all, before[i])
			before = slices.Delete(slices.Clone(before), i, i+1)
			continue
		}
		ctx, stop := context.WithCancel(ctx)
		b := &server{to: to, stop: stop}
		s.servers.all = append(s.servers.all, b)
		s.group.Go(func() error { return s.dial(ctx, b) })
	}
	for _, b := range before {
		b.stop()
	}
}

// dial holds a server until nobody wants it any more.
func (s *Session) dial(ctx context.Context, b *server) error {
	item := newID("mcpl")
	tell := func(l transport.Listed) error {
		l.Item, l.Server = item, b.to.Label
		return s.Call.Send(ctx, l)
	}
	if err := tell(transport.Listed{}); err != nil {
		return nil // it is over
	}
	if s.Dial == nil {
		_ = tell(transport.Listed{Done: true, Err: errNoServers})
		return nil
	}
	tools, err := s.Dial(ctx, b.to)
	if err == nil {
		defer tools.Close()
		s.servers.mu.Lock()
		b.tools = tools
		s.servers.mu.Unlock()
	}
	if ctx.Err() != nil {
		return nil
	}
	l := transport.Listed{Done: true, Err: err}
	if err == nil {
		l.Tools = tools.Offered()
	} else {
		s.Log.Warn("the MCP server of a caller is not there", "call", s.Call.ID(), "server", b.to.Label, "err", err)
	}
	if tell(l) != nil || err != nil {
		return nil
	}
	<-ctx.Done()
	s.servers.mu.Lock()
	b.tools = nil
	s.servers.mu.Unlock()
	return nil
}

// crew returns whose tools the call has, those first that go before others: what the service has for all calls, then servers of the caller's
// side in their order.
func (s *Session) crew() (all []Tools) {
	if s.Tools != nil {
		all = append(all, s.Tools)
	}
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	for _, b := range s.servers.all {
		if b.tools != nil {
			all = append(all, b.tools)
		}
	}
	return all
}

// whose returns who has the tool of a name, and what it is called; nil where nobody has.
func (s *Session) whose(name string) (Tools, string) {
	for _, t := range s.crew() {
		if label := t.Server(name); label != "" {
			return t, label
		}
	}
	return nil, ""
}

// asks reports whether the caller's side has to approve of a call before it is run.
func (s *Session) asks(c llm.ToolCall) bool {
	has, _ := s.whose(c.Name)
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	for _, b := range s.servers.all {
		if b.tools != nil && has == Tools(b.tools) {
			return b.to.Asks(c.Name)
		}
	}
	return false
}
