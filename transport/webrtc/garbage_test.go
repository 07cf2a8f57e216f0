package webrtc

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/webrtc/v4"

	"riposte/transport"
)

// until waits for what must come to be.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(5 * ms) {
		if time.Now().After(end) {
			t.Fatalf("%s never came to be", what)
		}
	}
}

// silence is 20 ms of it, in Opus.
var silence = []byte{0xf8, 0xff, 0xfe}

// Whatever a caller's side sends beside its sound is ignored: the call goes on, what comes after is heard, and nothing is left of the rest.
func TestGarbage(t *testing.T) {
	var heard atomic.Int64
	got := make(chan transport.Inbound, 10)
	s := serve(t, Limits{}, listening(got, func(transport.Sound) { heard.Add(1) }))
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn, Logger: logs{slog.New(slog.DiscardHandler)}.NewLogger("ice")})
	defer mux.Close()
	chance := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(chance.Uint32())
		}
		return b
	}
	at := s.Addresses()[0]
	strangers := func(from net.PacketConn) {
		to, err := net.ResolveUDPAddr("udp4", at)
		if err != nil {
			t.Fatal(err)
		}
		for first := range 256 { // what each of the protocols of the port begins with
			b := noise(20 + chance.IntN(1200))
			b[0] = byte(first)
			if _, err := from.WriteTo(b, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	stranger, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	strangers(stranger) // before anybody has called
	p := s.call(func(e *webrtc.SettingEngine) { e.SetICEUDPMux(mux) })
	raw := func(h rtp.Header, payload []byte) {
		if _, err := (*p.mic.way.Load()).WriteRTP(&h, payload); err != nil {
			t.Fatal(err)
		}
	}
	good := p.mic.header
	unreadable := func() uint64 { return s.Packets().Unreadable }
	before := runtime.NumGoroutine()
	for _, tt := range []struct {
		name    string
		send    func()
		counted bool // As unreadable.
	}{
		{"numbers that nobody agreed on", func() { // first of all, when nothing is known of the track
			for n := range 200 {
				h := good
				h.PayloadType = uint8(n % 111)
				raw(h, silence)
			}
		}, true},
		{"packets that are too long", func() { // which ICE itself does not take
			for n := range 20 {
				raw(good, make([]byte, 1500+100*n))
			}
		}, false},
		{"no Opus", func() {
			for n := range 100 {
				h := good
				h.SequenceNumber, h.Timestamp = p.seq+uint16(n), p.ts+uint32(n)*960
				raw(h, append([]byte{0xff, 0xff}, noise(n)...))
			}
			p.seq, p.ts = p.seq+100, p.ts+100*960
		}, true},
		{"nothing", func() {
			for range 100 {
				raw(good, nil)
			}
		}, false},
		{"headers with everything", func() {
			for n := range 100 {
				h := good
				h.CSRC, h.Extension, h.ExtensionProfile = []uint32{1, 2, 3}, true, 0xbede
				if err := h.SetExtension(uint8(1+n%14), noise(1+n%16)); err != nil {
					t.Fatal(err)
				}
				raw(h, silence)
			}
		}, false},
		{"times and numbers by chance", func() {
			for range 500 {
				h := good
				h.SequenceNumber, h.Timestamp = uint16(chance.Uint32()), chance.Uint32()
				raw(h, silence)
			}
		}, false},
		{"other senders", func() {
			for n := range 500 {
				h := good
				h.SSRC = uint32(n)
				raw(h, silence)
			}
		}, false},
		{"reports", func() {
			out := p.pc.SCTP().Transport()
			for n := range 1000 {
				ssrc := []uint32{good.SSRC, uint32(n)}[n%2]
				_, err := out.WriteRTCP([]rtcp.Packet{
					&rtcp.ReceiverReport{SSRC: ssrc, Reports: make([]rtcp.ReceptionReport, n%31)},
					&rtcp.SenderReport{SSRC: ssrc, NTPTime: chance.Uint64(), RTPTime: chance.Uint32()},
					&rtcp.PictureLossIndication{SenderSSRC: ssrc, MediaSSRC: uint32(n)}, &rtcp.Goodbye{Sources: []uint32{ssrc}},
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}, false},
		{"datagrams by chance, from the caller's own port", func() { strangers(conn) }, false},
		{"datagrams by chance, from another port", func() { strangers(stranger) }, false},
		{"data channels", func() {
			for range 100 {
				if _, err := p.pc.CreateDataChannel("other", nil); err != nil {
					t.Fatal(err)
				}
			}
		}, false},
	} {
		counted, was := unreadable(), heard.Load()
		tt.send()
		until(t, "that sound is heard after "+tt.name, func() bool {
			p.say(silence)
			time.Sleep(5 * ms)
			return heard.Load() > was+5
		})
		if tt.counted {
			until(t, "that they are counted: "+tt.name, func() bool { return unreadable() > counted })
		}
		p.send(`{"type":"input_audio_buffer.clear"}`)
		if _, ok := (<-got).(transport.Clear); !ok {
			t.Fatalf("after %s nothing is understood", tt.name)
		}
	}
	until(t, "that nothing is left of it", func() bool { return runtime.NumGoroutine() < before+100 }) // pion looks at 25 unknown senders at a time
}

// Offers that come at once are answered one after the other, and a call that they have led astray is led back by the next one. Those that cannot
// be taken change nothing.
func TestOffersAtOnce(t *testing.T) {
	got := make(chan transport.Inbound, 1)
	s := serve(t, Limits{}, listen(got))
	p := s.call()
	understood := func(when string) {
		t.Helper()
		p.send(`{"type":"input_audio_buffer.clear"}`)
		select {
		case <-got:
		case <-time.After(patience):
			t.Fatalf("%s nothing is understood", when)
		}
	}
	again := func() string { return p.offer(&webrtc.OfferOptions{ICERestart: true}) }
	second := again()
	first := regexp.MustCompile(`a=ice-(ufrag|pwd):`).ReplaceAllString(second, "${0}other") // as another one would have it
	var all sync.WaitGroup
	answers := make([]string, 6)
	for i := range answers {
		all.Go(func() {
			a, answer := post(t, p.url, "application/sdp", []string{first, second}[i%2])
			if a.StatusCode != http.StatusOK {
				t.Errorf("%d: %s", a.StatusCode, answer)
			}
			answers[i] = answer
		})
	}
	all.Wait()
	p.accept(answers[1]) // to the second; which of them the service took last nobody knows
	a, answer := post(t, p.url, "application/sdp", again())
	if a.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", a.StatusCode, answer)
	}
	p.accept(answer)
	understood("after offers at once")

	offer := again()
	for name, bad := range map[string]string{
		"half of one":   offer[:len(offer)/2],
		"no sound":      strings.Replace(offer, "m=audio", "m=video", 1),
		"no Opus":       strings.ReplaceAll(offer, "opus/48000", "speex/48000"),
		"no name":       strings.ReplaceAll(offer, "a=ice-ufrag", "a=ice-nothing"),
		"another sort":  strings.ReplaceAll(offer, "a=setup:actpass", "a=setup:sideways"),
		"no data":       "",
		"parts swapped": strings.Replace(strings.Replace(offer, "a=mid:0", "a=mid:7", 1), "a=mid:1", "a=mid:0", 1),
	} {
		if a, answer := post(t, p.url, "application/sdp", bad); a.StatusCode >= 500 {
			t.Errorf("%s: %d %s", name, a.StatusCode, answer)
		}
	}
	if a, answer = post(t, p.url, "application/sdp", offer); a.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", a.StatusCode, answer)
	}
	p.accept(answer)
	understood("after offers that cannot be taken")
}

// A caller's side cannot have packets sent to more addresses than a network has, neither by one offer nor by many; a restart of ICE begins anew.
func TestAddresses(t *testing.T) {
	const most = 20
	got := make(chan transport.Inbound, 1)
	s := serve(t, Limits{Candidates: most, Setup: time.Second}, listen(got))
	from := 0
	with := func(offer string, more int) string {
		var b strings.Builder
		for range more {
			from++
			fmt.Fprintf(&b, "a=candidate:1 1 udp 1 127.9.%d.%d 9 typ host\r\n", from/250, 1+from%250)
		}
		return strings.Replace(offer, "a=mid:0\r\n", "a=mid:0\r\n"+b.String(), 1)
	}
	want := func(name, url, offer string, status int) string {
		t.Helper()
		a, body := post(t, url, "application/sdp", offer)
		if a.StatusCode != status || status == http.StatusBadRequest && !strings.Contains(body, "too_many_candidates") {
			t.Fatalf("%s: %d %s", name, a.StatusCode, body)
		}
		return body
	}
	first := newPeer(t).offer(nil)
	want("too many", s.url, with(first, most+1), http.StatusBadRequest)
	want("as many in all parts", s.url, strings.Replace(with(first, 1), "a=mid:1\r\n", "a=mid:1\r\na=candidate:1 1 udp 1 127.9.0.1 9 typ host\r\n", 1), http.StatusCreated)

	p := s.call()
	same := p.offer(nil)
	p.accept(want("some more", p.url, with(same, most/2), http.StatusOK))
	want("more and more", p.url, with(same, most/2), http.StatusBadRequest)
	restart := p.offer(&webrtc.OfferOptions{ICERestart: true})
	bad := strings.Replace(only(restart, "none"), "a=mid:0\r\n", "a=mid:0\r\na=candidate:1 1 udp 1 nowhere 9 typ host\r\n", 1)
	if a, body := post(t, p.url, "application/sdp", bad); a.StatusCode != http.StatusBadRequest {
		t.Fatalf("a restart that comes to nothing: %d %s", a.StatusCode, body)
	}
	want("more after that", p.url, with(same, most/2), http.StatusBadRequest)
	p.accept(want("a restart", p.url, with(restart, most/2), http.StatusOK))
	want("too many by a restart", p.url, with(strings.ReplaceAll(restart, "a=ice-ufrag:", "a=ice-ufrag:other"), most+1), http.StatusBadRequest)
	p.send(`{"type":"input_audio_buffer.clear"}`)
	<-got
}

// Whoever has not connected when the service goes down does not keep it from that.
func TestDrain(t *testing.T) {
	drain, places := make(chan struct{}), new(sync.WaitGroup)
	s := serve(t, Limits{Setup: time.Hour}, listen(nil), func(s *Server) {
		s.Drain = drain
		s.Calls.Admit = func() (func(), error) { places.Add(1); return places.Done, nil }
	})
	for range 2 {
		if a, body := post(t, s.url, "application/sdp", newPeer(t).offer(nil)); a.StatusCode != http.StatusCreated {
			t.Fatalf("%d: %s", a.StatusCode, body)
		}
	}
	close(drain)
	left := make(chan struct{})
	go func() { places.Wait(); close(left) }()
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("they are still waited for")
	}
}

// Of a call that has ended there is none, however it is asked for and while it ends as well.
func TestAfterHangUp(t *testing.T) {
	leaves := make(chan struct{})
	s := serve(t, Limits{}, func(ctx context.Context, c transport.Call) error {
		_, err := c.Receive(ctx)
		for err == nil {
			_, err = c.Receive(ctx)
		}
		<-leaves
		return err
	})
	p := s.call()
	offer := p.offer(&webrtc.OfferOptions{ICERestart: true})
	if a, body := post(t, p.url+"/hangup", "", ""); a.StatusCode != http.StatusOK {
		t.Fatalf("%d: %s", a.StatusCode, body)
	}
	for i := range 20 {
		if i == 10 {
			close(leaves)
			s.end(transport.ErrHungUp)
		}
		if a, body := post(t, p.url, "application/sdp", offer); a.StatusCode != http.StatusNotFound || !strings.Contains(body, "call_not_found") {
			t.Fatalf("offer %d: %d %s", i, a.StatusCode, body)
		}
	}
	until(t, "that there is nothing to hang up", func() bool {
		a, _ := post(t, p.url+"/hangup", "", "")
		return a.StatusCode == http.StatusNotFound
	})
}
