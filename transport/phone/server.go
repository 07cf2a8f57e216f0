// Package phone holds calls that come by telephone, whichever wire brings them. A wire is a Line, which knows its envelopes; the rest is here,
// the same for all of them: which route a call takes, the pace at which its answers leave, what the far side has in hand of them and has played,
// keys, and the limits that a far side is held to.
package phone

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"riposte/transport"
)

// Server holds the calls of all wires. Set the exported fields before the first call.
type Server struct {
	// Hold holds one call until it ends and says why it ended.
	Hold func(ctx context.Context, c transport.Call, s transport.Settings) error
	// Admit takes a place for a call, or says why there is none.
	Admit func() (release func(), err error)
	// Choose returns what a call begins with, by its route. The error says that there is no such route.
	Choose func(Opening) (transport.Settings, error)
	Limits Limits
	// Ready is how much sound is made ready ahead of its leaving: it covers what the service itself is late by. It defaults to 60 ms.
	Ready time.Duration
	Tones bool // Keys are heard in the sound of lines that have no messages for them.
	// Noise is the level, in dBFS, of the soft noise that fills what lies between what is said on lines that need sound all the time. 0 is silence.
	Noise float64
	Log   *slog.Logger

	waiting waiting
	counts  counts
	fill    fill
}

// Counts says what became of the sound of the calls that have ended.
func (s *Server) Counts() Counts { return s.counts.snapshot() }

// Limits bounds what one far side may take. A zero field means its default.
type Limits struct {
	Message  int           // The longest message, in bytes. It defaults to 64 KiB.
	Waiting  int           // Connections that have not said yet which call they bring. It defaults to 32.
	Start    time.Duration // How long they may take to say so. It defaults to 5 s.
	Idle     time.Duration // How long nothing at all may come from a far side. It defaults to 10 s: silence comes as sound.
	Write    time.Duration // How long a far side may take to read what it is sent. It defaults to 5 s.
	Lifetime time.Duration // How long a call may last. It defaults to 4 hours.
	Gap      time.Duration // How much of the caller's sound that is missing, by the far side's clock, is made up for by silence. It defaults to 2 s.
	Ahead    time.Duration // How much more sound a far side may send than time goes by. It defaults to 30 s.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Message:  cmp.Or(l.Message, 64<<10),
		Waiting:  cmp.Or(l.Waiting, 32),
		Start:    cmp.Or(l.Start, 5*time.Second),
		Idle:     cmp.Or(l.Idle, 10*time.Second),
		Write:    cmp.Or(l.Write, 5*time.Second),
		Lifetime: cmp.Or(l.Lifetime, 4*time.Hour),
		Gap:      cmp.Or(l.Gap, 2*time.Second),
		Ahead:    cmp.Or(l.Ahead, 30*time.Second),
	}
}

// Converse holds a call on a line until it ends, closes the line, and says why it ended. Where the error is a *Refusal there was no call, and the
// line is still open.
func (s *Server) Converse(ctx context.Context, line Line, o Opening) error {
	o.placed()
	release, err := s.admit(o)
	if err != nil {
		return err
	}
	defer release()
	settings, err := s.Choose(o)
	if err != nil {
		return &Refusal{err}
	}
	c := newCall(s, line, o, settings)
	log := s.log().With("call", c.ID())
	log.Info("call begins", "wire", o.Wire, "line", o.ID, "from", o.From, "to", o.To, "route", c.settings.Route, "placed", o.Placed, "answered_by", string(o.Answerer))
	began := time.Now()
	err = c.hold(ctx)
	log.Info("call ended", "why", err, "lasted", time.Since(began).Round(time.Millisecond), "sound", c.counts.snapshot())
	s.counts.add(&c.counts)
	return err
}

// log returns where the server logs.
func (s *Server) log() *slog.Logger {
	if s.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return s.Log
}

// Bounds returns the limits, none of them zero, for wires that read and write by themselves.
func (s *Server) Bounds() Limits { return s.Limits.withDefaults() }
