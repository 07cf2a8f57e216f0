package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestWithCalls(t *testing.T) {
	says := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	for _, tt := range []struct {
		name, method, path string
		calls              http.Handler
		want               int
	}{
		{"a call", "POST", "/v1/realtime/calls", says(http.StatusCreated), http.StatusCreated},
		{"its end", "POST", "/v1/realtime/calls/rtc_1/hangup", says(http.StatusCreated), http.StatusCreated},
		{"no calls", "POST", "/v1/realtime/calls", nil, http.StatusTeapot},
		{"a client secret", "POST", "/v1/realtime/client_secrets", nil, http.StatusAccepted},
		{"before it", "OPTIONS", "/v1/realtime/client_secrets", nil, http.StatusNoContent},
		{"a call over WebSocket", "GET", "/v1/realtime", says(http.StatusCreated), http.StatusTeapot},
	} {
		w := httptest.NewRecorder()
		WithCalls(says(http.StatusTeapot), tt.calls, says(http.StatusAccepted), says(http.StatusNoContent)).ServeHTTP(w, httptest.NewRequest(tt.method, tt.path, nil))
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, w.Code, tt.want)
		}
	}
}
