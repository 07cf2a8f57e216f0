package twilio

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"riposte/transport"
	"riposte/transport/phone"
)

// api is Twilio's API, which fails a number of times first.
type api struct {
	fails, code int
	asked       []url.Values
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if r.Method != http.MethodPost || r.URL.Path != "/2010-04-01/Accounts/AC1/Calls/CA1.json" || user != "AC1" || password != token {
		http.Error(w, "wrong", http.StatusNotFound)
		return
	}
	_ = r.ParseForm()
	a.asked = append(a.asked, r.PostForm)
	if a.fails > 0 {
		a.fails--
		http.Error(w, `{"code":20003,"message":"no"}`, a.code)
	}
}

func (a *api) account(t *testing.T) *Account {
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return &Account{SID: "AC1", Token: token, Provider: phone.Provider{Name: "Twilio", URL: server.URL}}
}

func TestAccount(t *testing.T) {
	const head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n<Response><Dial>"
	a := &api{}
	account := a.account(t)
	for _, c := range []struct {
		to   string
		do   func(ctx context.Context) error
		want url.Values
		err  error
	}{
		{"hang up", func(ctx context.Context) error { return account.hangUp(ctx, "CA1") }, url.Values{"Status": {"completed"}}, nil},
		{"+49 (30) 123-456", nil, url.Values{"Twiml": {head + "<Number>+4930123456</Number></Dial></Response>"}}, nil},
		{"112", nil, url.Values{"Twiml": {head + "<Number>112</Number></Dial></Response>"}}, nil},
		{"sip:a<b@example.com", nil, url.Values{"Twiml": {head + "<Sip>sip:a&lt;b@example.com</Sip></Dial></Response>"}}, nil},
		{"the desk", nil, nil, errNowhere},
		{"", nil, nil, errNowhere},
		{"+", nil, nil, errNowhere},
	} {
		a.asked = nil
		do := c.do
		if do == nil {
			do = func(ctx context.Context) error { return account.transfer(ctx, "CA1", c.to) }
		}
		if err := do(t.Context()); !errors.Is(err, c.err) {
			t.Errorf("%q: %v", c.to, err)
		}
		if c.want == nil && len(a.asked) > 0 || c.want != nil && (len(a.asked) != 1 || a.asked[0].Encode() != c.want.Encode()) {
			t.Errorf("%q: it asked %v, want %v", c.to, a.asked, c.want)
		}
	}
	if err := (*Account)(nil).transfer(t.Context(), "CA1", "112"); !errors.Is(err, transport.ErrCannot) {
		t.Errorf("without an account: %v", err)
	}
}

// What fails is asked again where that may help, with what was asked, and not for ever.
func TestAccountAsksAgain(t *testing.T) {
	for _, c := range []struct {
		fails, code, asked int
		says               string
	}{
		{0, 0, 1, ""},
		{1, http.StatusServiceUnavailable, 2, ""},
		{2, http.StatusTooManyRequests, 3, ""},
		{9, http.StatusBadGateway, 3, "502"},
		{9, http.StatusUnauthorized, 1, "20003"},
	} {
		a := &api{fails: c.fails, code: c.code}
		err := a.account(t).hangUp(t.Context(), "CA1")
		if len(a.asked) != c.asked || (c.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d times %d: asked %d times, %v", c.fails, c.code, len(a.asked), err)
		}
		for _, form := range a.asked {
			if form.Get("Status") != "completed" {
				t.Errorf("it asked %v", form)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	gone := Account{Provider: phone.Provider{Name: "Twilio", URL: "http://127.0.0.1:1"}}
	if err := gone.hangUp(ctx, "CA1"); err == nil || strings.Contains(err.Error(), token) {
		t.Error(err)
	}
}
