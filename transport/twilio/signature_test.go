package twilio

import (
	"crypto/tls"
	"net/http/httptest"
	"net/url"
	"testing"
)

// The example of Twilio's documentation of its security.
func TestSignature(t *testing.T) {
	form := url.Values{"CallSid": {"CA1234567890ABCDE"}, "Caller": {"+14158675309"}, "Digits": {"1234"}, "From": {"+14158675309"}, "To": {"+18005551212"}}
	if got := signature("12345", "https://mycompany.com/myapp.php?foo=1&bar=2", form); got != "RSOYDt4T1cUTdK1PDd93/VVr8B8=" {
		t.Errorf("the signature is %s", got)
	}
}

func TestVerify(t *testing.T) {
	form := url.Values{"CallSid": {"CA1"}, "Twice": {"b", "a", "b"}}
	const here = "https://voice.example.com/twilio/voice?route=sales"
	for name, c := range map[string]struct {
		signature string
		ok        bool
	}{
		"right":               {signature("token", here, form), true},
		"with its port":       {signature("token", "https://voice.example.com:443/twilio/voice?route=sales", form), true},
		"with another port":   {signature("token", "https://voice.example.com:8443/twilio/voice?route=sales", form), false},
		"another token":       {signature("other", here, form), false},
		"another address":     {signature("token", "https://evil.example.com/twilio/voice?route=sales", form), false},
		"another route":       {signature("token", "https://voice.example.com/twilio/voice?route=free", form), false},
		"another form":        {signature("token", here, url.Values{"CallSid": {"CA2"}}), false},
		"none":                {"", false},
		"none, and no token":  {"RSOYDt4T1cUTdK1PDd93/VVr8B8=", false},
		"of nothing":          {signature("", "", nil), false},
		"longer than it is":   {signature("token", here, form) + "=", false},
		"not what base64 has": {"\x00", false},
	} {
		r := httptest.NewRequest("POST", "/twilio/voice?route=sales", nil)
		r.Header.Set("X-Twilio-Signature", c.signature)
		if err := verify(r, "token", here, form); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWithPort(t *testing.T) {
	for from, want := range map[string]string{
		"https://a.example/x":    "https://a.example:443/x",
		"https://a.example":      "https://a.example:443",
		"https://a.example:443?": "https://a.example?",
		"wss://a.example:443/x":  "wss://a.example/x",
		"http://a.example/x?y":   "http://a.example:80/x?y",
		"ws://a.example:80/x":    "ws://a.example/x",
		"https://a.example:8443": "https://a.example:8443",
		"https://[::1]/x":        "https://[::1]:443/x",
		"https://[::1]:443/x":    "https://[::1]/x",
	} {
		if got := withPort(from); got != want {
			t.Errorf("%s: %s, want %s", from, got, want)
		}
	}
}

// Where Twilio has sent a request a setting says, or the request; what a proxy says of it counts only where there is one.
func TestAddress(t *testing.T) {
	for name, c := range map[string]struct {
		s    Server
		tls  bool
		want string
	}{
		"set":           {Server{Public: "https://voice.example.com/base/", Proxied: true}, false, "https://voice.example.com/base/twilio/voice?route=a"},
		"as it came":    {Server{}, false, "http://inside:8080/twilio/voice?route=a"},
		"over TLS":      {Server{}, true, "https://inside:8080/twilio/voice?route=a"},
		"by a proxy":    {Server{Proxied: true}, false, "https://voice.example.com/twilio/voice?route=a"},
		"of WebSockets": {Server{Public: "wss://voice.example.com"}, false, "wss://voice.example.com/twilio/voice?route=a"},
	} {
		r := httptest.NewRequest("POST", "/twilio/voice?route=a", nil)
		r.Host = "inside:8080"
		r.Header.Set("X-Forwarded-Proto", "https")
		r.Header.Set("X-Forwarded-Host", "voice.example.com, inner.example.com")
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		if got := c.s.address(r); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
