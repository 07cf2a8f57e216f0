package mcp

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// Hosts are those whose servers callers may name: names, such as mcp.example.com; all below one, such as *.example.com; and addresses, such
// as 127.0.0.1. A name has to lead to an address that everybody can reach: servers in a network of one's own are named by their address, or
// belong into the settings. So no caller reaches through us what only we can.
type Hosts []string

// hostName is what stands in Hosts.
var hostName = regexp.MustCompile(`^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)

// CheckHosts says what of hosts makes no sense.
func CheckHosts(hosts Hosts) error {
	for _, h := range hosts {
		if _, err := netip.ParseAddr(h); err != nil && !hostName.MatchString(h) {
			return fmt.Errorf("%q is no host: it has to be a name such as mcp.example.com, *.example.com for all below one, or an address such as 10.0.0.7, without a port", h)
		}
	}
	return nil
}

// Permit says why a server cannot be reached at an address that a caller names.
func (h Hosts) Permit(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%.200q is no address of a server: it has to begin with https:// and a host, and to have no user", address)
	}
	switch name := u.Hostname(); {
	case len(h) == 0:
		return fmt.Errorf("this service reaches no servers that its callers name: whoever runs it can permit hosts by the setting tools.hosts")
	case !h.holds(name):
		return fmt.Errorf("this service does not reach servers on %.100q: whoever runs it can permit that by the setting tools.hosts", name)
	case u.Scheme == "http" && !h.literal(name):
		return fmt.Errorf("%.200q would be reached without encryption: name it with https://", address)
	}
	return nil
}

// holds reports whether a host is among them.
func (h Hosts) holds(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for _, own := range h {
		own = strings.ToLower(own)
		if below, all := strings.CutPrefix(own, "*"); all && strings.HasSuffix(name, below) || own == name {
			return true
		}
	}
	return false
}

// literal reports whether a host is among them as an address, or as this machine itself.
func (h Hosts) literal(name string) bool {
	_, err := netip.ParseAddr(name)
	return (err == nil || strings.EqualFold(name, "localhost")) && h.holds(name)
}

// Carrier makes requests to these hosts only, and to no address that is not everybody's, whatever their names may lead to.
func (h Hosts) Carrier() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = nil // it would look names up itself
	t.MaxIdleConns, t.IdleConnTimeout = 2, 30*time.Second
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		name, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if !h.holds(name) {
			return nil, fmt.Errorf("%s is no host that is permitted", name)
		}
		d := net.Dialer{Timeout: 10 * time.Second}
		if !h.literal(name) {
			d.Control = public
		}
		return d.DialContext(ctx, network, address)
	}
	return t
}

// special are addresses that look like everybody's and are not: of shared networks, of tests and documentation, and those that hold an address
// of the other kind.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("2001::/32"),
}

// public refuses a connection to an address that not everybody reaches.
func public(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := to.Addr().Unmap()
	ok := ip.IsGlobalUnicast() && !ip.IsPrivate()
	for _, p := range special {
		ok = ok && !p.Contains(ip)
	}
	if !ok {
		return fmt.Errorf("%v is an address of a network of one's own, and not everybody's", ip)
	}
	return nil
}
