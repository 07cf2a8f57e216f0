// Package lossy is a bad network: it carries the packets of calls over WebRTC between callers and a service, and loses, delays and
// reorders some on purpose.
package lossy

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Network says what becomes of packets. Each way and each caller has a sequence of chances of its own, drawn by Seed, so that the n-th
// packet of a caller always fares alike. The zero value is a good network.
type Network struct {
	Loss   float64       // The part of the packets that is lost, from 0 to 1, each way.
	Delay  time.Duration // How long each is underway at least, each way,
	Jitter time.Duration // and by how much longer at most; each as long as chance has it, so that packets overtake each other.
	Outage time.Duration // How long nothing passes. After it the callers have other addresses than before, as in another network.
	From   time.Duration // When that begins, after the first packet of all.
	Seed   uint64
}

// Validate reports what cannot be.
func (n Network) Validate() error {
	var errs []error
	if n.Loss < 0 || n.Loss > 1 {
		errs = append(errs, fmt.Errorf("the loss is %v: it must be 0 to 1", n.Loss))
	}
	if n.Delay < 0 || n.Jitter < 0 || n.Outage < 0 || n.From < 0 {
		errs = append(errs, errors.New("delay, jitter and outage of a network must not be negative"))
	}
	return errors.Join(errs...)
}

// Proxy carries packets to one service, which the first answer names. It is a caller.Detour.
type Proxy struct {
	network Network
	conn    *net.UDPConn // Callers send here.
	work    sync.WaitGroup

	mu      sync.Mutex
	service netip.AddrPort
	began   time.Time
	links   map[netip.AddrPort]*link
	closed  bool
	lost    int
	carried int
}

// link is one caller's way.
type link struct {
	proxy *Proxy
	from  netip.AddrPort
	up    *lane
	down  *lane

	mu   sync.Mutex
	out  *net.UDPConn // To the service.
	late bool         // It is the one of after the outage.
}

// mostPacket is the longest that UDP carries, in bytes.
const mostPacket = 64 << 10

// Open opens a proxy on this machine's loopback. It must be closed.
func Open(n Network) (*Proxy, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("bad network: %w", err)
	}
	p := &Proxy{network: n, conn: conn, links: map[netip.AddrPort]*link{}}
	p.work.Go(p.carry)
	return p, nil
}

// Offer leaves the caller's addresses out: the service is to see only where the proxy's packets come from.
func (p *Proxy) Offer(sdp string) string {
	var b strings.Builder
	for line := range strings.Lines(sdp) {
		if !strings.HasPrefix(line, "a=candidate:") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Answer puts the proxy in the place of the service's first address, and leaves the others out. The error is that there is none that
// the proxy can reach.
func (p *Proxy) Answer(sdp string) (string, error) {
	var first string
	var service netip.AddrPort
	for line := range strings.Lines(sdp) {
		if at, ok := candidate(line); ok {
			first, service = line, at
			break
		}
	}
	if first == "" {
		return "", errors.New("bad network: the service names no UDP address of IPv4, by which packets could be led another way (see --webrtc-udp)")
	}
	p.mu.Lock()
	if !p.service.IsValid() {
		p.service = service
	}
	known := p.service
	p.mu.Unlock()
	if service != known {
		return "", fmt.Errorf("bad network: it leads to the service at %v, and the answer is of one at %v", known, service)
	}
	own := p.conn.LocalAddr().(*net.UDPAddr)
	fields := strings.Fields(first)
	fields[4], fields[5] = own.IP.String(), strconv.Itoa(own.Port)
	var b strings.Builder
	done := false
	for line := range strings.Lines(sdp) {
		switch {
		case !strings.HasPrefix(line, "a=candidate:"):
			b.WriteString(line)
		case !done:
			done = true
			b.WriteString(strings.Join(fields, " ") + "\r\n")
		}
	}
	return b.String(), nil
}

// candidate reads the address of a line such as "a=candidate:1 1 udp 2130706431 127.0.0.1 8080 typ host".
func candidate(line string) (netip.AddrPort, bool) {
	fields := strings.Fields(line)
	if !strings.HasPrefix(line, "a=candidate:") || len(fields) < 8 || !strings.EqualFold(fields[2], "udp") {
		return netip.AddrPort{}, false
	}
	at, err := netip.ParseAddrPort(net.JoinHostPort(fields[4], fields[5]))
	return at, err == nil && at.Addr().Is4()
}

// Counts returns how many packets were carried so far, and how many were lost on purpose.
func (p *Proxy) Counts() (carried, lost int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.carried, p.lost
}

// Close ends the proxy and waits until nothing of it is left.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	links := p.links
	p.links = nil
	p.mu.Unlock()
	err := p.conn.Close()
	for _, l := range links {
		l.close()
	}
	p.work.Wait()
	return err
}

// carry takes the packets of callers.
func (p *Proxy) carry() {
	b := make([]byte, mostPacket)
	for {
		n, from, err := p.conn.ReadFromUDPAddrPort(b)
		if err != nil {
			return
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if l := p.link(from); l != nil {
			l.up.take(append([]byte(nil), b[:n]...))
		}
	}
}

// link returns the way of the caller at an address, or nil where there can be none.
func (p *Proxy) link(from netip.AddrPort) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || !p.service.IsValid() {
		return nil
	}
	if p.began.IsZero() {
		p.began = time.Now()
	}
	if l, ok := p.links[from]; ok {
		return l
	}
	out, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(p.service))
	if err != nil {
		return nil
	}
	l := &link{proxy: p, from: from, out: out, late: p.network.Outage > 0 && time.Since(p.began) >= p.network.From}
	n := uint64(len(p.links))
	l.up = p.lane(2*n, l.send)
	l.down = p.lane(2*n+1, func(b []byte) { _, _ = p.conn.WriteToUDPAddrPort(b, from) })
	p.links[from] = l
	p.work.Go(func() { l.back(out) })
	return l
}

// send sends a packet to the service, from another address once the outage is over.
func (l *link) send(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.late && l.proxy.moved() {
		if out, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(l.proxy.service)); err == nil {
			l.out.Close()
			l.out, l.late = out, true
			l.proxy.work.Go(func() { l.back(out) })
		}
	}
	_, _ = l.out.Write(b) // what nobody takes is lost
}

// back takes the packets of the service.
func (l *link) back(out *net.UDPConn) {
	b := make([]byte, mostPacket)
	for {
		n, err := out.Read(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil { // else the service is not there, or not yet
			l.down.take(append([]byte(nil), b[:n]...))
		}
	}
}

func (l *link) close() {
	l.up.close()
	l.down.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out.Close()
}

// out returns whether nothing passes now.
func (p *Proxy) out() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := time.Since(p.began)
	return !p.began.IsZero() && p.network.Outage > 0 && d >= p.network.From && d < p.network.From+p.network.Outage
}

// moved returns whether the outage is over.
func (p *Proxy) moved() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.network.Outage > 0 && time.Since(p.began) >= p.network.From+p.network.Outage
}

// lane carries the packets of one caller one way.
type lane struct {
	proxy *Proxy
	send  func([]byte)
	news  chan struct{}
	gone  chan struct{}

	mu     sync.Mutex
	chance *rand.Rand
	due    parcels
	n      int
}

func (p *Proxy) lane(number uint64, send func([]byte)) *lane {
	l := &lane{proxy: p, send: send, news: make(chan struct{}, 1), gone: make(chan struct{}), chance: rand.New(rand.NewPCG(p.network.Seed, number))}
	p.work.Go(l.run)
	return l
}

// take takes a packet, which is sent when it is due, or never.
func (l *lane) take(b []byte) {
	n := l.proxy.network
	l.mu.Lock()
	lost := l.chance.Float64() < n.Loss
	late := time.Duration(l.chance.Float64() * float64(n.Jitter)) // drawn for those that are lost as well
	lost = lost || l.proxy.out()
	if !lost {
		l.n++
		heap.Push(&l.due, parcel{b, time.Now().Add(n.Delay + late), l.n})
	}
	l.mu.Unlock()
	l.proxy.count(lost)
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (p *Proxy) count(lost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if lost {
		p.lost++
	} else {
		p.carried++
	}
}

// run sends what is due until the lane is closed.
func (l *lane) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		for len(l.due) > 0 && !time.Now().Before(l.due[0].at) {
			p := heap.Pop(&l.due).(parcel)
			l.mu.Unlock()
			l.send(p.b)
			l.mu.Lock()
		}
		wait := time.Hour
		if len(l.due) > 0 {
			wait = time.Until(l.due[0].at)
		}
		l.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-timer.C:
		case <-l.news:
		case <-l.gone:
			return
		}
	}
}

func (l *lane) close() { close(l.gone) }

// parcel is a packet underway.
type parcel struct {
	b  []byte
	at time.Time // When it arrives.
	n  int       // Of those that arrive at the same time the first comes first.
}

// parcels is a heap of them.
type parcels []parcel

func (p parcels) Len() int      { return len(p) }
func (p parcels) Swap(i, j int) { p[i], p[j] = p[j], p[i] }
func (p parcels) Less(i, j int) bool {
	return cmp.Or(p[i].at.Compare(p[j].at), cmp.Compare(p[i].n, p[j].n)) < 0
}
func (p *parcels) Push(x any) { *p = append(*p, x.(parcel)) }
func (p *parcels) Pop() any {
	old := *p
	last := old[len(old)-1]
	*p = old[:len(old)-1]
	return last
}
