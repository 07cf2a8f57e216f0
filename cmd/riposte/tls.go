package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tlsSettings say how the service proves to browsers who it is.
type tlsSettings struct {
	SelfSigned bool   `help:"Speak TLS with a certificate of the service's own, for this machine's names and addresses; it is kept in $XDG_STATE_HOME/riposte/tls or ~/.local/state/riposte/tls, and its fingerprint is logged. Browsers warn of it once." group:"tls"`
	Cert       string `placeholder:"FILE" help:"Speak TLS with this certificate, in PEM, its chain behind it." group:"tls"`
	Key        string `placeholder:"FILE" help:"Key of that certificate, in PEM." group:"tls"`
}

// wanted reports whether TLS is spoken.
func (t *tlsSettings) wanted() bool { return t.SelfSigned || t.Cert != "" }

// validate reports everything that does not fit together.
func (t *tlsSettings) validate() error {
	switch {
	case t.SelfSigned && (t.Cert != "" || t.Key != ""):
		return errors.New("tls-self-signed makes a certificate, and tls-cert names one: set one of them")
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("tls-cert and tls-key belong together: set both, or none")
	}
	return nil
}

// secure returns the listener, speaking TLS if the settings want that. hosts are names and addresses that a certificate of our own is to have
// besides this machine's.
func (s *service) secure(listener net.Listener, hosts ...string) (net.Listener, error) {
	set := &s.settings.TLS
	var certificate tls.Certificate
	var err error
	switch {
	case set.SelfSigned:
		var folder string
		if folder, err = stateFolder(); err == nil {
			certificate, err = selfSigned(filepath.Join(folder, "tls"), slices.Concat(ownHosts(), hosts), time.Now())
		}
	case set.Cert != "":
		certificate, err = tls.LoadX509KeyPair(set.Cert, set.Key)
	default:
		return listener, nil
	}
	if err != nil {
		return nil, fmt.Errorf("TLS: %w (see tls-cert, tls-key and tls-self-signed)", err)
	}
	s.log.Info("TLS", "fingerprint", fingerprint(certificate), "names", strings.Join(hostsOf(certificate.Leaf), " "), "until", certificate.Leaf.NotAfter.Format(time.DateOnly))
	// HTTP/2 has no upgrade to WebSocket.
	return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// fingerprint returns the SHA-256 of a certificate, as browsers show it.
func fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	var parts []string
	for _, b := range sum {
		parts = append(parts, strings.ToUpper(hex.EncodeToString([]byte{b})))
	}
	return strings.Join(parts, ":")
}

// Browsers take no certificate for longer than 398 days.
const (
	selfSignedFor = 397 * 24 * time.Hour
	renewedBefore = 30 * 24 * time.Hour
)

// selfSigned returns the certificate that the folder keeps, if it is for all hosts and still good for a while; else a new one, which the folder
// keeps from then on.
func selfSigned(folder string, hosts []string, now time.Time) (tls.Certificate, error) {
	certFile, keyFile := filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	kept, err := tls.LoadX509KeyPair(certFile, keyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return kept, fmt.Errorf("%w (remove %s, and another one is made)", err, folder)
	case now.Add(renewedBefore).Before(kept.Leaf.NotAfter) && covers(kept.Leaf, hosts):
		return kept, nil
	}
	cert, key, err := newCertificate(hosts, now)
	if err != nil {
		return kept, err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return kept, err
	}
	if err := os.Remove(certFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept, err // beside another key it would be an error from then on
	}
	if err := errors.Join(os.WriteFile(keyFile, key, 0o600), os.WriteFile(certFile, cert, 0o644)); err != nil {
		return kept, err
	}
	return tls.X509KeyPair(cert, key)
}

// newCertificate returns a new certificate for hosts and its key, in PEM.
func newCertificate(hosts []string, now time.Time) (cert, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Riposte"}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(selfSignedFor),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			c.IPAddresses = append(c.IPAddresses, ip)
		} else {
			c.DNSNames = append(c.DNSNames, h)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}

// covers reports whether a certificate is for all of the hosts.
func covers(c *x509.Certificate, hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(h string) bool { return c.VerifyHostname(h) != nil })
}

// hostsOf returns what a certificate is for.
func hostsOf(c *x509.Certificate) []string {
	all := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

// ownHosts returns this machine's names and addresses.
func ownHosts() []string {
	all := []string{"localhost", "127.0.0.1", "::1"}
	if name, err := os.Hostname(); err == nil && isHostname(name) && name != "localhost" {
		all = append(all, strings.ToLower(name))
	}
	addresses, _ := net.InterfaceAddrs() // without them it is for localhost
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			all = append(all, n.IP.String())
		}
	}
	return all
}

// isHostname reports whether a certificate can be for the name.
func isHostname(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
