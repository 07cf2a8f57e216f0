package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWithTraces(t *testing.T) {
	says := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	for _, tt := range []struct {
		name, path string
		page       http.Handler
		want       int
	}{
		{"the page", "/traces", says(http.StatusAccepted), http.StatusAccepted},
		{"what it asks for", "/traces/api/turns", says(http.StatusAccepted), http.StatusAccepted},
		{"no page", "/traces", nil, http.StatusTeapot},
		{"calls beside the page", "/v1/realtime", says(http.StatusAccepted), http.StatusTeapot},
		{"what only begins like it", "/tracesque", says(http.StatusAccepted), http.StatusTeapot},
	} {
		w := httptest.NewRecorder()
		WithTraces(says(http.StatusTeapot), tt.page).ServeHTTP(w, httptest.NewRequest("GET", tt.path, nil))
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}
