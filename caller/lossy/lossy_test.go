package lossy

import (
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const answer = "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 111\r\na=candidate:1 1 udp 2130706431 ::1 8080 typ host\r\n" +
	"a=candidate:2 1 udp 2130706431 127.0.0.1 PORT typ host ufrag x\r\na=candidate:3 1 tcp 1 127.0.0.1 9 typ host tcptype passive\r\na=end-of-candidates\r\n"

// echo is a service that sends each packet back.
func echo(t *testing.T) (*net.UDPConn, string) {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return conn, strings.Replace(answer, "PORT", port, 1)
}

// through opens a network to a service and returns a caller's socket in it.
func through(t *testing.T, n Network, sdp string) (*Proxy, *net.UDPConn) {
	t.Helper()
	p, err := Open(n)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := p.Answer(sdp)
	if err != nil {
		t.Fatal(err)
	}
	own := p.conn.LocalAddr().(*net.UDPAddr)
	if strings.Count(changed, "a=candidate:") != 1 || !strings.Contains(changed, " "+strings.Replace(own.String(), ":", " ", 1)+" typ host ufrag x\r\na=end-of-candidates") {
		t.Fatalf("the answer became %s", changed)
	}
	conn, err := net.DialUDP("udp4", nil, own)
	if err != nil {
		t.Fatal(err)
	}
	return p, conn
}

// arrivals sends packets and returns which of them the service got, in their order.
func arrivals(t *testing.T, n Network, count int) (all []byte) {
	t.Helper()
	service, sdp := echo(t)
	defer service.Close()
	p, conn := through(t, n, sdp)
	defer p.Close()
	defer conn.Close()
	for i := range count {
		if _, err := conn.Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	service.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	b := make([]byte, 10)
	for {
		n, err := service.Read(b)
		if err != nil {
			return all
		}
		all = append(all, b[:n]...)
	}
}

// The same packets are lost each time, with another seed others, and about as many as asked for.
func TestLoss(t *testing.T) {
	n := Network{Loss: 0.2, Seed: 1}
	first, again := arrivals(t, n, 200), arrivals(t, n, 200)
	if string(first) != string(again) || len(first) < 140 || len(first) > 180 {
		t.Errorf("%d and %d of 200 arrive", len(first), len(again))
	}
	n.Seed = 2
	if string(arrivals(t, n, 200)) == string(first) {
		t.Error("with another seed the same arrive")
	}
	if got := arrivals(t, Network{}, 100); len(got) != 100 {
		t.Errorf("%d of 100 pass a good network", len(got))
	}
}

// Packets are delayed, and overtake each other; there is a way back.
func TestDelay(t *testing.T) {
	service, sdp := echo(t)
	defer service.Close()
	p, conn := through(t, Network{Delay: 50 * time.Millisecond}, sdp)
	defer p.Close()
	defer conn.Close()
	began := time.Now()
	conn.Write([]byte("there"))
	b := make([]byte, 10)
	n, from, err := service.ReadFromUDP(b)
	if took := time.Since(began); err != nil || string(b[:n]) != "there" || took < 50*time.Millisecond {
		t.Fatalf("%q, %v after %v", b[:n], err, took)
	}
	service.WriteToUDP([]byte("back"), from)
	conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	n, err = conn.Read(b)
	if took := time.Since(began); err != nil || string(b[:n]) != "back" || took < 100*time.Millisecond {
		t.Fatalf("%q, %v after %v", b[:n], err, took)
	}
	got := arrivals(t, Network{Jitter: 30 * time.Millisecond, Seed: 1}, 100)
	overtaken := 0
	for i := 1; i < len(got); i++ {
		if got[i] < got[i-1] {
			overtaken++
		}
	}
	if len(got) != 100 || overtaken < 10 {
		t.Errorf("%d arrive, of which %d were overtaken", len(got), overtaken)
	}
}

// Nothing passes an outage, and after it the service sees another address.
func TestOutage(t *testing.T) {
	service, sdp := echo(t)
	defer service.Close()
	p, conn := through(t, Network{From: 100 * time.Millisecond, Outage: 200 * time.Millisecond}, sdp)
	defer p.Close()
	defer conn.Close()
	read := func() (string, string) {
		t.Helper()
		b := make([]byte, 10)
		service.SetReadDeadline(time.Now().Add(2 * time.Second))
		n, from, err := service.ReadFromUDP(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n]), from.String()
	}
	conn.Write([]byte("a"))
	_, before := read()
	time.Sleep(150 * time.Millisecond)
	conn.Write([]byte("b"))
	time.Sleep(200 * time.Millisecond)
	conn.Write([]byte("c"))
	said, after := read()
	if said != "c" || before == after {
		t.Errorf("%q came from %s, before the outage from %s", said, after, before)
	}
}

func TestWrong(t *testing.T) {
	for _, n := range []Network{{Loss: 1.5}, {Loss: -1}, {Delay: -1}, {Outage: -1}} {
		if _, err := Open(n); err == nil {
			t.Errorf("%+v is a network", n)
		}
	}
	p, err := Open(Network{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if got := p.Offer(answer); strings.Contains(got, "a=candidate") || !strings.Contains(got, "a=end-of-candidates") {
		t.Errorf("the offer became %s", got)
	}
	if _, err := p.Answer(p.Offer(answer)); err == nil {
		t.Error("an answer without an address is taken")
	}
	if _, err := p.Answer(strings.Replace(answer, "PORT", "1", 1)); err != nil {
		t.Error(err)
	}
	if _, err := p.Answer(strings.Replace(answer, "PORT", "2", 1)); err == nil {
		t.Error("another service is taken")
	}
}

// Whatever a service answers, what becomes of it names no address but the proxy's.
func FuzzAnswer(f *testing.F) {
	f.Add(strings.Replace(answer, "PORT", "8080", 1))
	f.Add("a=candidate:")
	f.Fuzz(func(t *testing.T, sdp string) {
		p, err := Open(Network{})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		got, err := p.Answer(sdp)
		if err != nil {
			return
		}
		if n := strings.Count("\n"+got, "\na=candidate:"); n != 1 || !strings.Contains(got, p.conn.LocalAddr().(*net.UDPAddr).IP.String()) {
			t.Fatalf("%q became %q", sdp, got)
		}
	})
}
