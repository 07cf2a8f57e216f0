package traces

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"riposte/budget/trace/store"
	"riposte/web/asset"
)

// patience is how long a question may take.
const patience = 5 * time.Second

// problem is an error as the page is told it.
type problem struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"` // What is wrong and how to mend it, as sentences.
}

func (p *problem) Error() string { return p.Message }

// question is what can be asked for: it returns what is written as JSON.
type question func(ctx context.Context, r *http.Request, s *store.Store) (any, error)

// answer returns the handler of a question.
func (p *Page) answer(ask question) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		s, done, err := p.shelf.take(ctx)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		defer done()
		v, err := ask(ctx, r, s)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		body, err := json.Marshal(v)
		if err != nil {
			p.fail(w, r, err)
			return
		}
		// A list that is asked for every other second is seldom another one.
		tag := asset.Tag(body)
		w.Header().Set("ETag", tag)
		if asset.Matches(r.Header.Get("If-None-Match"), tag) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		p.write(w, r, http.StatusOK, body)
	})
}

// slowly lets one such question be answered at a time: they go through all turns, and calls need the cores more.
func (p *Page) slowly(ask question) question {
	return func(ctx context.Context, r *http.Request, s *store.Store) (any, error) {
		select {
		case p.heavy <- struct{}{}:
			defer func() { <-p.heavy }()
			return ask(ctx, r, s)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// write writes JSON, zipped where that saves something.
func (p *Page) write(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Add("Vary", "Accept-Encoding")
	if len(body) < 1024 || !asset.TakesGzip(r) {
		w.WriteHeader(status)
		_, _ = w.Write(body) // whoever asked may be gone
		return
	}
	h.Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // a level that there is
	_, _ = z.Write(body)
	_ = z.Close()
}

// fail writes an error.
func (p *Page) fail(w http.ResponseWriter, r *http.Request, err error) {
	told := p.problemOf(r, err)
	body, err := json.Marshal(map[string]*problem{"error": told})
	if err != nil {
		http.Error(w, told.Message, told.status)
		return
	}
	if told.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "2")
	}
	if told.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", "GET, HEAD")
	}
	p.write(w, r, told.status, body)
}

// problemOf says what an error means to whoever asked.
func (p *Page) problemOf(r *http.Request, err error) *problem {
	if told, ok := errors.AsType[*problem](err); ok {
		return told
	}
	if unknown, ok := errors.AsType[*store.UnknownError](err); ok {
		return &problem{http.StatusNotFound, "unknown", sentence(unknown.Error()) + " It may have been removed for its age: the setting trace.keep says how long turns stay."}
	}
	switch {
	case errors.Is(err, errNotKept):
		return &problem{http.StatusNotFound, "not_kept", "No traces are kept, since the setting trace.file is none. Name a file there, or leave it empty, and start the service again."}
	case errors.Is(err, store.ErrNone):
		return &problem{http.StatusNotFound, "no_traces", "There are no traces yet. The first call makes the file " + p.Path + "."}
	case errors.Is(err, store.ErrNoFile):
		return &problem{http.StatusServiceUnavailable, "no_file", p.Path + " is a folder or the like, and traces are kept in a file. Name one with the setting trace.file, or move the folder away."}
	case errors.Is(err, store.ErrEmpty):
		return &problem{http.StatusServiceUnavailable, "empty_file", sentence(store.ErrEmpty.Error()) + " It is at " + p.Path + "."}
	case errors.Is(err, store.ErrNoSound):
		return &problem{http.StatusNotFound, "no_sound", "There is no sound of this turn. The setting trace.record keeps it, and trace.record-keep says for how long."}
	case errors.Is(err, store.ErrOlder), errors.Is(err, store.ErrNewer):
		return &problem{http.StatusServiceUnavailable, "other_version", sentence(err.Error())}
	case r.Context().Err() != nil:
		return &problem{499, "gone", "Whoever asked is gone."}
	case errors.Is(err, context.DeadlineExceeded), strings.Contains(err.Error(), "interrupted"): // SQLite says the latter
		return &problem{http.StatusServiceUnavailable, "too_slow", fmt.Sprintf("It took more than %v. Choose less time, or a narrower filter.", patience)}
	}
	p.Log.Error("a question about traces failed", "path", r.URL.Path, "err", err)
	return &problem{http.StatusInternalServerError, "failed", "The traces could not be read: " + err.Error() + ". The service's log may say more."}
}
