package web

import "net/http"

// WithTalk returns routes with the page on which people talk in the place of the words at their root; a nil page leaves those.
//
//	GET /       the page
//	GET /talk/  what it is made of, and what it asks for
func WithTalk(routes, page http.Handler) http.Handler {
	if page == nil {
		return routes
	}
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", page)
	mux.Handle("/talk/", page)
	mux.Handle("/", routes)
	return mux
}
