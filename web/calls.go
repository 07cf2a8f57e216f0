package web

import "net/http"

// WithCalls returns routes with those by which calls are made over HTTP, for WebRTC; nil calls add none of theirs.
//
//	POST /v1/realtime/client_secrets  a secret by which a page may call
//	POST /v1/realtime/calls           a call, and below it what becomes of one
//
// preflight answers browsers that ask whether a page may send these.
func WithCalls(routes, calls http.Handler, secrets, preflight http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/realtime/client_secrets", secrets)
	mux.HandleFunc("OPTIONS /v1/realtime/client_secrets", preflight)
	if calls != nil {
		mux.Handle("/v1/realtime/calls", calls)
		mux.Handle("/v1/realtime/calls/", calls)
	}
	mux.Handle("/", routes)
	return mux
}
