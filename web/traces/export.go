package traces

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// formats are those of exports.
var formats = [...]string{"csv", "otlp", "perfetto"}

// longest is how long an export may take.
const longest = 2 * time.Minute

// export writes turns for another program. It streams: an error in its middle ends the connection, so that nobody takes the part for the whole.
func (p *Page) export(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), longest)
	defer cancel()
	q := r.URL.Query()
	format := q.Get("format")
	if p.Export == nil || !slices.Contains(formats[:], format) {
		p.fail(w, r, &problem{http.StatusBadRequest, "bad_format", "The parameter format is " + format + ": it must be " + strings.Join(formats[:], ", ") + "."})
		return
	}
	f, err := filterOf(q, "", p.Now())
	if err != nil {
		p.fail(w, r, err)
		return
	}
	s, done, err := p.shelf.take(ctx)
	if err != nil {
		p.fail(w, r, err)
		return
	}
	defer done()
	select {
	case p.heavy <- struct{}{}:
		defer func() { <-p.heavy }()
	default:
		p.fail(w, r, &problem{http.StatusServiceUnavailable, "busy", "Another export or other statistics are being made. Try again when they are done."})
		return
	}
	h := w.Header()
	h.Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "otlp": "application/x-ndjson", "perfetto": "application/json"}[format])
	name := map[string]string{"csv": "csv", "otlp": "otlp.jsonl", "perfetto": "perfetto.json"}[format]
	h.Set("Content-Disposition", `attachment; filename="riposte-turns-`+p.Now().UTC().Format("20060102-150405")+"."+name+`"`)
	var out io.Writer = w
	if takesGzip(r) {
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that there is
		defer z.Close()
		out = z
	}
	if err := p.Export(ctx, out, Export{Format: format, Words: q.Get("words") != "no", Store: s, Filter: f}); err != nil {
		if r.Context().Err() == nil {
			p.Log.Warn("an export ended early", "err", err)
		}
		panic(http.ErrAbortHandler)
	}
}
