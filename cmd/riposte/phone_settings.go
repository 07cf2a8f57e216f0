package main

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// phoneSettings are what calls by telephone are held by.
type phoneSettings struct {
	Numbers       []string      `placeholder:"NUMBER" help:"In a route's file: the dialled numbers or extensions whose calls it takes; +4930* is all that begin so. The longest that fits counts." group:"phone"`
	Parameters    []string      `placeholder:"NAME=VALUE" help:"In a route's file: what the far side has to say of a call that it takes, such as campaign=spring. It counts before numbers." group:"phone"`
	Level         bool          `default:"true" negatable:"" help:"Bring the speech of callers by telephone who are too soft or too loud to one level before it is looked for. What is recognised and recorded stays as it came." group:"phone"`
	Strict        bool          `help:"Refuse calls to numbers that no route takes. Otherwise the default route takes them." group:"phone"`
	Transfer      []string      `placeholder:"NAME=NUMBER" help:"Whom the model may transfer callers to, by a tool transfer_call: it knows the names, and nobody else can be called. The number is whatever the line takes for one." group:"phone"`
	HangUp        bool          `help:"Let the model end calls, by a tool hang_up." group:"phone"`
	Keys          bool          `help:"Let the model press keys, by a tool press_keys." group:"phone"`
	Summary       time.Duration `default:"4s" help:"How long the model may take to write what whoever takes over a call is told, unless it has written that with the transfer; 0 has it write nothing." group:"phone"`
	Webhook       string        `placeholder:"URL" help:"Address that is told of each call at its end, of all wires: a POST of its record as JSON (docs/records.md). Empty tells nobody." group:"phone"`
	WebhookSecret string        `placeholder:"SECRET" help:"What these requests are signed with, by HMAC-SHA256, in the header Riposte-Signature. Empty signs none." group:"phone"`
	WebhookWait   time.Duration `default:"1h" help:"How long a record that cannot be delivered is tried again." group:"phone"`

	answeringSettings `embed:""`
}

// number is what phone.numbers may hold: a number or an extension, or the beginning of some.
var number = regexp.MustCompile(`^(\+?[0-9A-Za-z._-]{1,64}\*?|\*)$`)

func (s *phoneSettings) validate() error {
	var errs []error
	for _, n := range s.Numbers {
		if !number.MatchString(digitsOf(n)) {
			errs = append(errs, fmt.Errorf("phone-numbers holds %q: it must be a number such as +493012345, an extension such as 100, or the beginning of some, such as +4930*", n))
		}
	}
	if u, err := url.Parse(s.Webhook); s.Webhook != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		errs = append(errs, errors.New("phone-webhook is no address: it must begin with http:// or https:// and a host")) // it may have a password in it
	}
	if s.WebhookWait < time.Second {
		errs = append(errs, fmt.Errorf("phone-webhook-wait is %v: it must be at least 1s", s.WebhookWait))
	}
	if _, err := s.targets(); err != nil {
		errs = append(errs, err)
	}
	if s.Summary < 0 || s.Summary > 30*time.Second {
		errs = append(errs, fmt.Errorf("phone-summary is %v: it must be 0 to 30s", s.Summary))
	}
	for _, p := range s.Parameters {
		if name, value, ok := strings.Cut(p, "="); !ok || name == "" || value == "" {
			errs = append(errs, fmt.Errorf("phone-parameters holds %q: it must be NAME=VALUE, such as campaign=spring", p))
		}
	}
	return errors.Join(errs...)
}

// separators are what people write between the digits of a number.
var separators = strings.NewReplacer(" ", "", "-", "", "(", "", ")", "", "/", "", "\u00a0", "")

// digitsOf returns a number without what is only there to be read: its scheme, its host, and separators. 00 at its beginning is +.
func digitsOf(number string) string {
	number = strings.TrimSpace(number)
	for _, scheme := range []string{"sip:", "sips:", "tel:"} {
		if len(number) > len(scheme) && strings.EqualFold(number[:len(scheme)], scheme) {
			number = number[len(scheme):]
			break
		}
	}
	number, _, _ = strings.Cut(number, ";")
	number, _, _ = strings.Cut(number, "@")
	if strings.Trim(number, "+0123456789*()-/. \u00a0") == "" { // else it is a name
		number = strings.ReplaceAll(separators.Replace(number), ".", "")
	}
	if rest, ok := strings.CutPrefix(number, "00"); ok && len(rest) >= shortestAbroad {
		return "+" + rest
	}
	return number
}

// shortestAbroad is how many digits follow 00 at least where that stands for +: 001 may be an extension.
const shortestAbroad = 7
