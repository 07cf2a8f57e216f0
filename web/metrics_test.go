package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWithMetrics(t *testing.T) {
	says := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	routes := Routes(new(Status), says(http.StatusTeapot))
	for _, tt := range []struct {
		name, method, path string
		metrics            http.Handler
		want               int
	}{
		{"metrics", "GET", "/metrics", says(http.StatusAccepted), http.StatusAccepted},
		{"metrics of nobody", "GET", "/metrics", nil, http.StatusNotFound},
		{"metrics are not written", "POST", "/metrics", says(http.StatusAccepted), http.StatusNotFound},
		{"calls beside metrics", "GET", "/v1/realtime", says(http.StatusAccepted), http.StatusTeapot},
		{"nothing beside metrics", "GET", "/nowhere", says(http.StatusAccepted), http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		WithMetrics(routes, tt.metrics).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}
