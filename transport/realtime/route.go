package realtime

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"riposte/transport"
)

// defaultRoute may be asked for by name, and means none.
const defaultRoute = "default"

// routeOf returns the route that an address names, as ?route=NAME; empty where it names none. The error is a *denial.
func (s *Server) routeOf(r *http.Request) (string, error) {
	name := r.URL.Query().Get("route")
	if _, ok := s.Routes[name]; ok || name == "" || name == defaultRoute {
		return name, nil
	}
	names := slices.Sorted(maps.Keys(s.Routes))
	if !slices.Contains(names, defaultRoute) {
		names = slices.Insert(names, 0, defaultRoute)
	}
	return "", &denial{http.StatusNotFound, "unknown_route", fmt.Sprintf("There is no route %.64q. There are: %s.", name, strings.Join(names, ", "))}
}

// begins returns what a call begins with that asks for a route by its name, or for a model by one that may be a route's.
func (s *Server) begins(name string) transport.Settings {
	if settings, ok := s.Routes[name]; ok {
		return settings
	}
	return s.Defaults
}
