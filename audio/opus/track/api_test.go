package track

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/webrtc/v4"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tap is a socket that, once it is closed, lets no events through, and takes note of when they would have left.
type tap struct {
	net.PacketConn
	mu     sync.Mutex
	closed bool
	left   []time.Time
	news   chan struct{}
}

// record is what the records of DTLS begin with that hold events; those that are longer do.
const record, longer = 23, 1000

func (t *tap) WriteTo(b []byte, to net.Addr) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed && len(b) > longer && b[0] == record {
		t.left = append(t.left, time.Now())
		select {
		case t.news <- struct{}{}:
		default:
		}
		return len(b), nil
	}
	return t.PacketConn.WriteTo(b, to)
}

// connect connects two sides that API has made, of which one has a tap, and returns a data channel of that one.
func connect(t *testing.T, c *tap) *webrtc.DataChannel {
	t.Helper()
	mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: c})
	t.Cleanup(func() { mux.Close() })
	side := func(change func(*webrtc.SettingEngine)) *webrtc.PeerConnection {
		var e webrtc.SettingEngine
		e.SetIncludeLoopbackCandidate(true)
		e.SetIPFilter(net.IP.IsLoopback)
		change(&e)
		api, err := API(e)
		if err != nil {
			t.Fatal(err)
		}
		pc, err := api.NewPeerConnection(webrtc.Configuration{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pc.GracefulClose() })
		return pc
	}
	a, b := side(func(e *webrtc.SettingEngine) { e.SetICEUDPMux(mux) }), side(func(*webrtc.SettingEngine) {})
	b.OnDataChannel(func(*webrtc.DataChannel) {}) // it is closed where nobody takes it
	channel, err := a.CreateDataChannel("events", nil)
	if err != nil {
		t.Fatal(err)
	}
	describe := func(pc *webrtc.PeerConnection, d webrtc.SessionDescription, err error) webrtc.SessionDescription {
		if err != nil {
			t.Fatal(err)
		}
		gathered := webrtc.GatheringCompletePromise(pc)
		if err := pc.SetLocalDescription(d); err != nil {
			t.Fatal(err)
		}
		<-gathered
		return *pc.LocalDescription()
	}
	opened := make(chan struct{})
	channel.OnOpen(func() { close(opened) })
	offer, err := a.CreateOffer(nil)
	if err := b.SetRemoteDescription(describe(a, offer, err)); err != nil {
		t.Fatal(err)
	}
	answer, err := b.CreateAnswer(nil)
	if err := a.SetRemoteDescription(describe(b, answer, err)); err != nil {
		t.Fatal(err)
	}
	<-opened
	return channel
}

// What is lost is sent again each second, however often it was lost: nobody waits longer and longer, as is usual.
func TestSendsAgain(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &tap{PacketConn: conn, news: make(chan struct{}, 1)}
	channel := connect(t, c)
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	if err := channel.SendText(strings.Repeat("x", longer)); err != nil {
		t.Fatal(err)
	}
	for {
		<-c.news
		c.mu.Lock()
		left := c.left
		c.mu.Unlock()
		if n := len(left); n > 5 {
			// Where the time between doubles it is 8 s by now.
			if last := left[n-1].Sub(left[n-2]); last > 4*again {
				t.Errorf("sent again after %v", last)
			}
			return
		}
	}
}
