package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"riposte/transport"
	"riposte/transport/phone"
)

// switchboard says which route takes which calls by telephone.
type switchboard struct {
	numbers    []taken // The longest first.
	parameters []taken
	strict     bool
}

// taken is what the calls have that a route takes.
type taken struct {
	what  string // A number without its *, or NAME=VALUE.
	begin bool   // All that begin with what.
	route string
	at    string // Where that is set, for people.
}

// switchboardOf reads which calls the routes take. The error says which of them two would take.
func switchboardOf(routes map[string]*route) (switchboard, error) {
	d := switchboard{}
	for _, name := range slices.Sorted(maps.Keys(routes)) {
		r := routes[name]
		if r == nil {
			continue
		}
		at := func(key string) string {
			if e, ok := r.file.values[key]; ok {
				return fmt.Sprintf("%s:%d", r.file.path, e.line)
			}
			return "the service's settings"
		}
		own := func(key string) bool { _, ok := r.file.values[key]; return ok || name == defaultRoute }
		if name == defaultRoute {
			d.strict = r.Phone.Strict
		}
		for _, n := range r.Phone.Numbers {
			if own("phone-numbers") {
				what, begin := strings.CutSuffix(digitsOf(n), "*")
				d.numbers = append(d.numbers, taken{what, begin, name, at("phone-numbers")})
			}
		}
		for _, p := range r.Phone.Parameters {
			if own("phone-parameters") {
				d.parameters = append(d.parameters, taken{what: p, route: name, at: at("phone-parameters")})
			}
		}
	}
	// The longest first, and a whole number before the beginning of others.
	slices.SortStableFunc(d.numbers, func(a, b taken) int {
		switch {
		case len(a.what) != len(b.what):
			return len(b.what) - len(a.what)
		case a.begin == b.begin:
			return 0
		case a.begin:
			return 1
		}
		return -1
	})
	return d, errors.Join(twice(d.numbers, "phone.numbers"), twice(d.parameters, "phone.parameters"))
}

// twice says what two routes would take.
func twice(all []taken, key string) error {
	type same struct {
		what  string
		begin bool
	}
	first := map[same]taken{}
	var errs []error
	for _, t := range all {
		k := same{t.what, t.begin}
		before, ok := first[k]
		if !ok {
			first[k] = t
			continue
		}
		if before.route == t.route {
			continue
		}
		star := ""
		if t.begin {
			star = "*"
		}
		errs = append(errs, fmt.Errorf("%s: %s of route %s holds %s%s, which route %s takes as well (%s): leave it with one of them", t.at, key, t.route, t.what, star, before.route, before.at))
	}
	return errors.Join(errs...)
}

// route returns the route of a call; ok is false where none takes it.
func (d switchboard) route(o phone.Opening) (name string, ok bool) {
	for _, p := range d.parameters {
		key, value, _ := strings.Cut(p.what, "=")
		if o.Parameters[key] == value {
			return p.route, true
		}
	}
	to := digitsOf(o.To)
	for _, n := range d.numbers {
		if to == n.what || n.begin && strings.HasPrefix(to, n.what) {
			return n.route, true
		}
	}
	return defaultRoute, !d.strict
}

// errNoRoute says that a call by telephone has no route.
var errNoRoute = errors.New("no route takes this call")

// choose returns what a call by telephone begins with. A route that the far side asks for by name goes before what was dialled.
func (s *service) choose(o phone.Opening) (transport.Settings, error) {
	name, ok := s.board.route(o)
	switch {
	case o.Route != "" && s.routes[o.Route] == nil:
		return transport.Settings{}, fmt.Errorf("%w: there is no route %.64q; there are %s", errNoRoute, o.Route, joined(slices.Sorted(maps.Keys(s.routes)), 16))
	case o.Route != "":
		name = o.Route
	case !ok:
		return transport.Settings{}, fmt.Errorf("%w: %q is in the phone.numbers of none, and phone.strict is set", errNoRoute, o.To)
	}
	begin := s.routes[name].call()
	begin.Route = name
	return begin, nil
}
