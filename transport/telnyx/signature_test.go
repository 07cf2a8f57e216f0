package telnyx

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// signed returns a request as Telnyx signs it.
func signed(key ed25519.PrivateKey, body string, at time.Time) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/telnyx/voice", strings.NewReader(body))
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set("telnyx-timestamp", stamp)
	r.Header.Set("telnyx-signature-ed25519", base64.StdEncoding.EncodeToString(ed25519.Sign(key, []byte(stamp+"|"+body))))
	return r
}

func TestSignature(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := PublicKey(base64.StdEncoding.EncodeToString(public)); err != nil || !read.Equal(public) {
		t.Errorf("the key is read as %x, %v", read, err)
	}
	for _, wrong := range []string{"", "abc", base64.StdEncoding.EncodeToString(public[:31])} {
		if _, err := PublicKey(wrong); err == nil {
			t.Errorf("%q is taken for a key", wrong)
		}
	}
	now := time.Now()
	if err := verify(signed(private, "From=1&To=2", now), []byte("From=1&To=2"), public, now.Add(time.Minute)); err != nil {
		t.Error(err)
	}
	unstamped := signed(private, "x", now)
	unstamped.Header.Set("telnyx-timestamp", "")
	for name, c := range map[string]struct {
		r    *http.Request
		body string
		now  time.Time
	}{
		"another body": {signed(private, "x", now), "y", now},
		"another key":  {signed(other, "x", now), "x", now},
		"too old":      {signed(private, "x", now), "x", now.Add(6 * time.Minute)},
		"of later":     {signed(private, "x", now), "x", now.Add(-6 * time.Minute)},
		"no stamp":     {unstamped, "x", now},
		"no signature": {httptest.NewRequest(http.MethodPost, "/", nil), "", now},
	} {
		if verify(c.r, []byte(c.body), public, c.now) == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
