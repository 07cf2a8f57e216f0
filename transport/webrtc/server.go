package webrtc

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"

	"riposte/audio/opus"
	"riposte/audio/opus/track"
	"riposte/transport"
	"riposte/transport/realtime"
)

// Server answers the requests that make calls over WebRTC:
//
//	POST /v1/realtime/calls              an offer, for a call
//	POST /v1/realtime/calls/{id}         another offer, for a call that there is: it restarts ICE
//	POST /v1/realtime/calls/{id}/hangup  the end of one
//
// Set the exported fields, then Open it.
type Server struct {
	Calls  *realtime.Server // Says who may call, and holds the calls.
	UDP    string           // Address of the one UDP port of all calls; without a host it is on each of the machine's addresses.
	TCP    string           // Address of a TCP port for callers that UDP does not reach; empty for none.
	Public []string         // Addresses by which the world reaches this machine, where it does not know them itself.
	ICE    []webrtc.ICEServer
	Limits Limits
	Log    *slog.Logger
	Drain  <-chan struct{} // Closed when the service goes down: whoever has not connected by then will not. nil never drains.

	broken time.Duration   // Without any packet, until a connection counts as broken. Tests have less time than the usual 5 s.
	ctx    context.Context // Of all calls.
	ports  *ports
	api    *webrtc.API
	config webrtc.Configuration
	mux    http.ServeMux
	tally  tally
	trying sync.WaitGroup // What looks whether the servers for ICE help.

	waiting waiting

	mu    sync.Mutex
	calls map[string]*line
}

// Limits bounds what one caller may take. A zero field means its default.
type Limits struct {
	Depth      time.Duration // The most that a missing packet is waited for; less where none comes so late. It defaults to 40 ms, the microphone's share.
	Lead       time.Duration // Sound that is here before it is due. It defaults to 60 ms, three packets.
	Setup      time.Duration // How long a caller may take to connect. It defaults to 15 s.
	Away       time.Duration // How long a connection may be broken before the call ends. It defaults to 15 s.
	Offers     int           // Offers from one address that have not connected yet. It defaults to 4, half the places that there usually are.
	Candidates int           // Addresses (ICE candidates) that a caller's side may name at a time: each is sent some packets. It defaults to 100.
	Gather     time.Duration // How long an answer waits for addresses of STUN and TURN servers. It defaults to 3 s.
	Request    int64         // The longest offer, its session included, in bytes. It defaults to 512 KiB.
	Message    int           // The longest event of a client, in bytes. It defaults to 256 KiB, what browsers take themselves.
	Buffer     int           // Events that wait for a client that does not read, in bytes. It defaults to 1 MiB.
	Write      time.Duration // How long they may wait for room. It defaults to 5 s.
	Bitrate    int           // Of our sound, in bits a second. It defaults to 32000.
	DTX        bool          // Nothing is sent while there is nothing to be heard.
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Depth:      cmp.Or(l.Depth, 40*time.Millisecond),
		Lead:       cmp.Or(l.Lead, 60*time.Millisecond),
		Setup:      cmp.Or(l.Setup, 15*time.Second),
		Away:       cmp.Or(l.Away, 15*time.Second),
		Offers:     cmp.Or(l.Offers, 4),
		Candidates: cmp.Or(l.Candidates, 100),
		Gather:     cmp.Or(l.Gather, 3*time.Second),
		Request:    cmp.Or(l.Request, 512<<10),
		Message:    cmp.Or(l.Message, 256<<10),
		Buffer:     cmp.Or(l.Buffer, 1<<20),
		Write:      cmp.Or(l.Write, 5*time.Second),
		Bitrate:    cmp.Or(l.Bitrate, 32000),
		DTX:        l.DTX,
	}
}

// Open opens the ports. Calls end with the cause of ctx.
func (s *Server) Open(ctx context.Context) error {
	if err := opus.Check(); err != nil {
		return err
	}
	limits := s.Limits.withDefaults()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	certificate, err := webrtc.GenerateCertificate(key)
	if err != nil {
		return err
	}
	ports, err := openPorts(s.UDP, s.TCP, s.Log)
	if err != nil {
		return err
	}
	engine, err := s.engine(ports, limits)
	if err != nil {
		return errors.Join(err, ports.close())
	}
	s.ctx, s.ports, s.calls = ctx, ports, map[string]*line{}
	if s.api, err = track.API(engine); err != nil {
		return errors.Join(err, ports.close())
	}
	s.config = webrtc.Configuration{ICEServers: s.ICE, Certificates: []webrtc.Certificate{*certificate}}
	if err := s.try(); err != nil {
		return errors.Join(err, ports.close())
	}
	s.mux.HandleFunc("POST /v1/realtime/calls", s.create)
	s.mux.HandleFunc("POST /v1/realtime/calls/{id}", s.again)
	s.mux.HandleFunc("POST /v1/realtime/calls/{id}/hangup", s.hangUp)
	s.mux.Handle("POST /v1/realtime/calls/{id}/{verb}", s.Calls.Control())
	s.mux.HandleFunc("OPTIONS /v1/realtime/calls/", s.Calls.Preflight)
	s.mux.HandleFunc("OPTIONS /v1/realtime/calls", s.Calls.Preflight)
	return nil
}

// try makes a connection that nobody is at the other end of: servers for ICE that cannot be are found out now, and not by the first caller.
func (s *Server) try() error {
	pc, err := s.api.NewPeerConnection(s.config)
	if err != nil {
		return fmt.Errorf("calls over WebRTC: %w", err)
	}
	if err := pc.Close(); err != nil {
		return err
	}
	for _, server := range s.ICE {
		for _, url := range server.URLs {
			s.trying.Go(func() {
				one := webrtc.ICEServer{URLs: []string{url}, Username: server.Username, Credential: server.Credential}
				if helps, err := s.helps(one); !helps {
					s.Log.Warn("a server for ICE gives no address: callers who need it will not connect", "server", url, "err", err,
						"see", "whether it can be reached from here, and its name and password (webrtc-user, webrtc-password)")
				}
			})
		}
	}
	return nil
}

// helps looks whether a STUN server says by what address it sees this machine, or a TURN server lends one.
func (s *Server) helps(server webrtc.ICEServer) (bool, error) {
	pc, err := s.api.NewPeerConnection(webrtc.Configuration{ICEServers: []webrtc.ICEServer{server}})
	if err != nil {
		return false, err
	}
	defer pc.GracefulClose()
	found := make(chan struct{})
	var once sync.Once
	pc.OnICECandidate(func(c *webrtc.ICECandidate) {
		if c != nil && (c.Typ == webrtc.ICECandidateTypeRelay || c.Typ == webrtc.ICECandidateTypeSrflx && strings.HasPrefix(server.URLs[0], "stun")) {
			once.Do(func() { close(found) })
		}
	})
	if _, err := pc.CreateDataChannel(channelName, nil); err != nil {
		return false, err
	}
	o, err := pc.CreateOffer(nil)
	if err != nil {
		return false, err
	}
	gathered := webrtc.GatheringCompletePromise(pc)
	if err := pc.SetLocalDescription(o); err != nil {
		return false, err
	}
	late := time.NewTimer(s.Limits.withDefaults().Gather)
	defer late.Stop()
	select {
	case <-found:
		return true, nil
	case <-gathered:
	case <-late.C:
	case <-s.ctx.Done():
		return true, nil // nobody is interested any more
	}
	select {
	case <-found:
		return true, nil
	default:
		return false, nil
	}
}

// engine says how connections are made.
func (s *Server) engine(p *ports, limits Limits) (e webrtc.SettingEngine, err error) {
	e.LoggerFactory = logs{s.Log}
	e.SetICEUDPMux(p.udp)
	e.SetIncludeLoopbackCandidate(p.loopback)
	networks := []webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6}
	if p.tcp != nil {
		e.SetICETCPMux(p.tcp)
		networks = append(networks, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6)
	}
	e.SetNetworkTypes(networks)
	e.DisableActiveTCP(true)
	// A caller's side that hides its addresses is known by where its packets come from.
	e.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	broken := cmp.Or(s.broken, usualBroken)
	e.SetICETimeouts(broken, limits.Away, broken*2/5)
	e.SetFireOnTrackBeforeFirstRTP(true) // else a first packet that is none of sound would be the last one that is looked at
	e.SetSCTPMaxMessageSize(uint32(limits.Message))
	e.SetSCTPMaxReceiveBufferSize(uint32(max(1<<20, 2*limits.Message)))
	if len(s.Public) > 0 {
		err = e.SetICEAddressRewriteRules(webrtc.ICEAddressRewriteRule{External: s.Public, AsCandidateType: webrtc.ICECandidateTypeHost})
	}
	return e, err
}

// usualBroken is how long nothing at all comes, though both sides send something every 2 s, until a connection counts as broken.
const usualBroken = 5 * time.Second

// Addresses says where the UDP port is.
func (s *Server) Addresses() []string { return s.ports.addresses() }

// Close closes the ports. Calls have to have ended.
func (s *Server) Close() error {
	s.trying.Wait()
	return s.ports.close()
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// create makes a call of an offer.
func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	guest, o, err := s.enter(w, r)
	if err != nil {
		s.Calls.Refuse(w, err)
		return
	}
	connected, err := s.waiting.enter(r.RemoteAddr, s.Limits.withDefaults().Offers)
	if err != nil {
		s.Calls.Refuse(w, err)
		return
	}
	place, err := s.Calls.Admit()
	if err != nil {
		connected()
		s.Calls.Refuse(w, err)
		return
	}
	release := func() { connected(); place() }
	opening, err := s.Calls.Open(guest, cmp.Or(r.URL.Query().Get("model"), o.Model), guest.Session, o.Session)
	if err != nil {
		release()
		s.Calls.Refuse(w, err)
		return
	}
	id := "rtc_" + rand.Text()
	opening.Alias = id
	log := s.Log.With("call", opening.ID)
	l, err := newLine(s.api, s.config, s.Limits.withDefaults(), &s.tally, log)
	if err != nil {
		release()
		s.Calls.Refuse(w, err)
		return
	}
	l.awaited = o.channel
	answer, err := l.answer(r.Context(), o)
	if err == nil && !takesAudio(answer) {
		err = wrong("no_audio", "The offer's audio cannot be taken: its line m=audio has to have Opus (opus/48000/2) among its formats, and where there are more lines a=group:BUNDLE has to name its a=mid.")
	}
	if err != nil {
		l.Close()
		release()
		s.Calls.Refuse(w, err)
		return
	}
	s.keep(id, l)
	ctx, end := context.WithCancelCause(context.WithoutCancel(r.Context())) // its values are the call's as well
	stop := context.AfterFunc(s.ctx, func() { end(context.Cause(s.ctx)) })
	from, agent := r.RemoteAddr, r.UserAgent()
	go func() {
		defer release()
		defer end(nil)
		defer stop()
		defer s.forget(id)
		if err := l.ready(ctx, s.Drain); err != nil {
			log.Info("the call did not begin", "from", from, "why", err)
			l.Close()
			return
		}
		connected()
		_ = s.Calls.Converse(ctx, l, opening, "from", from, "agent", agent, "wire", l.Name())
	}()
	defer func() {
		if r.Context().Err() != nil { // whoever asked has gone, and has no answer to connect by
			l.end(transport.ErrHungUp)
		}
	}()
	w.Header().Set("Location", "/v1/realtime/calls/"+id)
	if o.object && !strings.Contains(r.Header.Get("Accept"), "application/sdp") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]string{"sdp": answer, "type": "answer", "call_id": id, "session_id": opening.ID})
		return
	}
	reply(w, http.StatusCreated, answer)
}

// again answers another offer for a call that there is.
func (s *Server) again(w http.ResponseWriter, r *http.Request) {
	_, o, err := s.enter(w, r)
	var l *line
	if err == nil {
		l, err = s.find(r)
	}
	if err != nil {
		s.Calls.Refuse(w, err)
		return
	}
	answer, err := l.answer(r.Context(), o)
	if err != nil {
		s.Calls.Refuse(w, err)
		return
	}
	reply(w, http.StatusOK, answer)
}

// hangUp ends a call.
func (s *Server) hangUp(w http.ResponseWriter, r *http.Request) {
	l, err := s.find(r)
	if err != nil {
		s.Calls.HangUp(w, r) // it may be one over another wire
		return
	}
	if _, err := s.Calls.Enter(w, r); err != nil {
		s.Calls.Refuse(w, err)
		return
	}
	l.end(transport.ErrHungUp)
	w.WriteHeader(http.StatusOK)
}

// enter lets in who may call, and reads the offer.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (guest realtime.Guest, o offer, err error) {
	if guest, err = s.Calls.Enter(w, r); err != nil {
		return guest, o, err
	}
	body, err := realtime.ReadBody(w, r, s.Limits.withDefaults().Request)
	if err != nil {
		return guest, o, err
	}
	o, err = readOffer(r.Header.Get("Content-Type"), body)
	return guest, o, err
}

// find returns the call that a request is about.
func (s *Server) find(r *http.Request) (*line, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l, ok := s.calls[r.PathValue("id")]; ok {
		return l, nil
	}
	return nil, errNoCall
}

// errNoCall refuses what is asked of a call that has ended or never was.
var errNoCall = realtime.Wrong(http.StatusNotFound, "call_not_found", "There is no such call, or none any more.")

func (s *Server) keep(id string, l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = l
}

func (s *Server) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
}

// reply answers with SDP.
func reply(w http.ResponseWriter, status int, answer string) {
	w.Header().Set("Content-Type", "application/sdp")
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, answer) // whoever asked may be gone
}
