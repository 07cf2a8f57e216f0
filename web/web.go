// Package web is the service's HTTP side: what answers where.
package web

import (
	"encoding/json"
	"io"
	"net/http"
)

// Routes returns the service's handler.
//
//	GET /v1/realtime  a call, as a WebSocket
//	GET /             where calls go, in words
//	GET /healthz      200 while the process lives
//	GET /readyz       200 when calls can be taken, 503 before and after
func Routes(status *Status, realtime http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /v1/realtime", realtime)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, "Riposte answers calls at /v1/realtime: connect with any OpenAI Realtime client, over WebSocket.\n")
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"status": "alive"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		state, code := status.Get(), http.StatusOK
		if state != Ready {
			code = http.StatusServiceUnavailable
			w.Header().Set("Retry-After", "2")
		}
		said := map[string]any{"status": state.String(), "calls": status.Calls()}
		if status.Remotes != nil {
			if remotes := status.Remotes(); len(remotes) > 0 {
				said["remotes"] = remotes
			}
		}
		reply(w, code, said)
	})
	return mux
}

func reply(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // whoever asked may be gone
}
