package phone

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

func TestTickets(t *testing.T) {
	var issuer, other Tickets
	now := time.Unix(1_800_000_000, 0)
	whole := Ticket{Wire: "twilio", ID: "CA1", From: "+491", To: "+492", Route: "sales"}
	issue := func(by *Tickets) string {
		text, err := by.Issue(whole, now)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	used := issue(&issuer)
	if got, err := issuer.Take(used, "twilio", now); err != nil || got != whole {
		t.Errorf("a ticket was taken as %+v, %v", got, err)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone, jwt.MapClaims{"wire": "twilio", "exp": now.Add(time.Hour).Unix()}).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	changed := issue(&issuer)
	for name, c := range map[string]struct {
		text string
		now  time.Time
		want error
	}{
		"used":                {used, now, ErrTicketUsed},
		"used, ended":         {used, now.Add(TicketLife), ErrTicketEnded},
		"ended":               {issue(&issuer), now.Add(TicketLife), ErrTicketEnded},
		"of another process":  {issue(&other), now, ErrNoTicket},
		"none":                {"", now, ErrNoTicket},
		"garbage":             {"a.b.c", now, ErrNoTicket},
		"unsigned":            {unsigned, now, ErrNoTicket},
		"changed":             {changed[:len(changed)-6] + strings.Repeat("A", 6), now, ErrNoTicket},
		"of another wire":     {func() string { s, _ := issuer.Issue(Ticket{Wire: "vonage"}, now); return s }(), now, ErrNoTicket},
		"of 64 KiB":           {strings.Repeat("x", 64<<10), now, ErrNoTicket},
		"without a signature": {strings.Join(strings.Split(issue(&issuer), ".")[:2], ".") + ".", now, ErrNoTicket},
	} {
		if _, err := issuer.Take(c.text, "twilio", c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := issuer.Take(issue(&issuer), "twilio", now.Add(2*TicketLife)); !errors.Is(err, ErrTicketEnded) {
		t.Errorf("ended: %v", err)
	}
	later := now.Add(2 * TicketLife)
	text, _ := issuer.Issue(whole, later)
	if _, err := issuer.Take(text, "twilio", later); err != nil || len(issuer.used) != 1 {
		t.Errorf("%v, and %d used tickets are kept", err, len(issuer.used))
	}
}
