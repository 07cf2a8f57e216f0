package web

import (
	"net/http"
	"strings"
)

// WithREST returns routes with what is asked for over REST; a nil handler adds nothing.
//
//	/v1/           all that is no call
//	/v1/realtime   calls, as before
//
// preflight answers browsers that ask whether a page may send these.
func WithREST(routes, rest http.Handler, preflight http.HandlerFunc) http.Handler {
	if rest == nil {
		return routes
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, below := strings.CutPrefix(r.URL.Path, "/v1/")
		first, _, _ := strings.Cut(path, "/")
		switch {
		case !below || first == "realtime":
			routes.ServeHTTP(w, r)
		case r.Method == http.MethodOptions:
			preflight(w, r)
		default:
			rest.ServeHTTP(w, r)
		}
	})
}
