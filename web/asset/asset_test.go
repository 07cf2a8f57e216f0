package asset

import (
	"compress/gzip"
	"io"
	"net/http/httptest"
	"testing"
	"testing/fstest"
)

func TestFiles(t *testing.T) {
	const text = "export const answer = 42"
	files := Files(fstest.MapFS{"a.js": {Data: []byte(text)}, "b.svg": {Data: []byte("<svg/>")}})
	if len(files) != 2 || files[0].Name != "a.js" || files[1].Name != "b.svg" {
		t.Fatalf("got %+v", files)
	}
	ask := func(headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/a.js", nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		files[0].ServeHTTP(w, r)
		return w
	}
	plain := ask()
	if plain.Body.String() != text || plain.Header().Get("Content-Type") != "text/javascript; charset=utf-8" || plain.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("got %q with %v", plain.Body, plain.Header())
	}
	tag := plain.Header().Get("ETag")
	for name, want := range map[string]int{tag: 304, "W/" + tag: 304, "*": 304, `"x", ` + tag: 304, `"x"`: 200, "": 200} {
		if got := ask("If-None-Match", name).Code; got != want {
			t.Errorf("whoever has %s is answered with %d, want %d", name, got, want)
		}
	}
	for takes, want := range map[string]string{"gzip": "gzip", "br, gzip;q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0": "", "br": ""} {
		w := ask("Accept-Encoding", takes)
		if got := w.Header().Get("Content-Encoding"); got != want {
			t.Errorf("whoever takes %q gets %q, want %q", takes, got, want)
			continue
		}
		if want == "" {
			continue
		}
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(z); err != nil || string(b) != text {
			t.Errorf("unzipped %q, %v", b, err)
		}
	}
}
