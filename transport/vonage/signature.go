package vonage

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// signedWithin is how far Vonage's clock and ours may be apart, the way of a request included.
const signedWithin = 5 * time.Minute

// errUnsigned says that a request is none of Vonage's.
var errUnsigned = errors.New("the request is not signed by Vonage: Authorization has no token that vonage.secret, the account's signature secret, fits")

// verify finds out whether Vonage has signed a request with a body: by a token whose claims have the body's hash, where there is one.
func verify(r *http.Request, body []byte, secret string, now time.Time) error {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return errUnsigned
	}
	var claims struct {
		jwt.RegisteredClaims
		Hash string `json:"payload_hash"`
	}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithLeeway(signedWithin))
	if _, err := parser.ParseWithClaims(text, &claims, func(*jwt.Token) (any, error) { return []byte(secret), nil }); err != nil {
		return errUnsigned
	}
	if at := claims.IssuedAt; at == nil || now.Sub(at.Time).Abs() > signedWithin {
		return fmt.Errorf("the request was signed more than %v ago, or has no time: is this machine's clock right?", signedWithin)
	}
	sum := sha256.Sum256(body)
	if len(body) > 0 && subtle.ConstantTimeCompare([]byte(strings.ToLower(claims.Hash)), []byte(hex.EncodeToString(sum[:]))) != 1 {
		return errors.New("the request's body is not the one that was signed")
	}
	return nil
}
