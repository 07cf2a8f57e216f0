package vonage

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"riposte/transport"
	"riposte/transport/phone"
)

// API is where Vonage's API is. Europe and America have their own beside it, which it leads to.
const API = "https://api.nexmo.com"

// Account is an application of Vonage's, by which calls are led elsewhere.
type Account struct {
	Application string          // Its ID.
	Key         *rsa.PrivateKey // Its private key.
	Provider    phone.Provider
}

// transfer connects whoever is on a leg with a number. Without an account, or a leg, that is transport.ErrCannot.
func (a *Account) transfer(ctx context.Context, leg, number string) error {
	if a == nil || leg == "" {
		return fmt.Errorf("%w: set vonage.application and vonage.private-key", transport.ErrCannot)
	}
	connect := []map[string]any{{"action": "connect", "endpoint": []map[string]any{{"type": "phone", "number": number}}}}
	body, err := json.Marshal(map[string]any{"action": "transfer", "destination": map[string]any{"type": "ncco", "ncco": connect}})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, a.Provider.URL+"/v1/calls/"+url.PathEscape(leg), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking %s: %w", a.Provider.Name, err)
	}
	now := time.Now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"application_id": a.Application, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text(),
	}).SignedString(a.Key)
	if err != nil {
		return fmt.Errorf("signing for %s: %w", a.Provider.Name, err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	return a.Provider.Do(r)
}
