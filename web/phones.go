package web

import "net/http"

// WithPhones returns routes with those of telephone providers, by their patterns.
func WithPhones(routes http.Handler, wires map[string]http.Handler) http.Handler {
	if len(wires) == 0 {
		return routes
	}
	mux := http.NewServeMux()
	for pattern, h := range wires {
		mux.Handle(pattern, h)
	}
	mux.Handle("/", routes)
	return mux
}
