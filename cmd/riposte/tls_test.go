package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The certificate stays the same from start to start, until it lacks a name of the machine or is about to end.
func TestSelfSigned(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tls")
	now := time.Now()
	make := func(at time.Time, hosts ...string) *x509.Certificate {
		t.Helper()
		c, err := selfSigned(folder, hosts, at)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Leaf.CheckSignatureFrom(c.Leaf); err == nil {
			t.Error("it could sign others")
		}
		return c.Leaf
	}
	first := make(now, "localhost", "127.0.0.1", "box.example")
	for _, host := range []string{"localhost", "127.0.0.1", "box.example"} {
		if err := first.VerifyHostname(host); err != nil {
			t.Error(err)
		}
	}
	if again := make(now.Add(300*24*time.Hour), "localhost", "127.0.0.1"); !again.Equal(first) {
		t.Error("it is another one, though the first is good for a while")
	}
	wider := make(now, "localhost", "192.0.2.7")
	if wider.Equal(first) || wider.VerifyHostname("192.0.2.7") != nil {
		t.Error("it is not for the machine's new address")
	}
	if later := make(now.Add(380*24*time.Hour), "localhost"); later.Equal(wider) {
		t.Error("it is the same one, though it is about to end")
	}
	if info, err := os.Stat(filepath.Join(folder, "key.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key: %v, %v", info, err)
	}
	if err := os.WriteFile(filepath.Join(folder, "cert.pem"), []byte("no certificate"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := selfSigned(folder, nil, now); err == nil || !strings.Contains(err.Error(), "remove "+folder) {
		t.Errorf("a file that is no certificate: %v", err)
	}
}

// A browser that trusts the certificate is answered over TLS, and the log has what another one shows.
func TestServesTLS(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var log bytes.Buffer
	s := newService(testSettings(t, "--tls-self-signed"), slog.New(slog.NewTextHandler(&log, nil)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	secured, err := s.secure(listener)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })}
	go server.Serve(secured)
	defer server.Close()
	kept, err := os.ReadFile(filepath.Join(os.Getenv("XDG_STATE_HOME"), "riposte", "tls", "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(kept)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	address := s.settings.pageAt(listener.Addr())
	r, err := (&http.Client{Transport: transport}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil || string(body) != "HTTP/1.1" || !strings.HasPrefix(address, "https://127.0.0.1:") {
		t.Errorf("%s answers %q, %v", address, body, err)
	}
	if want := fingerprint(tls.Certificate{Certificate: [][]byte{r.TLS.PeerCertificates[0].Raw}}); !strings.Contains(log.String(), want) || len(want) != 95 {
		t.Errorf("the log lacks the fingerprint %s: %s", want, &log)
	}
}

func TestTLSSettings(t *testing.T) {
	for _, tt := range []struct {
		set  tlsSettings
		want string
	}{
		{tlsSettings{}, ""},
		{tlsSettings{SelfSigned: true}, ""},
		{tlsSettings{Cert: "a", Key: "b"}, ""},
		{tlsSettings{Cert: "a"}, "belong together"},
		{tlsSettings{Key: "a"}, "belong together"},
		{tlsSettings{SelfSigned: true, Cert: "a", Key: "b"}, "set one of them"},
	} {
		err := tt.set.validate()
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%+v: %v", tt.set, err)
		}
	}
	s := newService(testSettings(t, "--tls-cert=/nowhere/cert.pem", "--tls-key=/nowhere/key.pem"), slog.New(slog.DiscardHandler))
	if _, err := s.secure(nil); err == nil || !strings.Contains(err.Error(), "/nowhere/cert.pem") || !strings.Contains(err.Error(), "tls-cert") {
		t.Errorf("a certificate that there is not: %v", err)
	}
	for listener, want := range map[string]string{"127.0.0.1:8080": "http://127.0.0.1:8080/", "0.0.0.0:80": "http://localhost:80/", "[::]:8080": "http://localhost:8080/", "192.0.2.7:99": "http://192.0.2.7:99/"} {
		a, err := net.ResolveTCPAddr("tcp", listener)
		if err != nil {
			t.Fatal(err)
		}
		if got := new(settings).pageAt(a); got != want {
			t.Errorf("the page at %s is %s, want %s", listener, got, want)
		}
	}
}
