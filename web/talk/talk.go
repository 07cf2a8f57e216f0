// Package talk is the page on which people talk to the service, over WebRTC, or over WebSocket where that does not come through.
//
//	GET /              the page
//	GET /talk/assets/  its scripts and styles
//	GET /talk/service  what it is told of the service, as JSON
package talk

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"

	"riposte/web/asset"
)

//go:embed page
var files embed.FS

// Page is the handler of the page and of what is below /talk/. It is safe for use by many goroutines.
type Page struct {
	about  About
	sees   func(*http.Request) bool
	routes *http.ServeMux
}

// About is what the page is told of the service. Whoever reaches the service reads it.
type About struct {
	Version    string   `json:"version"`
	Recogniser string   `json:"stt"`
	Model      string   `json:"llm"`
	Voice      string   `json:"tts"`
	Routes     []string `json:"routes"`    // Those that a call may ask for, the default one first.
	Eagerness  string   `json:"eagerness"` // With which turns are taken to be over.
	Speed      float32  `json:"speed"`     // Of the voice.
	Keys       bool     `json:"keys"`      // Callers are asked for a key.
	WebRTC     bool     `json:"webrtc"`    // Calls over WebRTC are taken. Without them the page talks over WebSocket.
	Traces     bool     `json:"traces"`    // There is a page of traces that whoever asks may see. New takes who that is.
	Secure     bool     `json:"secure"`    // The service itself speaks TLS.
}

// New returns the page of a service. sees reports whether whoever sends a request may see the page of traces; nil is nobody.
func New(about About, sees func(*http.Request) bool) *Page {
	about.Routes = append([]string{}, about.Routes...) // a list, even if it is empty
	folder, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // it is in the binary
	}
	p := &Page{about: about, sees: sees, routes: http.NewServeMux()}
	for _, f := range asset.Files(folder) {
		path := "/talk/assets/" + f.Name
		if f.Name == "index.html" {
			path = "/{$}"
		}
		p.routes.Handle("GET "+path, f)
	}
	p.routes.HandleFunc("GET /talk/service", p.service)
	return p
}

// policy lets the page have nothing but what is embedded in the binary, and write no text of anybody as code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; media-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// features are what the page may ask its user for.
const features = "microphone=(self), speaker-selection=(self), autoplay=(self), camera=(), geolocation=(), display-capture=()"

// ServeHTTP answers one request.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Permissions-Policy", features)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store") // files say something else
	p.routes.ServeHTTP(w, r)
}

// service says what the page offers to choose.
func (p *Page) service(w http.ResponseWriter, r *http.Request) {
	about := p.about
	about.Traces = p.sees != nil && p.sees(r)
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(about) // whoever asked may be gone
}
