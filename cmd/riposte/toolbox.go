package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"riposte/pipeline"
	"riposte/tool"
	"riposte/tool/mcp"
)

// toolbox is what the service runs for calls, by their route. MCP servers that routes have in common there are once.
type toolbox struct {
	sets    map[string]*tool.Set
	servers []*holding
	opening sync.WaitGroup
	stop    context.CancelFunc // Of what is being opened.
}

// holding is an MCP server, and the settings that it comes from.
type holding struct {
	label string
	by    mcpSettings
	*mcp.Server
}

// open makes the tools of all routes, and opens their MCP servers, side by side: opened waits until they are, or are known not to be there. A
// server that cannot be reached now is dialled again while the service runs, so it is no error.
func (b *toolbox) open(ctx context.Context, routes map[string]*route, log *slog.Logger, ran func(t *tool.Tool, k tool.Kind, took time.Duration)) (opened func(), err error) {
	b.sets = map[string]*tool.Set{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		set := &tool.Set{Ran: ran}
		settings := routes[name].Tools
		requests, err := settings.requests()
		errs = append(errs, err)
		ours, err := routes[name].Phone.tools()
		errs = append(errs, err)
		set.Sources = append(set.Sources, append(requests, ours...))
		for _, label := range slices.Sorted(maps.Keys(settings.MCP)) {
			h, err := b.hold(label, settings.MCP[label])
			errs = append(errs, err)
			set.Sources = append(set.Sources, h)
		}
		b.sets[name] = set
	}
	if err := errors.Join(errs...); err != nil {
		b.servers = nil
		return nil, err
	}
	ctx, b.stop = context.WithCancel(ctx)
	for _, h := range b.servers {
		h.Log = log
		b.opening.Go(func() {
			_ = h.Open(ctx) // it says itself what is wrong
		})
	}
	return b.opening.Wait, nil
}

// hold returns the server of a label and settings.
func (b *toolbox) hold(label string, by mcpSettings) (*holding, error) {
	for _, h := range b.servers {
		if h.label == label && reflect.DeepEqual(h.by, by) {
			return h, nil
		}
	}
	server, err := by.server(label)
	h := &holding{label, by, server}
	b.servers = append(b.servers, h)
	return h, err
}

// close ends the MCP servers.
func (b *toolbox) close() {
	b.stop()
	b.opening.Wait()
	var closed sync.WaitGroup
	for _, h := range b.servers {
		closed.Go(h.Close)
	}
	closed.Wait()
}

// of returns the tools of a route; nil where there are none.
func (b *toolbox) of(route string) pipeline.Tools {
	set := b.sets[route]
	if set == nil || len(set.Sources) == 1 && len(set.Sources[0].Tools()) == 0 {
		return nil
	}
	return set
}

// openTools makes ready what the service runs for calls. When ctx ends, what is not there yet is not waited for.
func (s *service) openTools(ctx context.Context) (opened, closeTools func(), err error) {
	opened, err = s.tools.open(ctx, s.routes, s.log, func(t *tool.Tool, k tool.Kind, took time.Duration) {
		s.telemetry.metrics.ToolRan(t.Name, string(k), took)
	})
	return opened, s.tools.close, err
}

// toolsFinding says whether the tools can be had.
func toolsFinding(ctx context.Context, s *settings) finding {
	f := finding{what: "tools", detail: "none"}
	routes, err := s.openRoutes()
	if err != nil {
		return f // that is said of the routes
	}
	var b toolbox
	opened, err := b.open(ctx, routes, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		f.err = err
		return f
	}
	defer b.close()
	opened()
	var errs []error
	for _, h := range b.servers {
		if err := h.Err(); err != nil {
			errs = append(errs, fmt.Errorf("the MCP server %s cannot be reached: %w (try its command or address by hand)", h.label, err))
		}
	}
	f.err = errors.Join(errs...)
	known := map[string]bool{}
	for _, set := range b.sets {
		for _, t := range set.All() {
			known[t.Name] = true
		}
	}
	if len(known) > 0 {
		f.detail = fmt.Sprintf("%d of them: %s", len(known), joined(slices.Sorted(maps.Keys(known)), 8))
	}
	return f
}
