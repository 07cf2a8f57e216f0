package traces

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"riposte/web/asset"
)

// formats are those of exports.
var formats = [...]string{"csv", "otlp", "perfetto"}

// longest is how long an export may take.
const longest = 2 * time.Minute

// export writes turns for another program. It streams: an error before the first byte is answered as such, and one in its middle ends the connection,
// so that nobody takes the part for the whole.
func (p *Page) export(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), longest)
	defer cancel()
	q, err := paramsOf(r, and("format", "words")...)
	if err != nil {
		p.fail(w, r, err)
		return
	}
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
	out := &download{w: w, begin: func(h http.Header) {
		h.Set("Content-Type", map[string]string{"csv": "text/csv; charset=utf-8", "otlp": "application/x-ndjson", "perfetto": "application/json"}[format])
		name := map[string]string{"csv": "csv", "otlp": "otlp.jsonl", "perfetto": "perfetto.json"}[format]
		h.Set("Content-Disposition", `attachment; filename="riposte-turns-`+p.Now().UTC().Format("20060102-150405")+"."+name+`"`)
		h.Add("Vary", "Accept-Encoding")
		if asset.TakesGzip(r) {
			h.Set("Content-Encoding", "gzip")
		}
	}}
	err = p.writeExport(ctx, out, asset.TakesGzip(r), Export{Format: format, Words: q.Get("words") != "no", Store: s, Filter: f})
	switch {
	case err != nil && !out.begun && ctx.Err() != nil && r.Context().Err() == nil:
		p.fail(w, r, &problem{http.StatusServiceUnavailable, "too_slow", fmt.Sprintf("It took more than %v. Choose less time, or a narrower filter.", longest)})
	case err != nil && !out.begun:
		p.fail(w, r, fmt.Errorf("exporting: %w", err))
	case err != nil:
		if r.Context().Err() == nil {
			p.Log.Warn("an export ended early", "err", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// held is how much of an export is made before any of it is sent: so much can fail and still be told as an error.
const held = 32 << 10

// writeExport writes an export, zipped if that is wanted.
func (p *Page) writeExport(ctx context.Context, to io.Writer, zipped bool, x Export) error {
	b := bufio.NewWriterSize(to, held)
	if !zipped {
		if err := p.Export(ctx, b, x); err != nil {
			return err
		}
		return b.Flush()
	}
	z, _ := gzip.NewWriterLevel(b, gzip.BestSpeed) // a level that there is
	if err := p.Export(ctx, z, x); err != nil {
		return err
	}
	return errors.Join(z.Close(), b.Flush())
}

// download is the body of an answer that has no headers before its first byte.
type download struct {
	w     http.ResponseWriter
	begin func(http.Header) // Called before the first byte.
	begun bool
}

func (d *download) Write(b []byte) (int, error) {
	if !d.begun {
		d.begun = true
		d.begin(d.w.Header())
	}
	return d.w.Write(b)
}
