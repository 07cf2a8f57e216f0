package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"riposte/pipeline"
	"riposte/tool"
	"riposte/tool/mcp"
	"riposte/transport"
)

// permit says why a call by a route cannot have an MCP server that its client names.
func (s *service) permit(route, address string) error {
	set := s.settings
	if r := s.routes[route]; r != nil {
		set = r.settings
	}
	return mcp.Hosts(set.Tools.Hosts).Permit(address)
}

// dialler returns what reaches the servers that a call's client names, as far as the settings permit.
func (s *service) dialler(set *settings) func(ctx context.Context, to transport.ToolServer) (pipeline.Dialled, error) {
	hosts := mcp.Hosts(set.Tools.Hosts)
	return func(ctx context.Context, to transport.ToolServer) (pipeline.Dialled, error) {
		if err := hosts.Permit(to.URL); err != nil {
			return nil, err
		}
		carrier := hosts.Carrier()
		header := http.Header{}
		for name, value := range to.Header {
			header.Set(name, value)
		}
		d := &dialled{carrier: carrier, server: &mcp.Server{
			Label: to.Label, URL: to.URL, Header: header, Only: to.Only, Dial: carrier, Version: version, Log: slog.New(slog.DiscardHandler), // callers fill no log
		}}
		d.Set = tool.Set{Sources: []tool.Source{d.server}, Ran: func(_ *tool.Tool, k tool.Kind, took time.Duration) {
			s.telemetry.metrics.ToolRan("of a client", string(k), took) // names that clients choose are no labels
		}}
		if err := d.server.Open(ctx); err != nil {
			d.Close()
			return nil, err
		}
		return d, nil
	}
}

// dialled is an MCP server that one call has.
type dialled struct {
	tool.Set
	server  *mcp.Server
	carrier *http.Transport
}

// Close ends the connection.
func (d *dialled) Close() {
	d.server.Close()
	d.carrier.CloseIdleConnections()
}
