package mcp

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Callers name servers on hosts that are permitted, and on no others, however they write them.
func TestPermit(t *testing.T) {
	hosts := Hosts{"mcp.example.com", "*.tools.example", "127.0.0.1", "localhost", "::1"}
	if err := CheckHosts(hosts); err != nil {
		t.Fatal(err)
	}
	for address, ok := range map[string]bool{
		"https://mcp.example.com/mcp": true, "https://MCP.example.com./mcp": true, "https://a.tools.example:8443/": true, "https://a.b.tools.example": true,
		"http://127.0.0.1:9000/mcp": true, "http://[::1]:9000/": true, "http://localhost:1/": true,
		"http://mcp.example.com/": false, "https://tools.example/": false, "https://eviltools.example/": false, "https://mcp.example.com.evil.test/": false,
		"https://evil.test/?mcp.example.com": false, "https://mcp.example.com@evil.test/": false, "https://evil.test#mcp.example.com": false,
		"https://127.0.0.2/": false, "https://2130706433/": false, "https://169.254.169.254/latest": false, "https://[::ffff:127.0.0.1]/": false,
		"ftp://mcp.example.com/": false, "file:///etc/passwd": false, "//mcp.example.com/": false, "": false, "https://": false, "https:///mcp": false,
	} {
		if err := hosts.Permit(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := (Hosts)(nil).Permit("https://mcp.example.com/"); err == nil || !strings.Contains(err.Error(), "tools.hosts") {
		t.Error("nobody is permitted:", err)
	}
	for _, wrong := range []string{"https://a.example", "a.example:443", "*", "a b", "", "*.*.example", "http://127.0.0.1"} {
		if CheckHosts(Hosts{wrong}) == nil {
			t.Errorf("%q was taken for a host", wrong)
		}
	}
}

// A name that is permitted leads to no address of one's own network; an address that is permitted does.
func TestCarrier(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	get := func(hosts Hosts, host string) error {
		carrier := hosts.Carrier()
		defer carrier.CloseIdleConnections()
		r, err := (&http.Client{Transport: carrier}).Get("http://" + net.JoinHostPort(host, port))
		if err == nil {
			r.Body.Close()
		}
		return err
	}
	if err := get(Hosts{"127.0.0.1"}, "127.0.0.1"); err != nil {
		t.Error(err)
	}
	if err := get(Hosts{"other.example"}, "127.0.0.1"); err == nil || !strings.Contains(err.Error(), "no host that is permitted") {
		t.Error(err)
	}
	// The name of this machine leads to it, and is permitted as a name.
	if err := get(Hosts{"*.localhost"}, "a.localhost"); err == nil {
		t.Error("a name that leads here was followed")
	} else {
		t.Log(err)
	}
	for address, ok := range map[string]bool{
		"127.0.0.1:1": false, "10.1.2.3:1": false, "192.168.0.1:1": false, "169.254.169.254:80": false, "100.64.0.1:1": false, "0.0.0.0:1": false, "224.0.0.1:1": false,
		"[::1]:1": false, "[::ffff:10.0.0.1]:1": false, "[fd00::1]:1": false, "[fe80::1]:1": false, "[64:ff9b::a00:1]:1": false, "[2002:a00:1::]:1": false, "[::]:1": false,
		"93.184.216.34:443": true, "[2606:2800:220:1::1]:443": true,
	} {
		if err := public("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
