package talk

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func get(path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "http://localhost"+path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	New(About{Version: "v1", Model: "m", Routes: []string{"default", "sales"}, WebRTC: true}, func(r *http.Request) bool { return r.Header.Get("X-Sees") != "" }).ServeHTTP(w, r)
	return w
}

func TestPage(t *testing.T) {
	w := get("/")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Fatalf("the page: %d %v", w.Code, w.Header())
	}
	page := w.Body.String()
	for _, inline := range []string{"<style", "style=", "<script>", "javascript:", "http:", "https:"} {
		if strings.Contains(page, inline) {
			t.Errorf("the page has %s in it", inline)
		}
	}
	if regexp.MustCompile(`\son[a-z]+=`).MatchString(page) {
		t.Error("the page has a handler in it")
	}
	tag := w.Header().Get("ETag")
	if again := get("/", "If-None-Match", tag); tag == "" || again.Code != http.StatusNotModified || again.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("again, with the tag %s: %d %v", tag, again.Code, again.Header())
	}
}

// Whatever the page has is embedded, and each of its parts leads to parts that there are.
func TestParts(t *testing.T) {
	names, err := fs.Glob(files, "page/*")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d parts, %v", len(names), err)
	}
	asked := regexp.MustCompile(`"(/talk/assets/[^"]+)"|'(\./[^']+)'|'(/talk/assets/[^']+)'`)
	for _, name := range names {
		name = strings.TrimPrefix(name, "page/")
		path := "/talk/assets/" + name
		if name == "index.html" {
			path = "/"
		}
		w := get(path)
		if w.Code != http.StatusOK || strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") || w.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %q", path, w.Code, w.Header().Get("Content-Type"))
		}
		for _, m := range asked.FindAllStringSubmatch(w.Body.String(), -1) {
			wanted := strings.Replace(m[1]+m[2]+m[3], "./", "/talk/assets/", 1)
			if got := get(wanted); got.Code != http.StatusOK {
				t.Errorf("%s wants %s: %d", path, wanted, got.Code)
			}
		}
	}
}

func TestNothingElse(t *testing.T) {
	for _, path := range []string{
		"/talk", "/talk/", "/talk/assets/", "/talk/assets/index.html", "/talk/assets/../talk.go", "/talk/assets/%2e%2e/talk.go", "/talk/assets/..%2ftalk.go",
		"/talk/assets/page/main.js", "/talk.go", "/etc/passwd", "/index.html",
	} {
		if w := get(path); w.Code == http.StatusOK {
			t.Errorf("%s is answered: %.80s", path, w.Body)
		}
	}
	r := httptest.NewRequest("POST", "http://localhost/talk/service", strings.NewReader("{}"))
	w := httptest.NewRecorder()
	New(About{}, nil).ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestPolicy(t *testing.T) {
	for _, path := range []string{"/", "/talk/assets/main.js", "/talk/service", "/talk/nothing"} {
		h := get(path).Header()
		got := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: the policy lacks %s: %s", path, want, got)
			}
		}
		if strings.Contains(got, "unsafe") || strings.Contains(got, "*") {
			t.Errorf("%s: the policy is %s", path, got)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(h.Get("Permissions-Policy"), "microphone=(self)") || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: the headers are %v", path, h)
		}
	}
}

func TestService(t *testing.T) {
	w := get("/talk/service")
	var got About
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.Model != "m" || !got.WebRTC || got.Traces || !slices.Equal(got.Routes, []string{"default", "sales"}) || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("got %+v with %v", got, w.Header())
	}
	if w := get("/talk/service", "X-Sees", "them"); !strings.Contains(w.Body.String(), `"traces":true`) {
		t.Errorf("who may see traces is told %s", w.Body)
	}
}
