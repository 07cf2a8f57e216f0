package webrtc

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/turn/v5"
	"github.com/pion/webrtc/v4"

	"riposte/transport"
)

// relay is a STUN and TURN server on this machine, over UDP and TCP, with one user.
type relay struct {
	udp, tcp  string
	relayed   atomic.Int64 // Allocations that were made,
	forbidden atomic.Int64 // and requests that had no good name or password.
}

const realm, user, password = "riposte.test", "riposte", "a password"

func openRelay(t *testing.T) *relay {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{udp: conn.LocalAddr().String(), tcp: listener.Addr().String()}
	addresses := &turn.RelayAddressGeneratorStatic{RelayAddress: net.IPv4(127, 0, 0, 1), Address: "127.0.0.1"}
	server, err := turn.NewServer(turn.ServerConfig{
		Realm: realm,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			if a.Username != user {
				r.forbidden.Add(1)
			}
			return a.Username, turn.GenerateAuthKey(user, realm, password), a.Username == user
		},
		EventHandler: turn.EventHandler{
			OnAllocationCreated: func(_, _ net.Addr, _, _, _ string, _ net.Addr, _ int) { r.relayed.Add(1) },
		},
		PacketConnConfigs: []turn.PacketConnConfig{{PacketConn: conn, RelayAddressGenerator: addresses}},
		ListenerConfigs:   []turn.ListenerConfig{{Listener: listener, RelayAddressGenerator: addresses}},
		LoggerFactory:     logs{slog.New(slog.DiscardHandler)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return r
}

func (r *relay) stun() webrtc.ICEServer { return webrtc.ICEServer{URLs: []string{"stun:" + r.udp}} }

func (r *relay) turn(transport string) webrtc.ICEServer {
	at := r.udp
	if transport == "tcp" {
		at = r.tcp
	}
	return webrtc.ICEServer{URLs: []string{"turn:" + at + "?transport=" + transport}, Username: user, Credential: password}
}

// candidates returns the lines of SDP that name addresses and hold a text.
func candidates(sdp, with string) (all []string) {
	for line := range strings.Lines(sdp) {
		if strings.HasPrefix(line, "a=candidate:") && strings.Contains(line, with) {
			all = append(all, strings.TrimSpace(line))
		}
	}
	return all
}

// only leaves out of SDP what names addresses and does not hold a text.
func only(sdp, with string) string {
	var b strings.Builder
	for line := range strings.Lines(sdp) {
		if !strings.HasPrefix(line, "a=candidate:") || strings.Contains(line, with) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// pair returns by which kinds of addresses a call goes, and over what.
func (p *peer) pair() (local, remote, protocol string) {
	p.Helper()
	c, err := p.pc.SCTP().Transport().ICETransport().GetSelectedCandidatePair()
	if err != nil || c == nil {
		p.Fatalf("no way was chosen: %v", err)
	}
	return c.Local.Typ.String(), c.Remote.Typ.String(), c.Local.Protocol.String()
}

// A call comes about whichever way is left, and sound goes by it: straight, by relays of either side, over TCP to them, over IPv6, over TCP alone.
func TestWays(t *testing.T) {
	r := openRelay(t)
	for _, tt := range []struct {
		name          string
		six           bool
		server        func(*Server)
		caller        webrtc.Configuration
		engine        func(*webrtc.SettingEngine)
		offer, answer string // What the addresses hold that the other side is told.
		local, remote string // By which kinds of addresses it goes then,
		protocol      string // and over what.
	}{
		{name: "straight", local: "host", remote: "host", protocol: "udp"},
		{name: "by the caller's relay", caller: webrtc.Configuration{ICEServers: []webrtc.ICEServer{r.turn("udp")}, ICETransportPolicy: webrtc.ICETransportPolicyRelay},
			local: "relay", remote: "host", protocol: "udp"},
		{name: "by the caller's relay over TCP", caller: webrtc.Configuration{ICEServers: []webrtc.ICEServer{r.turn("tcp")}, ICETransportPolicy: webrtc.ICETransportPolicyRelay},
			local: "relay", remote: "host", protocol: "udp"},
		{name: "by the service's relay", server: func(s *Server) { s.ICE = []webrtc.ICEServer{r.turn("udp")} }, answer: "typ relay",
			local: "host", remote: "relay", protocol: "udp"},
		{name: "by the service's relay over TCP", server: func(s *Server) { s.ICE = []webrtc.ICEServer{r.turn("tcp")} }, answer: "typ relay",
			local: "host", remote: "relay", protocol: "udp"},
		{name: "by both relays", server: func(s *Server) { s.ICE = []webrtc.ICEServer{r.turn("udp")} }, answer: "typ relay", offer: "typ relay",
			caller: webrtc.Configuration{ICEServers: []webrtc.ICEServer{r.turn("udp")}, ICETransportPolicy: webrtc.ICETransportPolicyRelay},
			local:  "relay", remote: "relay", protocol: "udp"},
		{name: "by what STUN says", server: func(s *Server) { s.ICE = []webrtc.ICEServer{r.stun()} }, answer: "typ srflx", local: "host", remote: "srflx", protocol: "udp"},
		{name: "over IPv6", six: true, server: func(s *Server) { s.UDP = "[::1]:0" }, local: "host", remote: "host", protocol: "udp"},
		{name: "over TCP", server: func(s *Server) { s.TCP = "127.0.0.1:0" }, engine: func(e *webrtc.SettingEngine) {
			e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeTCP4})
		}, local: "host", remote: "host", protocol: "tcp"},
		{name: "over TCP, where UDP is not answered", server: func(s *Server) { s.TCP = "127.0.0.1:0" }, answer: " tcp ", offer: "none", engine: func(e *webrtc.SettingEngine) {
			e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeTCP4})
		}, local: "host", remote: "host", protocol: "tcp"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			engine := func(e *webrtc.SettingEngine) {
				if tt.engine != nil {
					tt.engine(e)
				}
			}
			if tt.six { // ICE does not find ::1 by itself
				conn, err := net.ListenPacket("udp6", "[::1]:0")
				if err != nil {
					t.Skip(err)
				}
				mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn, Logger: logs{slog.New(slog.DiscardHandler)}.NewLogger("ice")})
				t.Cleanup(func() { mux.Close() })
				engine = func(e *webrtc.SettingEngine) {
					e.SetICEUDPMux(mux)
					e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP6})
				}
			}
			got, heard := make(chan transport.Inbound, 1), make(chan struct{})
			var once sync.Once
			s := serve(t, Limits{}, listening(got, func(transport.Sound) { once.Do(func() { close(heard) }) }), func(s *Server) {
				if tt.server != nil {
					tt.server(s)
				}
			})
			p := newPeer(t, engine)
			if err := p.pc.SetConfiguration(tt.caller); err != nil {
				t.Fatal(err)
			}
			offer := p.offer(nil)
			a, answer := post(t, s.url, "application/sdp", only(offer, tt.offer))
			if a.StatusCode != http.StatusCreated {
				t.Fatalf("%d: %s", a.StatusCode, answer)
			}
			if len(candidates(answer, tt.answer)) == 0 {
				t.Fatalf("no address with %q in %s", tt.answer, answer)
			}
			p.accept(only(answer, tt.answer))
			p.want("session.created")
			p.want("conversation.created")
			local, remote, protocol := p.pair()
			if remote == "prflx" { // seen before it was told
				remote = tt.remote
			}
			if local != tt.local || remote != tt.remote || protocol != tt.protocol {
				t.Errorf("it goes from %s to %s over %s, want %s, %s, %s\n%s", local, remote, protocol, tt.local, tt.remote, tt.protocol, answer)
			}
			p.send(`{"type":"input_audio_buffer.clear"}`)
			if _, ok := (<-got).(transport.Clear); !ok {
				t.Error("nothing is understood")
			}
			p.say([]byte{0xf8, 0xff, 0xfe})
			select {
			case <-heard:
			case <-time.After(patience):
				t.Error("nothing is heard")
			}
		})
	}
	t.Cleanup(func() { // after all of them
		if r.relayed.Load() < 6 {
			t.Errorf("%d relays were made", r.relayed.Load())
		}
	})
}

// What callers are told of where the service is: the public addresses in place of its own, with its own port, and both families where there are both.
func TestPublic(t *testing.T) {
	for _, tt := range []struct {
		udp    string
		public []string
		want   []string // Addresses in the answer.
	}{
		{"127.0.0.1:0", nil, []string{"127.0.0.1"}},
		{"127.0.0.1:0", []string{"203.0.113.7"}, []string{"203.0.113.7"}},
		{"127.0.0.1:0", []string{"203.0.113.7", "203.0.113.8"}, []string{"203.0.113.7", "203.0.113.8"}},
		{"127.0.0.1:0", []string{"203.0.113.7", "2001:db8::7"}, []string{"203.0.113.7"}},
		{"[::1]:0", []string{"203.0.113.7", "2001:db8::7"}, []string{"2001:db8::7"}},
		{"[::1]:0", []string{"203.0.113.7"}, []string{"::1"}},
		{"127.0.0.1:0", []string{"2001:db8::7"}, []string{"127.0.0.1"}},
	} {
		s := serve(t, Limits{Setup: 100 * time.Millisecond}, listen(nil), func(s *Server) { s.UDP, s.Public, s.TCP = tt.udp, tt.public, tt.udp })
		_, port, err := net.SplitHostPort(s.Addresses()[0])
		if err != nil {
			t.Fatal(err)
		}
		_, answer := post(t, s.url, "application/sdp", newPeer(t).offer(nil))
		var got []string
		for _, c := range candidates(answer, " udp ") {
			f := strings.Fields(c)
			if f[5] != port {
				t.Errorf("%s is not at port %s", c, port)
			}
			got = append(got, f[4])
		}
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), tt.want) {
			t.Errorf("at %s, which the world knows as %v, callers are told of %v, want %v", tt.udp, tt.public, got, tt.want)
		}
		if n := len(candidates(answer, " tcp ")); n < len(tt.want) && tt.udp[0] != '[' { // ICE does not find ::1 by itself
			t.Errorf("at %s, which the world knows as %v: %d addresses of TCP in\n%s", tt.udp, tt.public, n, answer)
		}
	}
}

// lines is a log that a test reads.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A STUN or TURN server that gives no address is told of when the service starts, and calls go on without it.
func TestServersThatDoNotHelp(t *testing.T) {
	r := openRelay(t)
	wrong := r.turn("udp")
	wrong.Username = "nobody"
	deaf, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	silent := webrtc.ICEServer{URLs: []string{"stun:" + deaf.LocalAddr().String()}}
	for _, tt := range []struct {
		name string
		ice  []webrtc.ICEServer
		want []string // Servers that are told of.
	}{
		{"all of them help", []webrtc.ICEServer{r.stun(), r.turn("udp"), r.turn("tcp")}, nil},
		{"a wrong name", []webrtc.ICEServer{r.stun(), wrong}, wrong.URLs},
		{"nobody answers", []webrtc.ICEServer{silent, r.turn("udp")}, silent.URLs},
	} {
		var log lines
		s := serve(t, Limits{Gather: time.Second}, listen(nil), func(s *Server) {
			s.ICE, s.Log = tt.ice, slog.New(slog.NewTextHandler(&log, nil))
		})
		s.Server.trying.Wait()
		var told []string
		for _, m := range regexp.MustCompile(`server=(\S+)`).FindAllStringSubmatch(log.String(), -1) {
			told = append(told, strings.Trim(m[1], `"`))
		}
		if !slices.Equal(told, tt.want) {
			t.Errorf("%s: told of %q, want %q: %s", tt.name, told, tt.want, log.String())
		}
		s.call()
	}
	if r.forbidden.Load() == 0 {
		t.Error("the wrong name was not asked about")
	}
}
