package web

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// What is asked for over REST lies beside calls, and takes nothing of theirs.
func TestWithREST(t *testing.T) {
	says := func(what string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, what) }
	}
	routes := WithREST(says("routes"), says("rest"), says("preflight"))
	for request, want := range map[[2]string]string{
		{"GET", "/"}:                         "routes",
		{"GET", "/healthz"}:                  "routes",
		{"GET", "/v1/realtime"}:              "routes",
		{"POST", "/v1/realtime/calls"}:       "routes",
		{"OPTIONS", "/v1/realtime/calls"}:    "routes",
		{"GET", "/v1/models"}:                "rest",
		{"POST", "/v1/chat/completions"}:     "rest",
		{"OPTIONS", "/v1/chat/completions"}:  "preflight",
		{"DELETE", "/v1/nothing"}:            "rest",
		{"POST", "/v1/audio/transcriptions"}: "rest",
	} {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequest(request[0], request[1], nil))
		if got := w.Body.String(); got != want {
			t.Errorf("%v is answered by %q, want %q", request, got, want)
		}
	}
	if got := WithREST(routes, nil, nil); got == nil {
		t.Error("without REST there are no routes")
	}
}
