package remote

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ setting, base, model string }{
		{"http://gpu1:8000/v1#qwen3-8b", "http://gpu1:8000/v1/", "qwen3-8b"},
		{"https://api.example.com/v1/#org/model:7b", "https://api.example.com/v1/", "org/model:7b"},
		{"http://[::1]:9#m", "http://[::1]:9/", "m"},
	} {
		a, err := Parse(tt.setting)
		if err != nil || a.Base.String() != tt.base || a.Model != tt.model {
			t.Errorf("%s: %+v, %v", tt.setting, a, err)
		}
		if again, err := Parse(a.String()); err != nil || again.String() != a.String() {
			t.Errorf("%s is %s, which is %s: %v", tt.setting, a, again, err)
		}
	}
	for setting, want := range map[string]string{
		"http://gpu1:8000/v1":              "does not name the model",
		"http://gpu1/v1#":                  "does not name the model",
		"http://someone:secret@gpu1/v1#m":  "a key belongs into the setting",
		"ftp://gpu1/v1#m":                  "neither http nor https",
		"http:///v1#m":                     "no host",
		"https://h/v1?api-version=1#m":     "has a query",
		"http://se cret:8000/v1#m":         "cannot be read",
		"whisper-tiny.en-q8_0":             "neither http nor https",
		"http://secret:8000:\x7f/v1#model": "cannot be read",
	} {
		_, err := Parse(setting)
		if !errors.Is(err, ErrAddress) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want one about %q", setting, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("http://gpu1:8000/v1#qwen3-8b")
	f.Add("https://a:b@h/#x")
	f.Fuzz(func(t *testing.T, setting string) {
		a, err := Parse(setting)
		if err != nil {
			return
		}
		again, err := Parse(a.String())
		if err != nil || again.Base.String() != a.Base.String() {
			t.Errorf("%q became %q, which became %q: %v", setting, a, again, err)
		}
	})
}

func TestPlain(t *testing.T) {
	for setting, want := range map[string]bool{
		"http://127.0.0.1:1/v1#m": false, "http://localhost/v1#m": false, "https://gpu1/v1#m": false, "http://gpu1/v1#m": true, "http://10.0.0.1/v1#m": true,
	} {
		if a, err := Parse(setting); err != nil || a.Plain() != want {
			t.Errorf("%s: %v, %v", setting, a.Plain(), err)
		}
	}
}
