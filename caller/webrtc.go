package caller

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"riposte/audio"
	"riposte/audio/opus"
	"riposte/audio/opus/track"
)

const (
	// channelName is what the protocol calls the data channel of its events.
	channelName = "oai-events"
	// brokenAfter is how long nothing may come, be it the checks of the connection or the server's reports of sound, until another way is
	// looked for; and goneAfter how long that is tried.
	brokenAfter, goneAfter = 3 * time.Second, 25 * time.Second
	// mendWait is how long another way may take before the next one is looked for.
	mendWait = 3 * time.Second
	// mostSDP bounds a server's answer, in bytes.
	mostSDP = 256 << 10
)

// connection is a line over WebRTC: events go by a data channel, and sound by tracks.
type connection struct {
	http   http.Client
	where  string // Offers are posted to, first of the calls and then of this one.
	key    string
	detour Detour
	log    *slog.Logger

	mux      ice.UDPMux // Of calls to ::1; nil for others.
	pc       *webrtc.PeerConnection
	channel  *webrtc.DataChannel
	mic      *webrtc.TrackLocalStaticRTP
	gathered <-chan struct{}   // Closed when the newest offer has all addresses.
	opened   chan struct{}     // Closed when the data channel is there.
	events   chan []byte       // That came.
	packets  chan track.Packet // The same.
	states   chan bool         // Whether the connection is there.
	signs    chan struct{}     // Holds something when the server has told of the microphone's sound.
	gone     chan struct{}     // Closed when the line has ended,
	why      error             // because of this.
	ctx      context.Context   // Ends with it.
	cancel   context.CancelFunc
	ending   sync.Once
	parts    sync.WaitGroup

	talking sync.Mutex // Guards what follows.
	encoder opus.Encoder
	header  rtp.Header

	jitter  jitter // Of receive, and what follows.
	decoder opus.Decoder

	counting sync.Mutex
	count    Received
}

var _ line = (*connection)(nil)

// offer opens a line over WebRTC: address takes offers.
func (c *Caller) offer(ctx context.Context, address string) (line, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	p := &connection{
		where: address, key: c.Key, detour: c.Detour, log: cmp.Or(c.Log, slog.New(slog.DiscardHandler)),
		http:   http.Client{Transport: &http.Transport{DialContext: c.DialContext, Proxy: http.ProxyFromEnvironment}},
		opened: make(chan struct{}), events: make(chan []byte, 256), packets: make(chan track.Packet, 256), states: make(chan bool, 8), signs: make(chan struct{}, 1), gone: make(chan struct{}),
		header: rtp.Header{Version: 2}, encoder: opus.Encoder{Rate: PCM.Rate()}, decoder: opus.Decoder{Rate: PCM.Rate()},
		jitter: jitter{Least: cmp.Or(c.Buffer, DefaultBuffer)},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if err := errors.Join(p.encoder.Open(), p.decoder.Open()); err != nil {
		p.cancel()
		return nil, err
	}
	if err := p.prepare(u.Hostname()); err != nil {
		p.cancel()
		return nil, errors.Join(err, p.hush())
	}
	if err := p.call(ctx); err != nil {
		p.close(false)
		return nil, err
	}
	p.parts.Go(p.mend)
	return p, nil
}

// loopback reports whether a host is this machine, by a way that leads nowhere else.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// prepare makes this side of a connection to a host, over this machine's loopback only if that is this machine.
func (p *connection) prepare(host string) error {
	near, six := loopback(host), net.ParseIP(host).Equal(net.IPv6loopback)
	var e webrtc.SettingEngine
	e.SetIncludeLoopbackCandidate(near)
	e.SetNetworkTypes([]webrtc.NetworkType{webrtc.NetworkTypeUDP4, webrtc.NetworkTypeUDP6, webrtc.NetworkTypeTCP4, webrtc.NetworkTypeTCP6}) // TCP where UDP is not answered
	if near {
		e.SetIPFilter(net.IP.IsLoopback)
	}
	if six {
		conn, err := net.ListenPacket("udp6", "[::1]:0") // which ICE does not find by itself
		if err != nil {
			return fmt.Errorf("calling ::1: %w", err)
		}
		p.mux = ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn})
		e.SetICEUDPMux(p.mux)
	}
	e.SetICETimeouts(brokenAfter, goneAfter, time.Second)
	api, err := track.API(e)
	if err != nil {
		return err
	}
	pc, err := api.NewPeerConnection(webrtc.Configuration{})
	if err != nil {
		return err
	}
	p.pc = pc
	if err := p.furnish(); err != nil {
		return errors.Join(err, pc.Close())
	}
	return nil
}

// hush closes the port of its own, where it has one.
func (p *connection) hush() error {
	if p.mux == nil {
		return nil
	}
	return p.mux.Close()
}

// furnish gives the connection its tracks and its data channel.
func (p *connection) furnish() (err error) {
	if p.mic, err = webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "microphone", "caller"); err != nil {
		return err
	}
	sender, err := p.pc.AddTrack(p.mic)
	if err != nil {
		return err
	}
	if p.channel, err = p.pc.CreateDataChannel(channelName, nil); err != nil {
		return err
	}
	p.channel.OnOpen(func() { close(p.opened) })
	p.channel.OnClose(func() { p.end(errors.New("the server hung up")) })
	p.channel.OnMessage(func(m webrtc.DataChannelMessage) {
		select {
		case p.events <- m.Data:
		case <-p.gone:
		}
	})
	p.pc.OnTrack(func(t *webrtc.TrackRemote, _ *webrtc.RTPReceiver) { p.hear(t) })
	p.pc.OnConnectionStateChange(func(s webrtc.PeerConnectionState) {
		if s == webrtc.PeerConnectionStateClosed {
			p.end(errors.New("the server closed the connection"))
		}
	})
	p.pc.OnICEConnectionStateChange(func(s webrtc.ICEConnectionState) {
		there := s == webrtc.ICEConnectionStateConnected || s == webrtc.ICEConnectionStateCompleted
		if !there && s != webrtc.ICEConnectionStateDisconnected && s != webrtc.ICEConnectionStateFailed {
			return
		}
		p.log.Debug("connection", "state", s.String())
		select {
		case p.states <- there:
		case <-p.gone:
		}
	})
	p.parts.Go(func() { p.reports(sender) })
	return nil
}

// call makes the call and waits until the server can be told something.
func (p *connection) call(ctx context.Context) error {
	if err := p.bargain(ctx, nil, http.StatusCreated); err != nil {
		return err
	}
	select {
	case <-p.opened:
		return nil
	case <-p.gone:
		return p.why
	case <-ctx.Done():
		return fmt.Errorf("the server took the call and no connection came about: %w", context.Cause(ctx))
	}
}

// bargain offers how to connect and takes the server's answer, which must have a status.
func (p *connection) bargain(ctx context.Context, options *webrtc.OfferOptions, status int) error {
	// An offer that nobody has answered cannot be taken back: it is made again as it was.
	if p.pc.SignalingState() != webrtc.SignalingStateHaveLocalOffer {
		offer, err := p.pc.CreateOffer(options)
		if err != nil {
			return err
		}
		p.gathered = webrtc.GatheringCompletePromise(p.pc)
		if err := p.pc.SetLocalDescription(offer); err != nil {
			return err
		}
	}
	select {
	case <-p.gathered:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	sdp := p.pc.LocalDescription().SDP
	if p.detour != nil {
		sdp = p.detour.Offer(sdp)
	}
	answer, err := p.post(ctx, sdp, status)
	if err == nil && p.detour != nil {
		answer, err = p.detour.Answer(answer)
	}
	if err != nil {
		return err
	}
	if err := p.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeAnswer, SDP: answer}); err != nil {
		return fmt.Errorf("%w: the answer to the offer: %w", ErrGarbage, err)
	}
	return nil
}

// post sends an offer and returns the answer to it.
func (p *connection) post(ctx context.Context, sdp string, status int) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.where, strings.NewReader(sdp))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/sdp")
	if p.key != "" {
		req.Header.Set("Authorization", "Bearer "+p.key)
	}
	resp, err := p.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusNotFound && status == http.StatusOK { // it has ended there, or the server was restarted: no way leads back
		p.end(errors.New("the server has no such call any more"))
	}
	if resp.StatusCode != status {
		return "", refusal(resp, nil)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostSDP))
	if err != nil {
		return "", err
	}
	if call, err := resp.Location(); err == nil {
		p.where = call.String()
	}
	return string(b), nil
}

// mend looks for another way when the connection breaks, as a page in a browser does, until there is one or it has taken too long. It
// breaks when its checks are not answered; and when they are, but of what the server sends by itself nothing comes: then the server
// still knows this side by an address that it does not have any more.
func (p *connection) mend() {
	there, seen := true, time.Now() // When the server has last been heard of.
	tick := time.NewTicker(brokenAfter / 6)
	defer tick.Stop()
	var tried time.Time
	for {
		select {
		case there = <-p.states:
		case <-p.signs:
			seen = time.Now()
			continue
		case <-tick.C:
		case <-p.gone:
			return
		}
		quiet := time.Since(seen)
		if quiet > goneAfter {
			p.end(errors.New("the connection was lost"))
			return
		}
		if there && quiet < brokenAfter || time.Since(tried) < mendWait {
			continue
		}
		tried = time.Now()
		p.log.Debug("looking for another way", "silent", quiet, "connected", there)
		if err := p.restart(); err != nil {
			p.log.Debug("no other way", "err", err)
		}
	}
}

// restart looks for another way once.
func (p *connection) restart() error {
	ctx, cancel := context.WithTimeout(p.ctx, mendWait)
	defer cancel()
	return p.bargain(ctx, &webrtc.OfferOptions{ICERestart: true}, http.StatusOK)
}

// hear takes the packets of the server's track until it ends.
func (p *connection) hear(t *webrtc.TrackRemote) {
	for {
		in, _, err := t.ReadRTP()
		if err != nil {
			if track.Ended(err) || p.ctx.Err() != nil {
				return
			}
			continue // about one packet
		}
		select {
		case p.packets <- track.Read(in, time.Now()):
		case <-p.gone:
			return
		}
	}
}

// reports reads what the server says of the microphone's packets: where some are lost, more is said twice.
func (p *connection) reports(sender *webrtc.RTPSender) {
	for {
		all, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		select {
		case p.signs <- struct{}{}:
		default:
		}
		for _, r := range all {
			if r, ok := r.(*rtcp.ReceiverReport); ok {
				for _, of := range r.Reports {
					p.talking.Lock()
					p.encoder.Loss(float64(of.FractionLost) / 256)
					p.talking.Unlock()
				}
			}
		}
	}
}

func (p *connection) streams() bool { return true }

func (p *connection) send(e clientEvent) error {
	b, err := json.Marshal(e)
	if err == nil {
		err = p.channel.SendText(string(b))
	}
	if err != nil {
		return fmt.Errorf("%w: sending: %w", ErrEnded, err)
	}
	return nil
}

func (p *connection) say(frame audio.PCM) error {
	p.talking.Lock()
	defer p.talking.Unlock()
	payload, err := p.encoder.Encode(frame)
	if err != nil {
		return err
	}
	err = p.mic.WriteRTP(&rtp.Packet{Header: p.header, Payload: slices.Clone(payload)})
	p.header.SequenceNumber++
	p.header.Timestamp += frameTicks
	// What a broken connection does not take is lost, as it is in any network.
	if errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("%w: sending: %w", ErrEnded, err)
	}
	return nil
}

func (p *connection) receive() (arrival, error) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if next, ok := p.jitter.step(time.Now()); ok {
			return arrival{sound: p.decode(next)}, nil
		}
		if at, ok := p.jitter.due(); ok {
			timer.Reset(time.Until(at))
		}
		select {
		case b := <-p.events:
			return arrival{event: b}, nil
		case in := <-p.packets:
			p.jitter.arrived(in)
		case <-timer.C:
		case <-p.gone:
			select {
			case b := <-p.events: // its last words
				return arrival{event: b}, nil
			default:
			}
			return arrival{}, fmt.Errorf("%w: %w", ErrEnded, p.why)
		}
	}
}

// decode makes sound of a piece.
func (p *connection) decode(next piece) *sound {
	length := audio.Duration(next.length, opus.Clock)
	var pcm audio.PCM
	var err error
	switch next.kind {
	case whole:
		pcm, err = p.decoder.Decode(next.payload)
	case recovered:
		pcm, err = p.decoder.Recover(next.payload, length)
	case concealed:
		pcm, err = p.decoder.Conceal(length)
	}
	if err != nil { // its time goes by nevertheless
		pcm = make(audio.PCM, audio.Samples(length, PCM.Rate()))
	}
	p.counting.Lock()
	p.count = p.jitter.count
	p.counting.Unlock()
	return &sound{pcm: slices.Clone(pcm), at: next.at, apart: audio.Duration(next.apart, opus.Clock), paused: next.paused}
}

// end ends the line. The first reason counts.
func (p *connection) end(why error) {
	p.ending.Do(func() { p.why = why; close(p.gone); p.cancel() })
}

func (p *connection) close(bool) {
	p.end(ErrClosed)
	if err := p.pc.GracefulClose(); err != nil {
		p.log.Debug("closing", "err", err)
	}
	if err := p.hush(); err != nil {
		p.log.Debug("closing", "err", err)
	}
	p.parts.Wait()
	p.http.CloseIdleConnections()
	p.talking.Lock()
	defer p.talking.Unlock()
	p.encoder.Close()
}

// received returns what became of the packets so far.
func (p *connection) received() Received {
	p.counting.Lock()
	defer p.counting.Unlock()
	return p.count
}
