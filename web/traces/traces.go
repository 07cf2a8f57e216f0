// Package traces is the page on which an engineer sees where the milliseconds of each turn went, and what it asks the service for.
//
//	GET /traces               the page
//	GET /traces/assets/...    its scripts and styles
//	GET /traces/api/turns     a list of turns, newest first
//	GET /traces/api/calls     a list of calls, newest first; with format=csv all of them as a table
//	GET /traces/api/turn      one turn, whole
//	GET /traces/api/sound     what was recorded of a turn, as WAV
//	GET /traces/api/stats     percentiles, over time and by model, route or version
//	GET /traces/api/compare   two sets side by side
//	GET /traces/api/names     what filters can name
//	GET /traces/export        turns for other programs
//
// All of them only read. They choose turns by the keys of store.ParseFilter, as parameters: since=2h&verdict=over&verdict=failed.
package traces

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/store"
)

// Page is the handler of /traces and what is below it. Its fields are set before the first request. It is safe for use by many goroutines.
type Page struct {
	Path    string       // The file of traces; empty where none are kept.
	Access  Access       // Who may see it. It defaults to Local.
	Hosts   []string     // Names by which browsers reach the service, besides addresses, localhost and this machine's name. For access All.
	Plan    budget.Plan  // What charts are drawn against. It defaults to budget.DefaultPlan.
	Version string       // Of the service.
	Log     *slog.Logger // It defaults to slog.Default().

	// Export writes turns for other programs; without it the page offers no export.
	Export func(ctx context.Context, to io.Writer, x Export) error
	// CallsCSV writes calls as a table; without it there is none.
	CallsCSV func(to io.Writer, calls iter.Seq2[trace.Call, error]) error

	Now func() time.Time // It defaults to time.Now.

	shelf  shelf
	routes *http.ServeMux
	heavy  chan struct{} // Holds one while a question is answered that goes through all turns.
}

// Export is what is to be written for other programs.
type Export struct {
	Format string // One of "csv", "otlp" and "perfetto".
	Words  bool   // Whether what was said and answered is to be written as well.
	Store  *store.Store
	Filter store.Filter
}

// Open makes the page ready. The file of traces is opened when it is first asked for, since it may come to be later.
func (p *Page) Open() {
	if p.Access == "" {
		p.Access = Local
	}
	if p.Plan == (budget.Plan{}) {
		p.Plan = budget.DefaultPlan
	}
	if p.Log == nil {
		p.Log = slog.Default()
	}
	if p.Now == nil {
		p.Now = time.Now
	}
	p.shelf.path = p.Path
	p.heavy = make(chan struct{}, 1)
	p.routes = http.NewServeMux()
	for path, file := range pageAssets() {
		p.routes.Handle("GET "+path, file)
	}
	p.routes.Handle("GET /traces/{$}", http.RedirectHandler("/traces", http.StatusMovedPermanently))
	for path, ask := range map[string]question{
		"turns": p.turns, "turn": p.turn, "stats": p.slowly(p.stats), "compare": p.slowly(p.compare), "names": p.names,
	} {
		p.routes.Handle("GET /traces/api/"+path, p.answer(ask))
	}
	p.routes.Handle("GET /traces/api/calls", p.callsAs(p.answer(p.calls)))
	p.routes.HandleFunc("GET /traces/api/sound", p.sound)
	p.routes.HandleFunc("GET /traces/export", p.export)
	p.routes.HandleFunc("/traces/", func(w http.ResponseWriter, r *http.Request) {
		p.fail(w, r, &problem{http.StatusNotFound, "no_such_page", "There is nothing at " + r.URL.Path + ". The page is at /traces."})
	})
}

// ServeHTTP answers one request, if whoever asks may see the page.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store") // assets say something else
	if refusal := p.refuse(r); refusal != nil {
		p.fail(w, r, refusal)
		return
	}
	p.routes.ServeHTTP(w, r)
}

// Shows reports whether whoever sends the request may see the page.
func (p *Page) Shows(r *http.Request) bool { return p.Path != "" && p.refuse(r) == nil }

// policy lets the page have nothing but what is embedded in the binary, and write no text of callers as code.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; media-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Close closes the file of traces. Nobody may be asking any more.
func (p *Page) Close() error { return p.shelf.close() }
