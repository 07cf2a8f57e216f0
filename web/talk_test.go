package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWithTalk(t *testing.T) {
	says := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	for _, tt := range []struct {
		name, method, path string
		page               http.Handler
		want               int
	}{
		{"the page", "GET", "/", says(http.StatusAccepted), http.StatusAccepted},
		{"what it is made of", "GET", "/talk/assets/main.js", says(http.StatusAccepted), http.StatusAccepted},
		{"no page", "GET", "/", nil, http.StatusTeapot},
		{"calls beside the page", "GET", "/v1/realtime", says(http.StatusAccepted), http.StatusTeapot},
		{"nothing that is sent to it", "POST", "/", says(http.StatusAccepted), http.StatusTeapot},
	} {
		w := httptest.NewRecorder()
		WithTalk(says(http.StatusTeapot), tt.page).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}
