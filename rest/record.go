package rest

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/llm"
)

// This file is what is noted of a request while it is answered, for those who run the service.

// began notes that a request has come.
func (x *exchange) began(endpoint string, stage budget.Stage) {
	x.note = trace.Request{ID: "req_" + rand.Text(), Endpoint: endpoint, Stage: stage, Parent: trace.Parent(x.ctx), Began: time.Now(), Status: http.StatusOK}
	x.ctx = budget.WithBill(x.ctx, &x.bill)
	x.w.Header().Set("X-Request-Id", x.note.ID)
}

// came notes that the engine has brought something.
func (x *exchange) came() {
	if x.note.First == 0 {
		x.note.First = time.Since(x.note.Began)
	}
}

// piece notes what a model has brought.
func (x *exchange) piece(p llm.Piece) {
	x.came()
	if u := p.Usage; u != nil {
		x.note.Tokens = trace.Tokens{Input: u.Prompt, Cached: u.Cached, Output: u.Output}
	}
}

// heard notes sound that is listened to or spoken.
func (x *exchange) heard(p audio.PCM, rate int) { x.note.Sound += p.Duration(rate) }

// failed notes what a client is told of an error. One that has left is told nothing: the service's own end has another cause.
func (x *exchange) failed(p *Problem, err error) {
	x.err = err
	x.note.Status, x.note.Code = cmp.Or(p.Status, http.StatusInternalServerError), p.Code
	if context.Cause(x.r.Context()) == context.Canceled || x.lost {
		x.note.Status, x.note.Code = trace.Left, "client_left"
	}
}

// ended tells of a request that has ended.
func (s *Server) ended(x *exchange) {
	n := &x.note
	n.Ended, n.Version = time.Now(), s.Version
	n.Route = cmp.Or(n.Route, "default")
	for _, w := range x.bill.Work() {
		n.Work.Runs, n.Work.Waited, n.Work.Ran = n.Work.Runs+w.Runs, n.Work.Waited+w.Waited, n.Work.Ran+w.Ran
	}
	if s.Ended != nil {
		s.Ended(*n)
	}
	level := slog.LevelInfo
	switch {
	case n.Status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	case n.Status >= http.StatusInternalServerError:
		level = slog.LevelError
	case n.Stage == "" && x.err == nil: // asked often, and of no cost
		level = slog.LevelDebug
	}
	if !s.Log.Enabled(context.Background(), level) {
		return
	}
	about := []slog.Attr{
		slog.String("request", n.ID), slog.String("endpoint", n.Endpoint), slog.String("route", n.Route), slog.String("model", n.Model),
		slog.Int("status", n.Status), slog.Duration("took", n.Ended.Sub(n.Began)), slog.Duration("first", n.First), slog.Duration("queued", n.Work.Waited),
	}
	if n.Tokens != (trace.Tokens{}) {
		about = append(about, slog.Group("tokens", "input", n.Tokens.Input, "cached", n.Tokens.Cached, "output", n.Tokens.Output))
	}
	if n.Sound > 0 {
		about = append(about, slog.Duration("sound", n.Sound))
	}
	if x.err != nil {
		about = append(about, slog.String("code", n.Code), slog.String("err", short(x.err.Error())))
	}
	for _, d := range x.bill.Detours() {
		about = append(about, slog.String("detour", d.Why))
	}
	s.Log.LogAttrs(context.Background(), level, "a request has ended", about...)
}

// doorkeeper notes with which status a request was not let in.
type doorkeeper struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (d *doorkeeper) WriteHeader(status int) {
	d.status = status
	d.ResponseWriter.WriteHeader(status)
}
