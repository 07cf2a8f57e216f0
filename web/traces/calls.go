package traces

import (
	"context"
	"net/http"
)

// callsAs answers with a table of calls where that is asked for, and otherwise as other does.
func (p *Page) callsAs(other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch format := r.URL.Query().Get("format"); {
		case format == "csv" && p.CallsCSV != nil:
			p.callsTable(w, r)
		case format == "" || format == "json":
			other.ServeHTTP(w, r)
		default:
			p.fail(w, r, &problem{http.StatusBadRequest, "bad_format", "The parameter format is " + format + ": it must be json or csv."})
		}
	})
}

// callsTable writes calls as a table. It streams, as exports do.
func (p *Page) callsTable(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), longest)
	defer cancel()
	q, err := paramsOf(r, and("format")...)
	if err != nil {
		p.fail(w, r, err)
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
	out := &download{w: w, begin: func(h http.Header) {
		h.Set("Content-Type", "text/csv; charset=utf-8")
		h.Set("Content-Disposition", `attachment; filename="riposte-calls-`+p.Now().UTC().Format("20060102-150405")+`.csv"`)
	}}
	if err := p.CallsCSV(out, s.EachCall(ctx, f)); err != nil && !out.begun {
		p.fail(w, r, err)
	} else if err != nil {
		panic(http.ErrAbortHandler)
	}
}
