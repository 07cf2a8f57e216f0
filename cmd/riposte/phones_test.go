package main

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Each provider has its routes where there is what its requests are checked by, and none where there is not.
func TestPhoneRoutes(t *testing.T) {
	const key = "--telnyx-public-key=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
	for _, tt := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"--twilio-token=t", "--twilio-path=/in"}, []string{"GET /twilio/media", "POST /in"}},
		{[]string{key, "--phone-public=https://voice.example.com"}, []string{"GET /telnyx/media", "POST /telnyx/voice"}},
		{[]string{"--vonage-secret=s", "--phone-public=https://voice.example.com"}, []string{"GET /vonage/answer", "GET /vonage/events", "GET /vonage/media", "POST /vonage/answer", "POST /vonage/events"}},
	} {
		p, shut, err := newService(testSettings(t, tt.args...), slog.New(slog.DiscardHandler)).openPhones(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(p.routes)); !slices.Equal(got, tt.want) {
			t.Errorf("%v: %v", tt.args, got)
		}
		shut()
	}
}

func TestPhoneSettingsRefused(t *testing.T) {
	for _, tt := range []struct{ file, want string }{
		{"twilio:\n  account: AC1\n", "twilio-account is set, but twilio-token is not"},
		{"twilio:\n  token: t\n  path: /twilio/media\n", "they must begin with / and differ"},
		{"twilio:\n  buffer: 1ms\n", "twilio-buffer is 1ms: it must be 20ms to 2s"},
		{"twilio:\n  after: bye\n", "twilio-after is \"bye\": it must be an address"},
		{"vonage:\n  secert: s\n", "the nearest is \"vonage.secret\""},
		{"twilio:\n  tokem: t\n", "the nearest is \"twilio.token\""},
		{"phone:\n  public: voice.example.com\n", "phone-public is \"voice.example.com\": it must be like https://voice.example.com"},
		{"phone:\n  noise: -10\n", "phone-noise is -10"},
		{"phone:\n  waiting: 0\n", "phone-waiting is 0"},
		{"phone:\n  public: https://a.example\ntelnyx:\n  public-key: abc\n", "it must be 32 bytes in base64"},
		{"telnyx:\n  public-key: 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n", "but not phone-public"},
		{"phone:\n  public: https://a.example\nvonage:\n  secret: s\n  application: a\n", "belong together"},
	} {
		if _, err := parse(t, tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v", tt.file, err)
		}
	}
}
