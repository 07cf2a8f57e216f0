package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"riposte/transport/phone"
)

// numbered returns a service with routes of these files.
func numbered(t *testing.T, service string, files map[string]string) (*service, error) {
	t.Helper()
	folder := t.TempDir()
	var args []string
	for name, text := range files {
		path := filepath.Join(folder, name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--routes="+name+"="+path)
	}
	s, err := parse(t, service, args...)
	if err != nil {
		return nil, err
	}
	routes, err := s.openRoutes()
	if err != nil {
		return nil, err
	}
	d, err := switchboardOf(routes)
	return newServiceOf(s, routes, d), err
}

func newServiceOf(s *settings, routes map[string]*route, d switchboard) *service {
	return &service{settings: s, routes: routes, board: d}
}

// The longest number that fits decides, what the far side says of the call goes before it, and the route that it asks for before both.
func TestRouteByNumber(t *testing.T) {
	files := map[string]string{
		"berlin": "phone:\n  numbers: [+4930*, \"100\"]\ntalk:\n  greeting: Berlin.\n",
		"desk":   "phone:\n  numbers: [+49 (30) 1234-5]\n",
		"mitte":  "phone:\n  numbers: [+49301*]\n  parameters: [campaign=spring]\n",
		"name":   "phone:\n  numbers: [sales]\n",
	}
	for _, strict := range []bool{false, true} {
		config := ""
		if strict {
			config = "phone:\n  strict: true\n"
		}
		s, err := numbered(t, config, files)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			o    phone.Opening
			want string
		}{
			{phone.Opening{To: "+4930999"}, "berlin"},
			{phone.Opening{To: "004930999123"}, "berlin"},
			{phone.Opening{To: "100"}, "berlin"},
			{phone.Opening{To: "sip:100@pbx.example"}, "berlin"},
			{phone.Opening{To: "1001"}, ""},
			{phone.Opening{To: "+493012345"}, "desk"},
			{phone.Opening{To: "+4930 12345"}, "desk"},
			{phone.Opening{To: "+4930123456"}, "mitte"},
			{phone.Opening{To: "tel:+4930999;phone-context=x"}, "berlin"},
			{phone.Opening{To: "sales"}, "name"},
			{phone.Opening{To: "100", Parameters: map[string]string{"campaign": "spring"}}, "mitte"},
			{phone.Opening{To: "100", Route: "desk", Parameters: map[string]string{"campaign": "spring"}}, "desk"},
			{phone.Opening{To: "100", Route: defaultRoute}, defaultRoute},
			{phone.Opening{To: "7"}, ""},
			{phone.Opening{}, ""},
		} {
			got, err := s.choose(tt.o)
			switch {
			case tt.want == "" && strict:
				if !errors.Is(err, errNoRoute) {
					t.Errorf("%+v: %v, want a refusal", tt.o, err)
				}
			case tt.want == "":
				if err != nil || got.Route != defaultRoute {
					t.Errorf("%+v: %q, %v", tt.o, got.Route, err)
				}
			case err != nil || got.Route != tt.want:
				t.Errorf("%+v: %q, %v, want %q", tt.o, got.Route, err, tt.want)
			}
		}
		if _, err := s.choose(phone.Opening{Route: "nobody"}); !errors.Is(err, errNoRoute) || !strings.Contains(err.Error(), `"nobody"`) {
			t.Errorf("a route that is not there: %v", err)
		}
	}
}

// What two routes would take is refused, with the places of both.
func TestNumbersRefused(t *testing.T) {
	for _, tt := range []struct {
		name, config string
		files        map[string]string
		want         []string
	}{
		{"twice", "", map[string]string{"a": "phone:\n  numbers: [+4930*]\n", "b": "talk:\n  echo: true\nphone:\n  numbers: [+49 30*]\n"}, []string{"b.yaml:4: phone.numbers of route b holds +4930*, which route a takes as well", "a.yaml:2"}},
		{"twice by parameter", "", map[string]string{"a": "phone:\n  parameters: [x=1]\n", "b": "phone:\n  parameters: [x=1]\n"}, []string{"b.yaml:2: phone.parameters of route b holds x=1"}},
		{"the service's own", "phone:\n  numbers: [\"5\"]\n", map[string]string{"a": "phone:\n  numbers: [\"5\"]\n"}, []string{"route default holds 5, which route a takes as well", "a.yaml:2"}},
		{"no number", "", map[string]string{"a": "phone:\n  numbers: [\"**1\"]\n"}, []string{`a.yaml:2`, `phone-numbers holds "**1": it must be a number such as +493012345`}},
		{"no parameter", "", map[string]string{"a": "phone:\n  parameters: [campaign]\n"}, []string{`phone-parameters holds "campaign": it must be NAME=VALUE`}},
		{"strict of a route", "", map[string]string{"a": "phone:\n  strict: true\n"}, []string{"a.yaml:2: phone.strict is the same for all calls"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := numbered(t, tt.config, tt.files)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
		})
	}
}

// Whatever stands for a number is read, and read again it is the same.
func FuzzDigits(f *testing.F) {
	for _, n := range []string{"+49 (30) 123", "sip:100@h", "tel:+1;x=y", "00491234567", "sales", "", "\u00a0"} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, n string) {
		if got := digitsOf(n); len(got) > len(n) {
			t.Errorf("%q became %q", n, got)
		}
	})
}
