package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"time"

	"riposte/transport/asterisk"
)

// asteriskSettings are those of calls that come from an Asterisk.
type asteriskSettings struct {
	AudioSocket   string        `name:"audiosocket" placeholder:"ADDRESS" help:"TCP port for AudioSocket, such as 127.0.0.1:9092. Empty takes no such calls." group:"asterisk"`
	Peers         []string      `placeholder:"NETWORK" help:"Networks from which AudioSocket may connect, such as 10.1.0.0/16, or addresses: it can show no key. Empty is this machine." group:"asterisk"`
	Announced     bool          `help:"Of AudioSocket take only calls that were announced (POST /asterisk/announcements), each by the UUID that was given for it." group:"asterisk"`
	Await         time.Duration `default:"1m" help:"How long an announced call may take to come." group:"asterisk"`
	Announcements int           `default:"1000" help:"Calls that are announced and have not come yet. More are refused with 503." group:"asterisk"`
	WebSocket     bool          `name:"websocket" help:"Take the calls that chan_websocket brings to /asterisk/media, where it has to show one of keys." group:"asterisk"`
	Exchanges     []string      `placeholder:"URL" help:"HTTP servers of Asterisks, such as ws://127.0.0.1:8088, from which calls may be fetched (POST /asterisk/calls) that wait there as WebSocket/INCOMING. Empty fetches none." group:"asterisk"`
	Answer        bool          `default:"true" negatable:"" help:"Answer calls of chan_websocket once there is a place for them, where the dial string's option n leaves that to the service." group:"asterisk"`
	Buffer        time.Duration `default:"200ms" help:"Sound that chan_websocket has in hand, against jitter: 20ms to 2s. An interruption throws it away." group:"asterisk"`
	Manager       string        `placeholder:"ADDRESS" help:"Asterisk's manager interface (AMI), such as 127.0.0.1:5038, by which callers are transferred. Empty transfers none." group:"asterisk"`
	ManagerUser   string        `placeholder:"NAME" help:"Its user, who needs write = call." group:"asterisk"`
	ManagerSecret string        `placeholder:"SECRET" help:"The user's secret. It is never logged." group:"asterisk"`
	Context       string        `default:"riposte-transfer" help:"The dialplan's context in which callers that are transferred go on, at the extension that is asked for." group:"asterisk"`
}

// validate reports everything that is out of bounds.
func (s *asteriskSettings) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.AudioSocket == "" || isListen(s.AudioSocket), "asterisk-audiosocket is %q: it must be an address and a port, such as 127.0.0.1:9092", s.AudioSocket)
	_, err := s.peers()
	errs = append(errs, err)
	check(s.Await >= time.Second && s.Await <= time.Hour, "asterisk-await is %v: it must be 1s to 1h", s.Await)
	check(s.Announcements >= 1, "asterisk-announcements is %d: it must be at least 1", s.Announcements)
	check(s.Buffer >= 20*time.Millisecond && s.Buffer <= 2*time.Second, "asterisk-buffer is %v: it must be 20ms to 2s", s.Buffer)
	for _, e := range s.Exchanges {
		u, err := url.Parse(e)
		check(err == nil && (u.Scheme == "ws" || u.Scheme == "wss") && u.Host != "" && u.RawQuery == "" && u.Fragment == "",
			"asterisk-exchanges holds one that is no address such as ws://127.0.0.1:8088 or wss://pbx.example.com:8089")
	}
	check(s.Manager == "" || isListen(s.Manager), "asterisk-manager is %q: it must be an address and a port, such as 127.0.0.1:5038", s.Manager)
	check(s.Manager == "" || s.ManagerUser != "" && s.ManagerSecret != "", "asterisk-manager needs asterisk-manager-user and asterisk-manager-secret")
	check(s.Context != "", "asterisk-context is empty: it must name a context of the dialplan")
	return errors.Join(errs...)
}

// isListen reports whether an address has a port.
func isListen(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != ""
}

// peers returns the networks from which AudioSocket may connect.
func (s *asteriskSettings) peers() (all []netip.Prefix, err error) {
	for _, text := range s.Peers {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, netip.PrefixFrom(a, a.BitLen()))
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("asterisk-peers holds %q: it must be a network such as 10.1.0.0/16, or an address", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// openAsterisk takes calls from Asterisk by the ways that there are settings for, until shut is called.
func (s *service) openAsterisk(held context.Context, p *phones) (shut func(), err error) {
	set := &s.settings.Asterisk
	peers, err := set.peers()
	if err != nil {
		return nil, err
	}
	server := &asterisk.Server{
		Phone: p.Server, Keys: s.settings.Keys, Peers: peers, Announced: set.Announced, Ahead: set.Await, Announcements: set.Announcements,
		Exchanges: set.Exchanges, Answer: set.Answer, Buffer: set.Buffer, Log: s.log,
	}
	if set.Manager != "" {
		server.Manager = &asterisk.Manager{Address: set.Manager, User: set.ManagerUser, Secret: set.ManagerSecret, Context: set.Context}
	}
	held, end := context.WithCancel(held)
	if set.WebSocket {
		p.routes["GET /asterisk/media"] = http.HandlerFunc(server.Media)
	}
	if len(set.Exchanges) > 0 {
		p.routes["POST /asterisk/calls"] = server.Fetch(held)
	}
	var serving sync.WaitGroup
	if set.AudioSocket != "" {
		listener, err := net.Listen("tcp", set.AudioSocket)
		if err != nil {
			end()
			return nil, fmt.Errorf("%w (set another address with --asterisk-audiosocket)", err)
		}
		p.routes["POST /asterisk/announcements"] = http.HandlerFunc(server.Announce)
		serving.Go(func() {
			if err := server.ServeAudioSocket(held, listener); err != nil {
				s.log.Error("calls by AudioSocket are not taken any more", "err", err)
			}
		})
		s.log.Info("calls from Asterisk", "audiosocket", listener.Addr().String(), "announced", set.Announced)
	}
	return func() {
		end()
		serving.Wait()
		server.Close()
	}, nil
}
