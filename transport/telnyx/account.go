package telnyx

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"riposte/transport"
	"riposte/transport/phone"
)

// API is where Telnyx's API is.
const API = "https://api.telnyx.com"

// Account is an account of Telnyx's, by which calls are led elsewhere.
type Account struct {
	Key      string // Of its API.
	Provider phone.Provider
}

// transfer connects a caller with a number or a SIP address. Without an account that is transport.ErrCannot.
func (a *Account) transfer(ctx context.Context, call, to string) error {
	if a == nil {
		return fmt.Errorf("%w: set telnyx.key", transport.ErrCannot)
	}
	body, err := json.Marshal(map[string]string{"to": to})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Provider.URL+"/v2/calls/"+url.PathEscape(call)+"/actions/transfer", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("asking %s: %w", a.Provider.Name, err)
	}
	r.Header.Set("Authorization", "Bearer "+a.Key)
	r.Header.Set("Content-Type", "application/json")
	return a.Provider.Do(r)
}
