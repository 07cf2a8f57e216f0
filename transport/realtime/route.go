package realtime

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"riposte/transport"
)

// defaultRoute may be asked for by name, and means none.
const defaultRoute = "default"

// asked returns the route that an address names, as ?route=NAME, empty where it names none, and whether it asks for a transcription, as
// ?intent=transcription. The error is a *denial.
func (s *Server) asked(r *http.Request) (route string, listen bool, err error) {
	query, err := url.ParseQuery(r.URL.RawQuery) // r.URL.Query would leave out what it does not understand, and with it what was asked for
	if err != nil {
		return "", false, &denial{http.StatusBadRequest, "invalid_query", fmt.Sprintf("The address's query cannot be read: %.100v. Pairs are separated by &, and what is special in them is escaped by %%.", err)}
	}
	if model := query.Get("model"); len(model) > maxID {
		return "", false, &denial{http.StatusBadRequest, "invalid_value", fmt.Sprintf("The address's model has %d bytes; it may have %d.", len(model), maxID)}
	}
	switch intent := query.Get("intent"); intent {
	case "", "conversation", talks:
	case listens:
		listen = true
	default:
		return "", false, &denial{http.StatusBadRequest, "invalid_value", fmt.Sprintf("The address's intent is %.64q; it may be %q, or be left out to talk.", intent, listens)}
	}
	name := query.Get("route")
	if _, ok := s.Routes[name]; ok || name == "" || name == defaultRoute {
		return name, listen, nil
	}
	names := slices.Sorted(maps.Keys(s.Routes))
	if !slices.Contains(names, defaultRoute) {
		names = slices.Insert(names, 0, defaultRoute)
	}
	return "", false, &denial{http.StatusNotFound, "unknown_route", fmt.Sprintf("There is no route %.64q. There are: %s.", name, strings.Join(names, ", "))}
}

// stays refuses a change of a session to a model whose name is that of another route than the call's. Any other name is taken for what
// it is: many clients send one with everything that they set.
func (s *Server) stays(call transport.Settings, before, after session) error {
	if _, route := s.Routes[after.Model]; after.Model == before.Model || !route || after.Model == call.Route {
		return nil
	}
	return invalid("session.model", "invalid_value", "%q is a route, and the route of a call cannot be changed: connect with ?model=%s instead.", after.Model, after.Model)
}

// begins returns what a call begins with that asks for a route by its name, or for a model by one that may be a route's.
func (s *Server) begins(name string) transport.Settings {
	if settings, ok := s.Routes[name]; ok {
		return settings
	}
	return s.Defaults
}
