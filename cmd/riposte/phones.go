package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"riposte/budget/trace/metrics"
	"riposte/transport/phone"
)

// lineSettings are what the lines of calls by telephone have in common, whichever wire brings them.
type lineSettings struct {
	Public   string        `placeholder:"URL" help:"Where telephone providers reach the service, such as https://voice.example.com: they sign requests to it, and open their streams there. Empty goes by what their requests say." group:"phone"`
	Proxied  bool          `help:"Without phone-public, believe X-Forwarded-Proto and X-Forwarded-Host, which a proxy in front of the service sets. Without such a proxy anybody could." group:"phone"`
	Message  int           `default:"65536" help:"Longest message of a telephone line, in bytes." group:"phone"`
	Waiting  int           `default:"32" help:"Connections of telephone lines that have not said yet which call they bring. Where more come, the one that has waited the longest is closed." group:"phone"`
	Start    time.Duration `default:"5s" help:"How long they may take to say so." group:"phone"`
	Idle     time.Duration `default:"10s" help:"How long nothing at all may come over a telephone line: silence comes as sound." group:"phone"`
	Slow     time.Duration `default:"5s" help:"How long a telephone line may take to take what it is sent." group:"phone"`
	Lifetime time.Duration `default:"4h" help:"Longest time of a call by telephone." group:"phone"`
	Gap      time.Duration `default:"2s" help:"How much of a caller's sound that is missing, by the far side's clock, is made up for by silence." group:"phone"`
	Ahead    time.Duration `default:"30s" help:"How much more sound a far side may send than time goes by." group:"phone"`
	Ready    time.Duration `default:"60ms" help:"Sound made ready ahead of its leaving: it covers what the service itself is late by." group:"phone"`
	Tones    bool          `default:"true" negatable:"" help:"Hear keys in the sound of lines that have no messages for them." group:"phone"`
	Noise    float64       `default:"-65" help:"Level in dBFS of the soft noise that is sent between answers on lines that need sound all the time, so that nobody thinks that they are dead: -90 to -30, or 0 for silence." group:"phone"`
}

// validate reports everything that is out of bounds.
func (s *lineSettings) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Public == "" || isPublic(s.Public), "phone-public is %q: it must be like https://voice.example.com", s.Public)
	check(s.Message >= 4<<10 && s.Message <= 1<<20, "phone-message is %d: it must be 4096 to 1048576", s.Message)
	check(s.Waiting >= 1, "phone-waiting is %d: it must be at least 1", s.Waiting)
	check(s.Start >= 100*time.Millisecond, "phone-start is %v: it must be at least 100ms", s.Start)
	check(s.Idle >= time.Second, "phone-idle is %v: it must be at least 1s", s.Idle)
	check(s.Slow >= 100*time.Millisecond, "phone-slow is %v: it must be at least 100ms", s.Slow)
	check(s.Lifetime >= time.Second, "phone-lifetime is %v: it must be at least 1s", s.Lifetime)
	check(s.Gap >= 20*time.Millisecond && s.Gap <= time.Minute, "phone-gap is %v: it must be 20ms to 1m", s.Gap)
	check(s.Ahead >= time.Second, "phone-ahead is %v: it must be at least 1s", s.Ahead)
	check(s.Ready >= 20*time.Millisecond && s.Ready <= time.Second, "phone-ready is %v: it must be 20ms to 1s", s.Ready)
	check(s.Noise == 0 || s.Noise >= -90 && s.Noise <= -30, "phone-noise is %v: it must be -90 to -30, or 0 for silence", s.Noise)
	return errors.Join(errs...)
}

// isPublic reports whether an address is one where others reach a service.
func isPublic(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.RawQuery == "" && u.Fragment == ""
}

func (s *lineSettings) limits() phone.Limits {
	return phone.Limits{
		Message: s.Message, Waiting: s.Waiting, Start: s.Start, Idle: s.Idle, Write: s.Slow, Lifetime: s.Lifetime, Gap: s.Gap, Ahead: s.Ahead,
	}
}

// phones take calls by telephone.
type phones struct {
	*phone.Server
	tickets phone.Tickets
	routes  map[string]http.Handler // By their patterns: those of the wires that come over HTTP.
}

// openPhones opens the wires of telephones for which there are settings. shut closes them, once all calls have ended.
func (s *service) openPhones(held context.Context) (p *phones, shut func(), err error) {
	set := &s.settings.Lines
	p = &phones{
		Server: &phone.Server{
			Hold: s.hold, Admit: s.admitCounted, Choose: s.choose, Limits: set.limits(), Ready: set.Ready, Tones: set.Tones, Noise: set.Noise, Log: s.log,
		},
		routes: map[string]http.Handler{},
	}
	s.telemetry.phones.Store(p.Server)
	go func() {
		select {
		case <-s.drain:
			p.Drain()
		case <-held.Done():
		}
	}()
	s.openTwilio(p)
	if err := errors.Join(s.openTelnyx(p), s.openVonage(p)); err != nil {
		return nil, nil, err
	}
	if shut, err = s.openAsterisk(held, p); err != nil {
		return nil, nil, err
	}
	return p, shut, nil
}

// public returns where providers reach a path of the service, over a scheme; empty where that goes by their requests.
func (s *lineSettings) public() string { return strings.TrimSuffix(s.Public, "/") }

// socket is public for WebSockets.
func (s *lineSettings) socket() string { return "ws" + strings.TrimPrefix(s.public(), "http") }

// pieces says what became of the sound of calls by telephone that have ended.
func (s *service) pieces() []metrics.Packets {
	from := s.telemetry.phones.Load()
	if from == nil {
		return nil
	}
	c := from.Counts()
	return []metrics.Packets{
		{Fate: "received", Count: uint64(c.Received)}, {Fate: "twice", Count: uint64(c.Twice)}, {Fate: "missing", Count: uint64(c.Missing)},
		{Fate: "sent", Count: uint64(c.Sent)}, {Fate: "underrun", Count: uint64(c.Underruns)}, {Fate: "stalled", Count: uint64(c.Stalls)},
	}
}
