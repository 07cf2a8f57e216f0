package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWithPhones(t *testing.T) {
	says := func(code int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
	}
	routes := WithPhones(says(http.StatusTeapot), map[string]http.Handler{"POST /a/voice": says(http.StatusAccepted)})
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{"POST", "/a/voice", http.StatusAccepted},
		{"GET", "/a/voice", http.StatusTeapot},
		{"POST", "/b/voice", http.StatusTeapot},
	} {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, w.Code, tt.want)
		}
	}
	w := httptest.NewRecorder()
	WithPhones(says(http.StatusTeapot), nil).ServeHTTP(w, httptest.NewRequest("POST", "/a/voice", nil))
	if w.Code != http.StatusTeapot {
		t.Errorf("without wires: %d", w.Code)
	}
}
