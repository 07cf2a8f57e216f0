package twilio

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"riposte/transport"
	"riposte/transport/phone"
)

// API is where Twilio's API is, in the United States: other regions have their own.
const API = "https://api.twilio.com"

// Account is an account of Twilio's, by which calls are ended and led elsewhere.
type Account struct {
	SID      string
	Token    string
	Provider phone.Provider
}

// hangUp ends a call.
func (a *Account) hangUp(ctx context.Context, call string) error {
	return a.update(ctx, call, url.Values{"Status": {"completed"}})
}

// errNowhere says that nobody can be reached by what a caller is to be led to.
var errNowhere = errors.New("is neither a number, as in +4930123456, nor a SIP address, as in sip:desk@example.com")

// number is how numbers are written: in the E.164 form, or as a country's own short ones.
var telephone = regexp.MustCompile(`^\+?[0-9]{2,15}$`)

// transfer connects a caller with a number or a SIP address. Without an account that is transport.ErrCannot.
func (a *Account) transfer(ctx context.Context, call, to string) error {
	if a == nil {
		return fmt.Errorf("%w: set twilio.account", transport.ErrCannot)
	}
	var d dial
	switch plain := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(to); {
	case strings.HasPrefix(to, "sip:"), strings.HasPrefix(to, "sips:"):
		d.SIP = to
	case telephone.MatchString(plain):
		d.Number = plain
	default:
		return fmt.Errorf("%.64q %w", to, errNowhere)
	}
	return a.update(ctx, call, url.Values{"Twiml": {twiml{Dial: &d}.String()}})
}

// update changes what becomes of a call.
func (a *Account) update(ctx context.Context, call string, form url.Values) error {
	address := fmt.Sprintf("%s/2010-04-01/Accounts/%s/Calls/%s.json", strings.TrimSuffix(a.Provider.URL, "/"), url.PathEscape(a.SID), url.PathEscape(call))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("asking %s: %w", a.Provider.Name, err)
	}
	r.SetBasicAuth(a.SID, a.Token)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return a.Provider.Do(r)
}
