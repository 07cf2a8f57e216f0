package traces

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Access says who may see the page, which shows what callers said.
type Access string

// The kinds of access.
const (
	Local Access = "local" // Programs on this machine.
	All   Access = "all"   // Whoever reaches the service.
	Off   Access = "off"   // Nobody.
)

// forwarding are how the headers begin by which proxies tell for whom they ask. What comes from one is not local, though its address is. A
// proxy that adds none of them cannot be told from a program on this machine.
var forwarding = []string{
	"Forwarded", "X-Forwarded", "X-Real-Ip", "Via", "X-Client-Ip", "True-Client-Ip", "Client-Ip", "X-Cluster-Client-Ip", "X-Original-", "X-Proxy",
	"Proxy-", "Cf-", "Cdn-", "Fly-", "Fastly-", "X-Envoy-", "X-Amzn-", "X-Amz-Cf-", "X-Azure-", "X-Appengine-", "X-Cloud-Trace-", "X-Arr-", "X-Vercel-", "X-Nf-", "X-Akamai-",
	"Akamai-", "X-Varnish", "X-Haproxy-", "X-Traefik-", "X-Ngrok-", "X-Request-Start", "X-Scheme",
}

// refuse says why whoever asks may not see the page; nil when they may.
//
// Two checks are against pages of others in the browser of somebody who may: the name in the address bar must be one of ours,
// since an attacker's name can be made to lead to our address (DNS rebinding), and what is asked for from another site's page is refused.
func (p *Page) refuse(r *http.Request) *problem {
	switch {
	case p.Access == Off:
		return &problem{http.StatusNotFound, "off", "The page of traces is switched off. The setting trace.page=local shows it to this machine, and all to everybody."}
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return &problem{http.StatusMethodNotAllowed, "only_reads", "The page of traces only reads: ask with GET."}
	case p.Access == Local && !isLocal(r):
		return &problem{http.StatusForbidden, "not_local", "Traces hold what callers said, so they are shown to the service's own machine only. Open /traces there, " +
			"or let a port of yours lead there (ssh -L 8080:localhost:8080 HOST), or set trace.page=all to show them to whoever reaches the service."}
	case !p.isOurs(r.Host):
		return &problem{http.StatusForbidden, "unknown_host", "The traces are not shown under the name " + r.Host + ". Use the machine's address or localhost, or add the name to the setting trace.hosts " +
			"(which counts with trace.page=all)."}
	case isForeign(r):
		return &problem{http.StatusForbidden, "cross_site", "Pages of other sites may not read traces. Open /traces itself."}
	}
	return nil
}

// isLocal reports whether the request comes from this machine, and not through a proxy.
func isLocal(r *http.Request) bool {
	for name := range r.Header {
		if slices.ContainsFunc(forwarding, func(beginning string) bool { return strings.HasPrefix(name, beginning) }) {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// isOurs reports whether the name in the address bar is one under which the traces may be shown.
func (p *Page) isOurs(host string) bool {
	name := hostname(host)
	address, err := netip.ParseAddr(name)
	switch {
	case name == "localhost" || strings.HasSuffix(name, ".localhost"):
		return true
	case err == nil:
		return p.Access == All || address.Unmap().IsLoopback()
	case p.Access != All || name == "":
		return false
	}
	if own, err := os.Hostname(); err == nil && strings.EqualFold(name, own) {
		return true
	}
	return slices.ContainsFunc(p.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}

// hostname returns the name or address in a Host header, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isForeign reports whether a page of another site asks. A link from there that opens the page is none of its asking: it reads nothing.
func isForeign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		return err != nil || !strings.EqualFold(u.Host, r.Host)
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		opens := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && r.URL.Path == "/traces"
		return !opens
	}
	return false
}
