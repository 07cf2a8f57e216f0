package main

import (
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"riposte/budget/trace/sample"
	"riposte/budget/trace/store"
)

// The page shows what is kept, by the settings, and exports what the command does.
func TestTracesPage(t *testing.T) {
	s := newService(new(settings), slog.New(slog.DiscardHandler))
	s.settings.Trace.File = filepath.Join(t.TempDir(), "traces.db")
	s.settings.Trace.Page = "local"
	page, shut := s.openPage()
	defer shut()
	ask := func(path string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "http://localhost"+path, nil)
		r.RemoteAddr = "127.0.0.1:1"
		w := httptest.NewRecorder()
		page.ServeHTTP(w, r)
		return w
	}
	if w := ask("/traces/api/turns"); !strings.Contains(w.Body.String(), "no_traces") {
		t.Errorf("before there are any: %d %s", w.Code, w.Body)
	}
	kept, err := store.Open(t.Context(), s.settings.Trace.File)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	turns := sample.New(1, time.Now().Add(-time.Hour)).Turns(20)
	if err := kept.WriteTurns(t.Context(), turns...); err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{"csv": turns[3].Said, "otlp": `"resourceSpans"`, "perfetto": `"traceEvents"`} {
		if w := ask("/traces/export?format=" + format); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.200s", format, w.Code, w.Body)
		}
	}
	if w := ask("/traces/export?words=no&format=csv"); strings.Contains(w.Body.String(), turns[3].Said) {
		t.Error("words are exported though they are not wanted")
	}
	s.settings.Trace.Page = "off"
	off, shutOff := s.openPage()
	defer shutOff()
	w := httptest.NewRecorder()
	off.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/traces", nil))
	if w.Code != 404 || !strings.Contains(w.Body.String(), "trace.page") {
		t.Errorf("switched off: %d %s", w.Code, w.Body)
	}
}
