package webrtc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"riposte/transport"
	"riposte/transport/realtime"
)

// channelName is what the protocol calls the data channel of its events.
const channelName = "oai-events"

// line is one caller's connection: a realtime.Line with tracks.
type line struct {
	pc     *webrtc.PeerConnection
	limits Limits
	log    *slog.Logger

	in      chan realtime.Incoming
	gone    chan struct{} // Closed when the line has ended,
	why     error         // because of this.
	ending  sync.Once
	bargain chan struct{} // Full while an offer is answered.
	named   []string      // Addresses that the caller's side has named since ICE was restarted. For take.

	mu     sync.Mutex
	closed bool // No part begins any more.
	parts  sync.WaitGroup

	connected, opened chan struct{} // Closed when the connection is there, and the data channel.
	connecting, open  sync.Once
	channel           atomic.Pointer[webrtc.DataChannel] // nil while there is none.
	awaited           bool                               // The offer has a data channel.
	low               chan struct{}                      // Holds something when less is buffered than was.

	ear     *ear
	heard   atomic.Bool // The caller has a track that is listened to.
	speaker *speaker
}

var (
	_ realtime.Line   = (*line)(nil)
	_ realtime.Tracks = (*line)(nil)
)

// newLine returns a line that has not been offered anything yet.
func newLine(api *webrtc.API, config webrtc.Configuration, limits Limits, t *tally, log *slog.Logger) (*line, error) {
	pc, err := api.NewPeerConnection(config)
	if err != nil {
		return nil, err
	}
	l := &line{
		pc: pc, limits: limits, log: log, in: make(chan realtime.Incoming), gone: make(chan struct{}),
		bargain: make(chan struct{}, 1), connected: make(chan struct{}), opened: make(chan struct{}), low: make(chan struct{}, 1),
	}
	track, err := webrtc.NewTrackLocalStaticRTP(webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus}, "voice", "riposte")
	if err != nil {
		return nil, errors.Join(err, pc.Close())
	}
	sender, err := pc.AddTrack(track)
	if err != nil {
		return nil, errors.Join(err, pc.Close())
	}
	l.speaker = newSpeaker(limits.Bitrate, limits.DTX, l.gone, track.WriteRTP)
	l.ear = newEar(limits.Depth, log, t, l.gone, l.hear)
	pc.OnConnectionStateChange(l.changed)
	pc.OnDataChannel(l.offered)
	pc.OnTrack(l.tracked)
	l.spawn(func() { l.reports(sender) })
	l.run(l.speaker.run)
	l.run(l.ear.run)
	return l, nil
}

// spawn runs a part of the line, unless that is being closed.
func (l *line) spawn(part func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.parts.Go(part)
	}
}

// run runs a part of the line. If the part fails, the line does.
func (l *line) run(part func() error) {
	l.spawn(func() {
		if err := part(); err != nil {
			l.end(err)
		}
	})
}

// end ends the line. The first reason counts.
func (l *line) end(why error) {
	l.ending.Do(func() { l.why = why; close(l.gone) })
}

// changed takes note of what becomes of the connection.
func (l *line) changed(s webrtc.PeerConnectionState) {
	l.log.Debug("connection", "state", s.String())
	switch s {
	case webrtc.PeerConnectionStateConnected:
		l.connecting.Do(func() { close(l.connected) })
		l.ear.broken(false)
	case webrtc.PeerConnectionStateDisconnected:
		l.ear.broken(true)
	case webrtc.PeerConnectionStateFailed:
		l.end(transport.ErrLost)
	case webrtc.PeerConnectionStateClosed:
		l.end(transport.ErrHungUp)
	}
}

// offered takes the data channel of events. Others have nothing to carry here.
func (l *line) offered(c *webrtc.DataChannel) {
	if c.Label() != channelName || !l.channel.CompareAndSwap(nil, c) {
		l.log.Debug("a data channel that is not ours", "label", c.Label())
		c.OnOpen(func() { _ = c.Close() })
		return
	}
	c.SetBufferedAmountLowThreshold(uint64(l.limits.Buffer / 2))
	c.OnBufferedAmountLow(func() {
		select {
		case l.low <- struct{}{}:
		default:
		}
	})
	c.OnOpen(func() { l.open.Do(func() { close(l.opened) }) })
	c.OnMessage(func(m webrtc.DataChannelMessage) {
		if len(m.Data) > l.limits.Message {
			l.tooBig()
			return
		}
		in := realtime.Incoming{Event: m.Data, At: time.Now()}
		if !m.IsString {
			in.Event = nil
		}
		l.give(in)
	})
	c.OnError(func(err error) {
		if errors.Is(err, io.ErrShortBuffer) {
			l.tooBig()
		}
	})
	c.OnClose(func() { l.end(transport.ErrHungUp) })
}

// tooBig ends a call whose client sent more in one message than it was told that it may.
func (l *line) tooBig() {
	l.end(fmt.Errorf("%w: more than %d bytes", realtime.ErrTooBig, l.limits.Message))
}

// give hands on what came. Nobody taking it slows down the caller's side, by the windows of the data channel.
func (l *line) give(in realtime.Incoming) bool {
	select {
	case l.in <- in:
		return true
	case <-l.gone:
		return false
	}
}

// hear hands on a piece of the caller's sound.
func (l *line) hear(s transport.Sound) bool { return l.give(realtime.Incoming{Other: s, At: s.At}) }

// tracked listens to the caller's first track of sound.
func (l *line) tracked(t *webrtc.TrackRemote, r *webrtc.RTPReceiver) {
	if t.Kind() != webrtc.RTPCodecTypeAudio || l.heard.Swap(true) {
		l.log.Debug("a track that is not listened to", "kind", t.Kind().String())
		return
	}
	l.spawn(func() {
		l.ear.read(func() (*rtp.Packet, error) { p, _, err := t.ReadRTP(); return p, err })
	})
	l.spawn(func() {
		for { // what is read passes pion's own, which answers it
			if _, _, err := r.ReadRTCP(); err != nil {
				return
			}
		}
	})
}

// reports reads what the caller's side says of our packets.
func (l *line) reports(sender *webrtc.RTPSender) {
	for {
		all, _, err := sender.ReadRTCP()
		if err != nil {
			return
		}
		for _, p := range all {
			if r, ok := p.(*rtcp.ReceiverReport); ok {
				for _, of := range r.Reports {
					l.speaker.report(of.FractionLost)
				}
			}
		}
	}
}

// answer takes an offer, the first one or one that restarts ICE, and returns the answer, with all addresses that could be found within
// the limit. Offers that come at once are answered one after the other; the last one holds.
func (l *line) answer(ctx context.Context, o offer) (string, error) {
	select {
	case l.bargain <- struct{}{}:
		defer func() { <-l.bargain }()
	case <-l.gone:
		return "", errNoCall
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	answer, err := l.take(ctx, o)
	select {
	case <-l.gone: // whatever went wrong with the offer comes of that
		return "", errNoCall
	default:
	}
	return answer, err
}

// take answers an offer.
func (l *line) take(ctx context.Context, o offer) (_ string, err error) {
	defer func() {
		if err != nil && l.pc.SignalingState() == webrtc.SignalingStateHaveRemoteOffer {
			l.settle()
		}
	}()
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(l.named, o.addresses))))
	named := o.addresses
	if now, err := l.pc.SCTP().Transport().ICETransport().GetRemoteParameters(); err == nil && now == o.ice { // no restart: they come to the others
		named = all
	}
	if len(named) > l.limits.Candidates {
		return "", wrong("too_many_candidates", "The caller's side names %d addresses (a=candidate) by now; it may name %d. Leave out those of networks that do not lead here, or restart ICE.",
			len(named), l.limits.Candidates)
	}
	l.named = all // unless a restart comes about
	if err := l.pc.SetRemoteDescription(webrtc.SessionDescription{Type: webrtc.SDPTypeOffer, SDP: o.SDP}); err != nil {
		return "", wrong("invalid_sdp", "The offer cannot be taken: %.200v.", err)
	}
	l.named = named
	answer, err := l.pc.CreateAnswer(nil)
	if err != nil {
		return "", wrong("invalid_sdp", "The offer cannot be answered: %.200v.", err)
	}
	gathered := webrtc.GatheringCompletePromise(l.pc)
	if err := l.pc.SetLocalDescription(answer); err != nil {
		return "", wrong("invalid_sdp", "The offer cannot be answered: %.200v.", err)
	}
	late := time.NewTimer(l.limits.Gather)
	defer late.Stop()
	select {
	case <-gathered:
	case <-late.C:
	case <-l.gone:
		return "", errNoCall
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	return l.pc.LocalDescription().SDP, nil
}

// settle ends what an offer has begun that was not answered: it would be in the way of the next one, and nothing takes it back.
func (l *line) settle() {
	answer, err := l.pc.CreateAnswer(nil)
	if err == nil {
		err = l.pc.SetLocalDescription(answer)
	}
	if err != nil {
		l.log.Debug("no other offer can be taken", "err", err)
	}
}

// ready waits until the caller can talk and be told of it, unless the service goes down before that.
func (l *line) ready(ctx context.Context, drain <-chan struct{}) error {
	late := time.NewTimer(l.limits.Setup)
	defer late.Stop()
	needed := []<-chan struct{}{l.connected}
	if l.awaited {
		needed = append(needed, l.opened)
	}
	for _, n := range needed {
		select {
		case <-n:
		case <-late.C:
			return errSetup
		case <-l.gone:
			return l.why
		case <-drain:
			return transport.ErrShutdown
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// errSetup says that a caller who was answered never came.
var errSetup = errors.New("the caller's side did not connect in time")

// Name is what the wire is called in traces.
func (l *line) Name() string { return "webrtc" }

// Receive returns the next event, or piece of sound.
func (l *line) Receive() (realtime.Incoming, error) {
	select {
	case in := <-l.in:
		return in, nil
	case <-l.gone:
		if l.why == nil {
			return realtime.Incoming{}, transport.ErrHungUp
		}
		return realtime.Incoming{}, l.why
	}
}

// Send sends one event, once there is room for it. A caller without a data channel is told nothing.
func (l *line) Send(event []byte) error {
	c := l.channel.Load()
	if c == nil {
		return nil
	}
	if most := l.pc.SCTP().GetCapabilities().MaxMessageSize; most > 0 && len(event) > int(most) {
		event = replaced(event, int(most))
	}
	late := time.NewTimer(l.limits.Write)
	defer late.Stop()
	for n := c.BufferedAmount(); n > 0 && n+uint64(len(event)) > uint64(l.limits.Buffer); n = c.BufferedAmount() {
		select {
		case <-l.low:
		case <-l.gone:
			return transport.ErrHungUp
		case <-late.C:
			l.end(transport.ErrSlowReader)
			return transport.ErrSlowReader
		}
	}
	if err := c.SendText(string(event)); err != nil {
		return transport.ErrHungUp
	}
	return nil
}

// replaced says in place of an event that it is longer than the client can take. Events are not split: no client would put them together.
func replaced(event []byte, most int) []byte {
	var head struct {
		Type string `json:"type"`
		ID   string `json:"event_id"`
	}
	_ = json.Unmarshal(event, &head) // it is our own
	b, _ := json.Marshal(map[string]any{"type": "error", "event_id": head.ID, "error": map[string]any{
		"type": "server_error", "code": "event_too_big", "param": nil, "event_id": nil,
		"message": fmt.Sprintf("%.64s has %d bytes, and this client takes %d (a=max-message-size of its offer). It was not sent.", head.Type, len(event), most),
	}})
	return b
}

// Play takes the sound of answers.
func (l *line) Play(ctx context.Context, out transport.Outbound) error {
	return l.speaker.take(ctx, out)
}

// Playback says what becomes of it.
func (l *line) Playback() <-chan realtime.Playback { return l.speaker.said }

// Lead is small: sound leaves when it is due, and what is here before is what an interruption throws away.
func (l *line) Lead() time.Duration { return l.limits.Lead }

// Goodbye waits a little until the client has all that it was sent. What the reason is it has read there.
func (l *line) Goodbye(error) {
	c := l.channel.Load()
	if c == nil {
		return
	}
	for end := time.Now().Add(lastWords); c.BufferedAmount() > 0 && time.Now().Before(end); {
		select {
		case <-l.gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// lastWords is how long the end of a call may wait for its last events.
const lastWords = time.Second

// Close ends the connection, and waits until nothing of it is left.
func (l *line) Close() {
	l.end(nil)
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	if err := l.pc.GracefulClose(); err != nil {
		l.log.Debug("closing", "err", err)
	}
	l.parts.Wait()
}
