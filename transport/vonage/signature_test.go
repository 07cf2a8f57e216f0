package vonage

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const secret = "a signature secret"

// sign signs a request as Vonage does.
func sign(t *testing.T, r *http.Request, body, secret string, at time.Time) *http.Request {
	t.Helper()
	claims := jwt.MapClaims{"iss": "Vonage", "iat": at.Unix(), "jti": "1", "api_key": "k"}
	if body != "" {
		sum := sha256.Sum256([]byte(body))
		claims["payload_hash"] = hex.EncodeToString(sum[:])
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestSignature(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	request := func() *http.Request { return httptest.NewRequest(http.MethodPost, "/vonage/answer", nil) }
	for _, body := range []string{"", `{"from":"1"}`} {
		if err := verify(sign(t, request(), body, secret, now), []byte(body), secret, now.Add(time.Minute)); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
	basic := request()
	basic.SetBasicAuth("a", "b")
	for name, c := range map[string]struct {
		r    *http.Request
		body string
		now  time.Time
	}{
		"another body":   {sign(t, request(), "x", secret, now), "y", now},
		"no hash":        {sign(t, request(), "", secret, now), "y", now},
		"another secret": {sign(t, request(), "x", "other", now), "x", now},
		"too old":        {sign(t, request(), "x", secret, now), "x", now.Add(6 * time.Minute)},
		"of later":       {sign(t, request(), "x", secret, now), "x", now.Add(-6 * time.Minute)},
		"not signed":     {request(), "", now},
		"basic":          {basic, "", now},
	} {
		if verify(c.r, []byte(c.body), secret, c.now) == nil {
			t.Errorf("%s: it is taken", name)
		}
	}
}
