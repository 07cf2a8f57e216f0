package traces

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/budget"
	"riposte/budget/trace"
	"riposte/budget/trace/export"
	"riposte/budget/trace/object"
	"riposte/budget/trace/sample"
	"riposte/budget/trace/store"
)

// noon is when the tests take place.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// kept returns a file that keeps the turns and the calls that they belong to.
func kept(t testing.TB, turns []trace.Turn) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "traces.db")
	s, err := store.Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for part := range slices.Chunk(turns, 1000) {
		if err := s.WriteTurns(context.Background(), part...); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// shown returns a page of the file, which is asked as if from this machine.
func shown(t testing.TB, path string) *Page {
	t.Helper()
	p := &Page{Path: path, Version: "v1.5.0", Now: func() time.Time { return noon }, Log: slog.New(slog.DiscardHandler), Export: writeCSV}
	p.Open()
	t.Cleanup(func() { p.Close() })
	return p
}

// writeCSV is an Export of one format.
func writeCSV(ctx context.Context, to io.Writer, x Export) error {
	return export.CSV(to, x.Store.Each(ctx, x.Filter))
}

// get asks the page.
func get(p *Page, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://localhost:8080"+path, nil)
	r.RemoteAddr = "127.0.0.1:4711"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

// answer asks the page and reads what it answers.
func answer[T any](t testing.TB, p *Page, path string) T {
	t.Helper()
	var v T
	w := get(p, path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return v
}

func TestTurns(t *testing.T) {
	turns := sample.New(1, noon.Add(-time.Hour)).Turns(300)
	p := shown(t, kept(t, turns))
	for query, takes := range map[string]func(trace.Turn) bool{
		"":                            func(trace.Turn) bool { return true },
		"verdict=over&verdict=failed": func(t trace.Turn) bool { return t.Report.Verdict == budget.Over || t.Report.Verdict == budget.Failed },
		"blame=llm&route=sales":       func(t trace.Turn) bool { return t.Report.Blame == budget.LLM && t.Route == "sales" },
		"gap=700ms":                   func(t trace.Turn) bool { return t.Report.Total >= 700*time.Millisecond },
		"since=30m":                   func(t trace.Turn) bool { return !t.Report.SpeechEnd.Before(noon.Add(-30 * time.Minute)) },
		"call=" + turns[25].Call:      func(o trace.Turn) bool { return o.Call == turns[25].Call },
		"route=no%20%22such%22,one":   func(trace.Turn) bool { return false },
	} {
		var want []string
		for _, turn := range slices.Backward(turns) {
			if takes(turn) {
				want = append(want, turn.ID)
			}
		}
		var got []string
		for from := ""; ; {
			page := answer[rowsObject](t, p, "/traces/api/turns?limit=40&"+query+"&from="+from)
			for _, row := range page.Turns {
				got = append(got, row.ID)
			}
			if from = page.Next; from == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q lists %d turns, want %d", query, len(got), len(want))
		}
	}
}

func TestCalls(t *testing.T) {
	turns := sample.New(1, noon.Add(-time.Hour)).Turns(100)
	p := shown(t, kept(t, turns))
	page := answer[callsObject](t, p, "/traces/api/calls?limit=3")
	if len(page.Calls) != 3 || page.Next == "" || page.Calls[0].ID != turns[99].Call || page.Calls[0].Kept != 10 || page.Calls[0].Ended != nil {
		t.Errorf("the page is %+v", page)
	}
	rest := answer[callsObject](t, p, "/traces/api/calls?from="+page.Next)
	if len(rest.Calls) != 7 || rest.Next != "" {
		t.Errorf("the rest has %d calls, and goes on at %q", len(rest.Calls), rest.Next)
	}
}

func TestTurn(t *testing.T) {
	turns := sample.New(1, noon.Add(-time.Hour)).Turns(20)
	turns[4].Said = `<script>alert("x")</script>`
	turns[4].Words = []trace.Heard{{At: -time.Second, Text: "für zwei", Stable: 4}, {Text: "short", Stable: 99}}
	p := shown(t, kept(t, turns))
	got := answer[turnObject](t, p, "/traces/api/turn?id="+turns[4].ID)
	want := turns[4].Report
	if got.Said != turns[4].Said || got.Number != 5 || *got.Gap != object.Millis(want.Total) || got.Marks["done"] != object.Millis(want.Marks[budget.Done]) || got.Shares["llm"] != 400 {
		t.Errorf("the turn is %+v", got)
	}
	if got.Words[0].Sure != "für" || got.Words[1].Sure != "short" {
		t.Errorf("what is sure is %q and %q", got.Words[0].Sure, got.Words[1].Sure)
	}
	if len(got.Siblings) != 10 || got.Siblings[4].ID != got.ID || got.Sound != nil {
		t.Errorf("the call has %d turns, the sound is %v", len(got.Siblings), got.Sound)
	}
	if body := get(p, "/traces/api/turn?id="+turns[4].ID).Body.String(); strings.Contains(body, "<script") {
		t.Error("JSON holds markup that a browser could take for a page's")
	}
}

func TestStats(t *testing.T) {
	turns := sample.New(1, noon.Add(-time.Hour)).Turns(400)
	p := shown(t, kept(t, turns))
	all := answer[statsObject](t, p, "/traces/api/stats?every=all")
	if len(all.Groups) != 1 || all.Groups[0].Turns != 400 || all.Every != 0 || all.Plan["stt"] != 300 {
		t.Fatalf("the whole is %+v", all)
	}
	var gaps []time.Duration
	for _, turn := range turns {
		gaps = append(gaps, turn.Report.Total)
	}
	slices.Sort(gaps)
	if got, want := all.Groups[0].Gap.P95, object.Millis(gaps[int(math.Ceil(0.95*400))-1]); got != want {
		t.Errorf("p95 is %v, want %v", got, want)
	}
	over := answer[statsObject](t, p, "/traces/api/stats?by=version")
	counted, names := 0, map[string]bool{}
	for _, g := range over.Groups {
		counted += g.Turns
		names[g.Name] = true
	}
	if counted != 400 || len(names) != 2 || over.Every != 60 || over.First == nil {
		t.Errorf("%d turns of %v, every %v s", counted, names, over.Every)
	}
	empty := answer[statsObject](t, p, "/traces/api/stats?route=nowhere")
	if len(empty.Groups) != 0 || empty.First != nil {
		t.Errorf("of nothing: %+v", empty)
	}
}

func TestCompare(t *testing.T) {
	p := shown(t, kept(t, sample.New(1, noon.Add(-time.Hour)).Turns(400)))
	c := answer[comparisonObject](t, p, "/traces/api/compare?a.version=v1.4.0&b.version=v1.5.0&b.verdict=met")
	if c.A.Turns != 200 || c.B.Turns >= 200 || c.B.Turns == 0 || c.B.Turns != c.B.Verdicts["met"] {
		t.Errorf("A has %d turns, B %d, of which %d met", c.A.Turns, c.B.Turns, c.B.Verdicts["met"])
	}
}

func TestNames(t *testing.T) {
	p := shown(t, kept(t, sample.New(1, noon.Add(-time.Hour)).Turns(100)))
	n := answer[namesObject](t, p, "/traces/api/names")
	if !slices.Equal(n.Versions, []string{"v1.4.0", "v1.5.0"}) || len(n.Models) != 4 || len(n.Stages) != 4 || n.Service != "v1.5.0" || len(n.Exports) != 3 {
		t.Errorf("the names are %+v", n)
	}
}

func TestEvery(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{
		0: time.Minute, 71 * time.Minute: time.Minute, 72 * time.Minute: 5 * time.Minute, 18 * 24 * time.Hour: 12 * time.Hour, 100 * 365 * 24 * time.Hour: 364 * 24 * time.Hour,
	} {
		if got := suits(length); got != want {
			t.Errorf("%v are shown every %v, want %v", length, got, want)
		}
	}
}

// What is asked for wrongly is told how to be asked.
func TestProblems(t *testing.T) {
	turns := sample.New(1, noon.Add(-30*24*time.Hour)).Turns(40)
	turns[0].Report.SpeechEnd = noon.Add(-365 * 24 * time.Hour)
	p := shown(t, kept(t, turns))
	for path, want := range map[string]struct {
		status  int
		code    string
		message string
	}{
		"/traces/api/turns?limit=201":                        {400, "bad_limit", "1 to 200"},
		"/traces/api/turns?from=x":                           {400, "bad_cursor", "next"},
		"/traces/api/turns?verdict=late":                     {400, "bad_filter", "met, masked, over, failed, none"},
		"/traces/api/turns?gap=fast":                         {400, "bad_filter", "500ms"},
		"/traces/api/turns?since=a&since=b":                  {400, "bad_filter", "one value"},
		"/traces/api/calls?text=" + strings.Repeat("a", 501): {400, "too_long", "500 bytes"},
		"/traces/api/turns?text=%F0%9F%92%A9":                {400, "bad_filter", "a letter or a digit"},
		"/traces/api/stats?text=%22":                         {400, "bad_filter", "a letter or a digit"},
		"/traces/api/calls?text=*":                           {400, "bad_filter", "a letter or a digit"},
		"/traces/api/turns?text=%00":                         {400, "bad_filter", "a letter or a digit"},
		"/traces/api/turns?foo=bar":                          {400, "unknown_parameter", "\"foo\". There are since, until, call"},
		"/traces/api/calls?a.route=x":                        {400, "unknown_parameter", "from, limit"},
		"/traces/api/stats?limit=5":                          {400, "unknown_parameter", "by, every"},
		"/traces/api/compare?a.x=1":                          {400, "unknown_parameter", "a.since"},
		"/traces/api/compare?route=x":                        {400, "unknown_parameter", "b.route"},
		"/traces/api/names?x":                                {400, "unknown_parameter", "none"},
		"/traces/api/turn?id=a&x=1":                          {400, "unknown_parameter", "There are id."},
		"/traces/api/sound?turn=a":                           {400, "unknown_parameter", "There are id."},
		"/traces/export?format=csv&wrods=no":                 {400, "unknown_parameter", "words"},
		"/traces/api/turns?route=a;verdict=over":             {400, "bad_query", "%3B"},
		"/traces/api/turns?route=%zz":                        {400, "bad_query", "%25"},
		"/traces/export?format=csv;words=no":                 {400, "bad_query", "%3B"},
		"/traces/api/turn":                                   {400, "no_id", "id="},
		"/traces/api/sound":                                  {400, "no_id", "id="},
		"/traces/api/turn?id=resp_nobody":                    {404, "unknown", "There is no turn or call"},
		"/traces/api/sound?id=" + turns[0].ID:                {404, "no_sound", "trace.record"},
		"/traces/api/stats?by=weather":                       {400, "bad_by", "route"},
		"/traces/api/stats?every=1ms":                        {400, "bad_every", "1h"},
		"/traces/api/stats?every=1m":                         {400, "too_many_spans", "longer"},
		"/traces/export?format=pdf":                          {400, "bad_format", "csv"},
		"/traces/nowhere":                                    {404, "no_such_page", "/traces"},
		"/traces/api/compare?b.blame=nobody":                 {400, "bad_filter", "mic, stt, llm, tts"},
	} {
		w := get(p, path)
		var told struct{ Error problem }
		if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil || w.Code != want.status || told.Error.Code != want.code || !strings.Contains(told.Error.Message, want.message) {
			t.Errorf("%.60s: %d %s", path, w.Code, w.Body)
		}
	}
}

// The file comes to be while the page is shown, and may be replaced.
func TestNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traces.db")
	p := shown(t, path)
	if w := get(p, "/traces/api/turns"); w.Code != 404 || !strings.Contains(w.Body.String(), "no_traces") {
		t.Errorf("before there is a file: %d %s", w.Code, w.Body)
	}
	for _, n := range []int{3, 7} {
		rename(t, kept(t, sample.New(uint64(n), noon).Turns(n)), path)
		if got := len(answer[rowsObject](t, p, "/traces/api/turns").Turns); got != n {
			t.Errorf("the file has %d turns, %d are listed", n, got)
		}
	}
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, code := range map[string]string{t.TempDir(): "no_file", empty: "empty_file"} {
		if w := get(shown(t, path), "/traces/api/turns"); w.Code != 503 || !strings.Contains(w.Body.String(), code) || !strings.Contains(w.Body.String(), path) {
			t.Errorf("%s: %d %s", code, w.Code, w.Body)
		}
	}
	none := shown(t, "")
	if w := get(none, "/traces/api/turns"); w.Code != 404 || !strings.Contains(w.Body.String(), "trace.file") {
		t.Errorf("where none are kept: %d %s", w.Code, w.Body)
	}
}

// A question that takes too long ends, and whoever asked hears how to ask for less.
func TestTooSlow(t *testing.T) {
	p := shown(t, kept(t, sample.New(1, noon).Turns(10)))
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	w := httptest.NewRecorder()
	ask := p.slowly(func(context.Context, *http.Request, *store.Store) (any, error) { return nil, errors.New("not reached") })
	p.heavy <- struct{}{}
	_, err := ask(ctx, nil, nil)
	p.fail(w, httptest.NewRequest("GET", "/traces/api/stats", nil), err)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "narrower filter") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get(p, "/traces/export?format=csv"); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "busy") {
		t.Errorf("an export beside it: %d %s", w.Code, w.Body)
	}
}

func TestTagAndGzip(t *testing.T) {
	p := shown(t, kept(t, sample.New(1, noon).Turns(100)))
	for _, path := range []string{"/traces", "/traces/assets/main.js", "/traces/assets/style.css", "/traces/api/turns"} {
		plainly := get(p, path)
		zipped := get(p, path, "Accept-Encoding", "br, gzip")
		z, err := gzip.NewReader(zipped.Body)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		body, err := io.ReadAll(z)
		if err != nil || !bytes.Equal(body, plainly.Body.Bytes()) || len(body) < 500 {
			t.Errorf("%s: zipped and plain differ, %v", path, err)
		}
		tag := plainly.Header().Get("ETag")
		if again := get(p, path, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s: asked again with %s: %d", path, tag, again.Code)
		}
	}
	if w := get(p, "/traces/api/turns"); w.Header().Get("Cache-Control") != "no-store" {
		t.Error("what callers said is left in the browser's cache")
	}
}

func TestExport(t *testing.T) {
	turns := sample.New(1, noon.Add(-time.Hour)).Turns(50)
	p := shown(t, kept(t, turns))
	w := get(p, "/traces/export?format=csv&call="+turns[0].Call)
	if w.Code != 200 || strings.Count(w.Body.String(), "\n") != 11 || !strings.Contains(w.Header().Get("Content-Disposition"), `filename="riposte-turns-20261130-120000.csv"`) {
		t.Errorf("%d %v, %d lines", w.Code, w.Header(), strings.Count(w.Body.String(), "\n"))
	}
	p.Export = nil
	if w := get(p, "/traces/export?format=csv"); w.Code != 400 {
		t.Errorf("without exports: %d", w.Code)
	}
}

// An export that fails before any of it is sent is answered with an error, as all else is; one that fails in its middle ends the connection: what
// came is not taken for the whole.
func TestExportEndsEarly(t *testing.T) {
	p := shown(t, kept(t, sample.New(1, noon).Turns(5)))
	var before int // Bytes that come before the error.
	failure := errors.New("the disk is gone")
	p.Export = func(_ context.Context, to io.Writer, _ Export) error {
		random := rand.NewChaCha8([32]byte{}) // what does not get smaller
		if _, err := io.CopyN(to, random, int64(before)); err != nil {
			return err
		}
		return failure
	}
	server := httptest.NewServer(p)
	defer server.Close()
	for _, encoding := range []string{"gzip", "identity"} {
		ask := func() (*http.Response, []byte, error) {
			r, _ := http.NewRequestWithContext(t.Context(), "GET", server.URL+"/traces/export?format=csv", nil)
			r.Header.Set("Accept-Encoding", encoding)
			reply, err := http.DefaultClient.Do(r)
			if err != nil {
				return nil, nil, err
			}
			defer reply.Body.Close()
			body, err := io.ReadAll(reply.Body)
			return reply, body, err
		}
		before, failure = 3*held, errors.New("the disk is gone")
		if _, _, err := ask(); err == nil {
			t.Errorf("%s: the part was taken for the whole", encoding)
		}
		for _, before = range []int{0, 100} {
			reply, body, err := ask()
			if err != nil {
				t.Fatalf("%s, after %d bytes: %v", encoding, before, err)
			}
			var told struct{ Error problem }
			if err := json.Unmarshal(body, &told); err != nil || reply.StatusCode != http.StatusInternalServerError || told.Error.Code != "failed" ||
				!strings.Contains(told.Error.Message, "the disk is gone") || reply.Header.Get("Content-Disposition") != "" || reply.Header.Get("Content-Type") != "application/json" {
				t.Errorf("%s, after %d bytes: %d %v %s", encoding, before, reply.StatusCode, reply.Header, body)
			}
		}
		failure = context.DeadlineExceeded
		if reply, body, err := ask(); err != nil || reply.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s, too slow: %v %s", encoding, err, body)
		}
	}
	p.Export = func(context.Context, io.Writer, Export) error { return nil }
	if w := get(p, "/traces/export?format=csv", "Accept-Encoding", "gzip"); w.Code != 200 || w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("an empty one: %d %v", w.Code, w.Header())
	}
}
