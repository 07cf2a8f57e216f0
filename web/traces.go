package web

import "net/http"

// WithTraces returns routes with the page of traces; a nil page adds none.
//
//	GET /traces   the page
//	GET /traces/  what it is made of, and what it asks for
func WithTraces(routes, page http.Handler) http.Handler {
	if page == nil {
		return routes
	}
	mux := http.NewServeMux()
	mux.Handle("/traces", page)
	mux.Handle("/traces/", page)
	mux.Handle("/", routes)
	return mux
}
