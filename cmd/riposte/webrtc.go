package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	pion "github.com/pion/webrtc/v4"

	"riposte/audio/opus"
	"riposte/transport/realtime"
	"riposte/transport/webrtc"
)

// webRTCSettings are those of calls over WebRTC.
type webRTCSettings struct {
	UDP        string        `placeholder:"ADDRESS" help:"UDP port of all calls over WebRTC, such as 0.0.0.0:8080. Empty is the same as listen; none takes no such calls." group:"webrtc"`
	TCP        string        `placeholder:"ADDRESS" help:"TCP port for callers whom UDP does not reach, such as 0.0.0.0:8081. Empty for none." group:"webrtc"`
	Public     []string      `placeholder:"IP" help:"Addresses by which callers reach this machine, where a router has them and not the machine itself." group:"webrtc"`
	STUN       []string      `placeholder:"URL" help:"STUN servers, such as stun:stun.example.org:3478, by which the machine finds out such addresses." group:"webrtc"`
	TURN       []string      `placeholder:"URL" help:"TURN servers, such as turn:turn.example.org:3478?transport=udp, through which calls go where there is no other way." group:"webrtc"`
	User       string        `help:"Name at the TURN servers." group:"webrtc"`
	Password   string        `help:"Password at the TURN servers." group:"webrtc"`
	Depth      time.Duration `default:"40ms" help:"The most that a packet of the caller's sound is waited for that is missing while later ones are there: 20ms less than the jitter of callers' networks." group:"webrtc"`
	Lead       time.Duration `default:"60ms" help:"Sound made ready ahead of its leaving: it covers what the service itself is late by, and is what an interruption throws away." group:"webrtc"`
	Setup      time.Duration `default:"15s" help:"How long a caller whose offer was answered may take to connect." group:"webrtc"`
	Offers     int           `default:"0" help:"Offers from one address (of IPv6, its first 64 bits) that were answered and have not connected yet; more are refused with 503. 0 is half of calls-max. Behind a proxy all callers have one address." group:"webrtc"`
	Away       time.Duration `default:"15s" help:"How long a connection may be broken before its call ends; it counts as broken 5 s after the last packet." group:"webrtc"`
	Candidates int           `default:"100" help:"Addresses (ICE candidates) that a caller's side may name at a time: each is sent some packets, to see whether the caller is there." group:"webrtc"`
	Gather     time.Duration `default:"3s" help:"How long an answer waits for the addresses of STUN and TURN servers." group:"webrtc"`
	Request    int64         `default:"524288" help:"Longest offer, with its session, in bytes." group:"webrtc"`
	Message    int           `default:"262144" help:"Longest event of a client on the data channel, in bytes; the client is told." group:"webrtc"`
	Buffer     int           `default:"1048576" help:"Events that wait for a client that does not read, in bytes. When there are more for calls-slow the call ends." group:"webrtc"`
	Bitrate    int           `default:"32000" help:"Bits a second of the voice, encoded as Opus." group:"webrtc"`
	DTX        bool          `default:"true" negatable:"" help:"Send nothing while there is nothing to be heard." group:"webrtc"`
}

// validate reports everything that is out of bounds.
func (s *webRTCSettings) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Depth >= time.Millisecond && s.Depth <= 200*time.Millisecond, "webrtc-depth is %v: it must be 1ms to 200ms", s.Depth)
	check(s.Lead >= 20*time.Millisecond && s.Lead <= time.Second, "webrtc-lead is %v: it must be 20ms to 1s", s.Lead)
	check(s.Setup >= time.Second, "webrtc-setup is %v: it must be at least 1s", s.Setup)
	check(s.Offers >= 0, "webrtc-offers is %d: it must be at least 1, or 0 for half of calls-max", s.Offers)
	check(s.Away >= time.Second, "webrtc-away is %v: it must be at least 1s", s.Away)
	check(s.Candidates >= 10, "webrtc-candidates is %d: it must be at least 10", s.Candidates)
	check(s.Gather > 0, "webrtc-gather is %v: it must be more than 0", s.Gather)
	check(s.Request >= 16<<10, "webrtc-request is %d: it must be at least 16384", s.Request)
	check(s.Message >= 16<<10 && s.Message <= 64<<20, "webrtc-message is %d: it must be 16384 to 67108864", s.Message)
	check(s.Buffer >= 64<<10, "webrtc-buffer is %d: it must be at least 65536", s.Buffer)
	check(s.Bitrate >= 6000 && s.Bitrate <= 510000, "webrtc-bitrate is %d: it must be 6000 to 510000", s.Bitrate)
	for _, ip := range s.Public {
		check(net.ParseIP(ip) != nil, "webrtc-public holds %q: it must be an IP address", ip)
	}
	check(len(s.TURN) == 0 || s.User != "" && s.Password != "", "webrtc-turn needs webrtc-user and webrtc-password")
	return errors.Join(errs...)
}

// servers returns those that help to find a way to callers.
func (s *webRTCSettings) servers() (all []pion.ICEServer) {
	if len(s.STUN) > 0 {
		all = append(all, pion.ICEServer{URLs: s.STUN})
	}
	if len(s.TURN) > 0 {
		all = append(all, pion.ICEServer{URLs: s.TURN, Username: s.User, Credential: s.Password})
	}
	return all
}

// openWebRTC opens what takes calls over WebRTC, beside a listener. The handler is nil where there are to be none. shut closes it, once all
// calls have ended.
func (s *service) openWebRTC(ctx context.Context, listener net.Addr, calls *realtime.Server) (handler http.Handler, shut func(), err error) {
	set := &s.settings.WebRTC
	if set.UDP == "none" {
		return nil, func() {}, nil
	}
	if err := opus.Check(); err != nil {
		s.log.Warn("no calls over WebRTC", "err", err)
		return nil, func() {}, nil
	}
	server := &webrtc.Server{
		Calls: calls, UDP: cmp.Or(set.UDP, sameAs(s.settings.Listen, listener)), TCP: set.TCP, Public: set.Public, ICE: set.servers(), Log: s.log, Drain: s.drain,
		Limits: webrtc.Limits{
			Depth: set.Depth, Lead: set.Lead, Setup: set.Setup, Offers: cmp.Or(set.Offers, max(1, s.settings.Calls.Max/2)), Away: set.Away, Candidates: set.Candidates, Gather: set.Gather, Request: set.Request,
			Message: set.Message, Buffer: set.Buffer, Write: s.settings.Calls.Slow, Bitrate: set.Bitrate, DTX: set.DTX,
		},
	}
	if err := server.Open(ctx); err != nil {
		return nil, nil, fmt.Errorf("%w (set another address with --webrtc-udp and --webrtc-tcp, or take no calls over WebRTC with --webrtc-udp=none)", err)
	}
	s.telemetry.tracks.Store(server)
	s.log.Info("calls over WebRTC", "udp", server.Addresses(), "tcp", set.TCP)
	return server, func() {
		if err := server.Close(); err != nil {
			s.log.Warn("closing", "err", err)
		}
	}, nil
}

// sameAs returns the address that is listened on, for UDP. Where any port was asked for any is taken: the same one may not be free.
func sameAs(asked string, listener net.Addr) string {
	host, port, err := net.SplitHostPort(asked)
	if err == nil && port == "0" {
		return net.JoinHostPort(host, "0")
	}
	return listener.String()
}

// keyless reports whether anybody who reaches a listener may call, though other machines do.
func (s *settings) keyless(listener net.Addr) bool {
	t, ok := listener.(*net.TCPAddr)
	return ok && !t.IP.IsLoopback() && len(s.Keys) == 0
}
