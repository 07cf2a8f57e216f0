package main

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riposte/transport/phone"
	"riposte/transport/telnyx"
)

// telnyxSettings are those of calls that come from Telnyx.
type telnyxSettings struct {
	PublicKey string        `placeholder:"KEY" help:"Public key of the account at Telnyx, by which it signs its requests: 32 bytes in base64. Empty takes no calls from Telnyx." group:"telnyx"`
	Key       string        `placeholder:"KEY" help:"Key of Telnyx's API, by which calls are led elsewhere. Empty does not. It is never logged." group:"telnyx"`
	API       string        `default:"https://api.telnyx.com" help:"Where Telnyx's API is." group:"telnyx"`
	Path      string        `default:"/telnyx/voice" help:"Path that the TeXML application's webhook names (by POST)." group:"telnyx"`
	Media     string        `default:"/telnyx/media" help:"Path of the media streams that Telnyx opens then." group:"telnyx"`
	Buffer    time.Duration `default:"300ms" help:"Sound that Telnyx has in hand, against jitter: 20ms to 2s. What an interruption throws away." group:"telnyx"`
}

// validate reports everything that is out of bounds. public is where Telnyx reaches the service.
func (s *telnyxSettings) validate(public string) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if s.PublicKey != "" {
		_, err := telnyx.PublicKey(s.PublicKey)
		check(err == nil, "telnyx-public-key is %q: %v", s.PublicKey, err)
		check(public != "", "telnyx-public-key is set, but not phone-public: Telnyx has to know where to open its streams")
	}
	check(s.Key == "" || s.PublicKey != "", "telnyx-key is set, but telnyx-public-key is not")
	check(strings.HasPrefix(s.Path, "/") && strings.HasPrefix(s.Media, "/") && s.Path != s.Media,
		"telnyx-path is %q and telnyx-media %q: they must begin with / and differ", s.Path, s.Media)
	check(s.Buffer >= 20*time.Millisecond && s.Buffer <= 2*time.Second, "telnyx-buffer is %v: it must be 20ms to 2s", s.Buffer)
	check(isPublic(s.API), "telnyx-api is %q: it must be like https://api.telnyx.com", s.API)
	return errors.Join(errs...)
}

// openTelnyx takes calls from Telnyx, where there is a key.
func (s *service) openTelnyx(p *phones) error {
	set := &s.settings.Telnyx
	if set.PublicKey == "" {
		return nil
	}
	key, err := telnyx.PublicKey(set.PublicKey)
	if err != nil {
		return fmt.Errorf("telnyx-public-key: %w", err)
	}
	server := &telnyx.Server{
		Phone: p.Server, Tickets: &p.tickets, Key: key, Public: s.settings.Lines.socket(), Path: set.Media, Buffer: set.Buffer, Log: s.log,
	}
	if set.Key != "" {
		server.Account = &telnyx.Account{Key: set.Key, Provider: phone.Provider{Name: "Telnyx", URL: strings.TrimSuffix(set.API, "/")}}
	}
	p.routes["POST "+set.Path] = http.HandlerFunc(server.Answer)
	p.routes["GET "+set.Media] = http.HandlerFunc(server.Media)
	s.log.Info("calls from Telnyx", "webhook", s.settings.Lines.public()+set.Path)
	return nil
}
