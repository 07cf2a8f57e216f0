package web

import "net/http"

// WithMetrics returns routes with one more; nil metrics add none.
//
//	GET /metrics  what Prometheus collects
func WithMetrics(routes, metrics http.Handler) http.Handler {
	if metrics == nil {
		return routes
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/", routes)
	return mux
}
