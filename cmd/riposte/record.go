package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"riposte/audio/duplex"
	"riposte/budget/trace"
	"riposte/budget/trace/hook"
	"riposte/budget/trace/store"
	"riposte/llm"
	"riposte/transport"
)

// record is one call of which the sinks are told: the session tells it its turns, and it adds them up.
type record struct {
	trace.Sinks
	*ledger
	ctx    context.Context     // Of the call.
	phone  transport.Telephone // The call, where it came by telephone.
	model  llm.Generator       // Writes what whoever takes it over is told; nil writes nothing.
	hook   *hook.Hook          // Is told of its end; nil is nobody.
	prices trace.Prices
	turned bool // The sound of its turns is kept.
	log    *slog.Logger
	masked bool // Sinks are not told the whole of numbers.

	mu   sync.Mutex
	call trace.Call
	sum  trace.Record
	gaps []time.Duration // Of the turns that have a verdict.
}

// begin tells the sinks that a call begins, by a route. The context that it returns says to remote engines what they work for.
func (s *service) begin(ctx context.Context, c transport.Call, route string, set *settings) (context.Context, *record) {
	r := &record{
		Sinks: s.traces, ledger: &ledger{Call: c, consent: consentOf(set)}, hook: s.hook, prices: set.Price.prices(), log: s.log, turned: set.Trace.Record, masked: s.settings.Trace.Numbers == "masked",
		call: trace.Call{ID: c.ID(), Route: route, Wire: wireOf(c), Version: version, Parent: trace.Parent(ctx), Began: time.Now()},
		sum:  trace.Record{Verdicts: trace.Verdicts{}, Currency: set.Price.Currency, Recorded: set.records(), Consent: trace.NotAsked},
	}
	if set.Record.Dir != "" {
		r.sum.Recording = filepath.Join(set.Record.Dir, c.ID()+".wav")
		r.file = &duplex.File{Path: r.sum.Recording, Buffer: set.Record.Buffer, Log: s.log}
		r.file.Start()
	}
	if r.consent != nil {
		r.ledger.refuse, r.sum.Consent = r.refuse, trace.Announced
	}
	if r.phone, _ = c.(transport.Telephone); r.phone != nil {
		p := r.phone.Parties()
		r.sum.From, r.sum.To, r.sum.Line = p.From, p.To, p.Line
	}
	r.CallBegan(r.kept())
	if s.telemetry.spans != nil {
		ctx = trace.InCall(ctx, r.call)
	}
	r.ctx = context.WithValue(ctx, recordKey{}, r)
	return r.ctx, r
}

// wireOf names the wire that a call came by.
func wireOf(c transport.Call) string {
	if w, ok := c.(interface{ Wire() string }); ok {
		return w.Wire()
	}
	return "websocket"
}

// kept returns the call as sinks are told of it.
func (r *record) kept() trace.Call {
	sum := r.sum
	sum.Verdicts = maps.Clone(sum.Verdicts) // it is counted on
	if r.masked {
		sum.From, sum.To = trace.Masked(sum.From), trace.Masked(sum.To)
	}
	c := r.call
	c.Record = &sum
	return c
}

// TurnEnded tells of a turn, with what it has of the call.
func (r *record) TurnEnded(t trace.Turn) {
	r.add(&t)
	r.Sinks.TurnEnded(t)
}

// add adds a turn to what the call comes to.
func (r *record) add(t *trace.Turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Call, t.Route, t.Version = r.call.ID, r.call.Route, r.call.Version
	r.call.Turns++
	if r.refused() {
		t.Sound = nil
	}
	s := &r.sum
	s.Input, s.Cached, s.Output = s.Input+t.Tokens.Input, s.Cached+t.Tokens.Cached, s.Output+t.Tokens.Output
	s.Tools += len(t.Tools)
	for _, e := range t.Events {
		if e.Kind == trace.KindBargeIn {
			s.Interrupted++
		}
	}
	if t.Report.Verdict != "" {
		s.Verdicts[t.Report.Verdict]++
		if t.Report.Total > 0 {
			r.gaps = append(r.gaps, t.Report.Total)
		}
	}
}

// spend adds to what the call comes to what an answer beside its conversation took.
func (r *record) spend(a *trace.Aside) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Call, a.Route = r.call.ID, r.call.Route
	r.sum.Input, r.sum.Cached, r.sum.Output = r.sum.Input+a.Tokens.Input, r.sum.Cached+a.Tokens.Cached, r.sum.Output+a.Tokens.Output
}

// TurnChanged tells what came of a turn after its end: those who keep turns replace what they have, and when it was heard is counted.
func (r *record) TurnChanged(t trace.Turn) {
	r.mu.Lock()
	if r.refused() {
		t.Sound = nil
	}
	r.mu.Unlock()
	t.Call, t.Route, t.Version = r.call.ID, r.call.Route, r.call.Version
	for _, sink := range r.Sinks {
		switch sink := sink.(type) {
		case *store.Recorder:
			sink.TurnEnded(t)
		case interface{ TurnChanged(trace.Turn) }:
			sink.TurnChanged(t)
		}
	}
}

// end tells that the call ended, and why.
func (r *record) end(why error) {
	ended, made := time.Now(), false
	if r.file != nil {
		_ = r.file.Close() // it has said itself what is wrong
		made = r.file.Made()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.call.Ended, r.call.Reason = ended, reason(why)
	if r.file != nil && !made && !r.refused() {
		r.sum.Recording, r.sum.Recorded = "", r.turned
	}
	l, s := r.ledger, &r.sum
	l.mu.Lock()
	s.Heard, s.Spoken, s.Words, s.Characters = l.heard.Seconds(), l.spoken.Seconds(), l.words, l.characters
	if first := l.first; !first.IsZero() {
		s.Answered = &first
	}
	l.mu.Unlock()
	s.Gaps(r.gaps)
	s.Cost = r.prices.Of(*s, r.call.Ended.Sub(r.call.Began))
	r.CallEnded(r.kept())
	if r.hook != nil {
		whole, sum := r.call, r.sum
		whole.Record = &sum
		r.hook.Send(whole)
	}
}

// reason names why a call ended.
func reason(err error) string {
	for _, r := range []struct {
		err  error
		name string
	}{
		{transport.ErrHungUp, trace.HungUp}, {transport.ErrEnded, trace.Agent}, {transport.ErrTransferred, trace.Transferred}, {transport.ErrMachine, trace.Machine},
		{transport.ErrShutdown, trace.Shutdown}, {transport.ErrSilent, trace.Silent}, {transport.ErrIdle, trace.Idle},
		{transport.ErrExpired, trace.Expired}, {transport.ErrSlowReader, trace.SlowReader}, {transport.ErrLost, trace.Lost},
	} {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	if err == nil {
		return trace.Ended
	}
	return trace.Failed
}

// records reports whether calls are recorded in one way or the other.
func (s *settings) records() bool { return s.Trace.Record || s.Record.Dir != "" }

// openFolders makes the folders for recordings of whole calls, so that what is wrong with them is known before a call.
func openFolders(routes map[string]*route) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		if dir := routes[name].Record.Dir; dir != "" {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				errs = append(errs, fmt.Errorf("route %s: record.dir: %w", name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// untold returns the routes whose whole calls are recorded without a word to the caller.
func untold(routes map[string]*route) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		if r := routes[name]; r.Record.Dir != "" && r.Talk.Consent == "" {
			names = append(names, name)
		}
	}
	return names
}

// tellCalls tells the address that the settings name of each call at its end. stop delivers what is left.
func (s *service) tellCalls() (stop func()) {
	set := &s.settings.Phone
	if set.Webhook == "" {
		return func() {}
	}
	s.hook = &hook.Hook{URL: set.Webhook, Secret: set.WebhookSecret, Patience: set.WebhookWait, Log: s.log}
	s.hook.Start()
	return func() {
		if err := s.hook.Close(); err != nil {
			s.log.Warn("closing", "err", err)
		}
	}
}
