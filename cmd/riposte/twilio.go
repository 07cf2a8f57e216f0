package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riposte/transport/phone"
	"riposte/transport/twilio"
)

// twilioSettings are those of calls that come from Twilio.
type twilioSettings struct {
	Token   string        `placeholder:"TOKEN" help:"Auth token of the account at Twilio, by which it signs its requests. Empty takes no calls from Twilio. It is never logged." group:"twilio"`
	Account string        `placeholder:"SID" help:"SID of that account (AC...), by which calls are hung up and led elsewhere through Twilio's API. Empty does neither." group:"twilio"`
	API     string        `default:"https://api.twilio.com" help:"Where Twilio's API is." group:"twilio"`
	Path    string        `default:"/twilio/voice" help:"Path that the number's webhook names (A call comes in, HTTP POST)." group:"twilio"`
	Media   string        `default:"/twilio/media" help:"Path of the media streams that Twilio opens then." group:"twilio"`
	Strict  bool          `help:"Refuse media streams that Twilio has not signed. Their tokens are checked in any case." group:"twilio"`
	Buffer  time.Duration `default:"300ms" help:"Sound that Twilio has in hand, against jitter: 20ms to 2s. What an interruption throws away." group:"twilio"`
	Say     string        `placeholder:"TEXT" help:"What Twilio says to callers before they reach the service, such as that the call is recorded." group:"twilio"`
	After   string        `placeholder:"URL" help:"Address of the TwiML that a call goes on with when the service has ended it. Empty hangs up." group:"twilio"`
	Busy    string        `placeholder:"TEXT" help:"What Twilio says to callers for whom there is no place. Empty lets them hear that the line is busy, and costs nothing." group:"twilio"`
}

// validate reports everything that is out of bounds.
func (s *twilioSettings) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Account == "" || s.Token != "", "twilio-account is set, but twilio-token is not")
	check(strings.HasPrefix(s.Path, "/") && strings.HasPrefix(s.Media, "/") && s.Path != s.Media,
		"twilio-path is %q and twilio-media %q: they must begin with / and differ", s.Path, s.Media)
	check(s.Buffer >= 20*time.Millisecond && s.Buffer <= 2*time.Second, "twilio-buffer is %v: it must be 20ms to 2s", s.Buffer)
	check(isPublic(s.API), "twilio-api is %q: it must be like https://api.twilio.com", s.API)
	check(s.After == "" || isAddress(s.After), "twilio-after is %q: it must be an address of http or https", s.After)
	return errors.Join(errs...)
}

// isAddress reports whether a text is an address that Twilio can ask.
func isAddress(text string) bool {
	return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
}

// openTwilio takes calls from Twilio, where there is a token.
func (s *service) openTwilio(p *phones) {
	set := &s.settings.Twilio
	if set.Token == "" {
		return
	}
	lines := &s.settings.Lines
	server := &twilio.Server{
		Phone: p.Server, Tickets: &p.tickets, Token: set.Token, Public: lines.public(), Proxied: lines.Proxied, Path: set.Media, Strict: set.Strict,
		Buffer: set.Buffer, Say: set.Say, After: set.After, Busy: set.Busy, Log: s.log,
	}
	if set.Account != "" {
		server.Account = &twilio.Account{SID: set.Account, Token: set.Token, Provider: phone.Provider{Name: "Twilio", URL: set.API}}
	}
	p.routes["POST "+set.Path] = http.HandlerFunc(server.Answer)
	p.routes["GET "+set.Media] = http.HandlerFunc(server.Media)
	s.log.Info("calls from Twilio", "webhook", lines.public()+set.Path, "account", set.Account)
}
