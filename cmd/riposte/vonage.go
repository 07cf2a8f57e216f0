package main

import (
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"riposte/transport/phone"
	"riposte/transport/vonage"
)

// vonageSettings are those of calls that come from Vonage.
type vonageSettings struct {
	Secret      string        `placeholder:"SECRET" help:"Signature secret of the account at Vonage, by which it signs its requests. Empty takes no calls from Vonage. It is never logged." group:"vonage"`
	Application string        `placeholder:"ID" help:"ID of the application at Vonage, by which calls are led elsewhere through Vonage's API; with vonage-private-key." group:"vonage"`
	PrivateKey  string        `placeholder:"FILE" help:"File of that application's private key, in PEM." group:"vonage"`
	API         string        `default:"https://api.nexmo.com" help:"Where Vonage's API is." group:"vonage"`
	Path        string        `default:"/vonage/answer" help:"Path that the application's answer URL names." group:"vonage"`
	Events      string        `default:"/vonage/events" help:"Path that its event URL names." group:"vonage"`
	Media       string        `default:"/vonage/media" help:"Path of the sockets that Vonage opens then." group:"vonage"`
	Rate        int           `default:"16000" enum:"8000,16000,24000" help:"Rate of the sound in hertz: 8000, 16000 or 24000." group:"vonage"`
	Buffer      time.Duration `default:"300ms" help:"Sound that Vonage has in hand, against jitter: 20ms to 2s. What an interruption throws away." group:"vonage"`
	Busy        string        `default:"All our lines are busy. Please call again later." help:"What Vonage says to callers for whom there is no place." group:"vonage"`
}

// validate reports everything that is out of bounds. public is where Vonage reaches the service.
func (s *vonageSettings) validate(public string) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(s.Secret == "" || public != "", "vonage-secret is set, but not phone-public: Vonage has to know where to open its sockets")
	check((s.Application == "") == (s.PrivateKey == ""), "vonage-application and vonage-private-key belong together: one of them is missing")
	check(s.Application == "" || s.Secret != "", "vonage-application is set, but vonage-secret is not")
	different := s.Path != s.Media && s.Path != s.Events && s.Media != s.Events
	for _, path := range []string{s.Path, s.Events, s.Media} {
		different = different && strings.HasPrefix(path, "/")
	}
	check(different, "vonage-path is %q, vonage-events %q and vonage-media %q: they must begin with / and differ", s.Path, s.Events, s.Media)
	check(s.Buffer >= 20*time.Millisecond && s.Buffer <= 2*time.Second, "vonage-buffer is %v: it must be 20ms to 2s", s.Buffer)
	check(isPublic(s.API), "vonage-api is %q: it must be like https://api.nexmo.com", s.API)
	return errors.Join(errs...)
}

// key reads the application's private key.
func (s *vonageSettings) key() (*rsa.PrivateKey, error) {
	b, err := os.ReadFile(s.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("vonage-private-key: %w", err)
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM(b)
	if err != nil {
		return nil, fmt.Errorf("vonage-private-key: %s is no private key in PEM, as Vonage's dashboard gives it: %w", s.PrivateKey, err)
	}
	return key, nil
}

// openVonage takes calls from Vonage, where there is a secret.
func (s *service) openVonage(p *phones) error {
	set := &s.settings.Vonage
	if set.Secret == "" {
		return nil
	}
	server := &vonage.Server{
		Phone: p.Server, Tickets: &p.tickets, Secret: set.Secret, Public: s.settings.Lines.socket(), Path: set.Media, Rate: set.Rate, Buffer: set.Buffer,
		Busy: set.Busy, Log: s.log,
	}
	if set.Application != "" {
		key, err := set.key()
		if err != nil {
			return err
		}
		server.Account = &vonage.Account{Application: set.Application, Key: key, Provider: phone.Provider{Name: "Vonage", URL: strings.TrimSuffix(set.API, "/")}}
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		p.routes[method+" "+set.Path] = http.HandlerFunc(server.Answer)
		p.routes[method+" "+set.Events] = http.HandlerFunc(server.Events)
	}
	p.routes["GET "+set.Media] = http.HandlerFunc(server.Media)
	s.log.Info("calls from Vonage", "answer_url", s.settings.Lines.public()+set.Path, "event_url", s.settings.Lines.public()+set.Events)
	return nil
}
