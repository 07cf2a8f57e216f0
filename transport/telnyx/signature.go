package telnyx

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// signedWithin is how far Telnyx's clock and ours may be apart, the way of a request included.
const signedWithin = 5 * time.Minute

// verify finds out whether Telnyx has signed a request with a body, and when.
func verify(r *http.Request, body []byte, key ed25519.PublicKey, now time.Time) error {
	stamp := r.Header.Get("telnyx-timestamp")
	signature, err := base64.StdEncoding.DecodeString(r.Header.Get("telnyx-signature-ed25519"))
	if err != nil || !ed25519.Verify(key, append([]byte(stamp+"|"), body...), signature) {
		return errors.New("the request is not signed by Telnyx: telnyx-signature-ed25519 does not fit telnyx.public-key")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > signedWithin {
		return fmt.Errorf("the request was signed more than %v ago, or has no time: is this machine's clock right?", signedWithin)
	}
	return nil
}

// PublicKey reads a key as Telnyx shows it: 32 bytes in base64.
func PublicKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("it must be %d bytes in base64, as Telnyx's portal shows the account's public key", ed25519.PublicKeySize)
	}
	return key, nil
}
