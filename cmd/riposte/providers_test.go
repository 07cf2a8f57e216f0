package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each provider is answered where it is set up, and only there.
func TestProviders(t *testing.T) {
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pemFile, noPEM := filepath.Join(t.TempDir(), "private.pem"), filepath.Join(t.TempDir(), "no.pem")
	for file, b := range map[string][]byte{
		pemFile: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}), noPEM: []byte("no key"),
	} {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	telnyxKey := "--telnyx-public-key=" + base64.StdEncoding.EncodeToString(public)
	for _, tt := range []struct {
		args string
		want []string // Patterns.
		err  string
	}{
		{"", nil, ""},
		{"--twilio-token=t", []string{"GET /twilio/media", "POST /twilio/voice"}, ""},
		{"--phone-public=https://voice.example.com " + telnyxKey, []string{"GET /telnyx/media", "POST /telnyx/voice"}, ""},
		{
			"--phone-public=https://voice.example.com --vonage-secret=s --vonage-application=a --vonage-private-key=" + pemFile,
			[]string{"GET /vonage/answer", "GET /vonage/events", "GET /vonage/media", "POST /vonage/answer", "POST /vonage/events"}, "",
		},
		{"--phone-public=https://voice.example.com --vonage-secret=s --vonage-application=a --vonage-private-key=" + noPEM, nil, "no private key in PEM"},
		{"--phone-public=https://voice.example.com --vonage-secret=s --vonage-application=a --vonage-private-key=/no/file", nil, "vonage-private-key: open /no/file"},
	} {
		s := newService(testSettings(t, strings.Fields(tt.args)...), slog.New(slog.DiscardHandler))
		p, shut, err := s.openPhones(t.Context())
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v", tt.args, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		shut()
		if got := slices.Sorted(maps.Keys(p.routes)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q is answered", tt.args, got)
		}
	}
}

func TestProvidersRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--telnyx-public-key=abc":                              "32 bytes in base64",
		"--telnyx-key=k":                                       "telnyx-public-key is not",
		"--telnyx-path=voice":                                  "must begin with /",
		"--telnyx-buffer=3s":                                   "20ms to 2s",
		"--telnyx-api=telnyx":                                  "https://api.telnyx.com",
		"--vonage-secret=s":                                    "phone-public",
		"--vonage-application=a":                               "belong together",
		"--vonage-application=a --vonage-private-key=f":        "vonage-secret is not",
		"--vonage-media=/vonage/answer":                        "differ",
		"--vonage-rate=44100":                                  "8000",
		"--vonage-buffer=1ms":                                  "20ms to 2s",
		"--vonage-api=x":                                       "https://api.nexmo.com",
		"--telnyx-public-key=" + strings.Repeat("A", 43) + "=": "phone-public",
	} {
		if _, err := parse(t, "", strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
