package traces

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"riposte/budget/trace/sample"
)

func TestAccess(t *testing.T) {
	path := kept(t, sample.New(1, noon).Turns(5))
	for _, tt := range []struct {
		name    string
		access  Access
		from    string
		host    string
		headers []string
		want    int
	}{
		{"this machine", Local, "127.0.0.1:1", "localhost:8080", nil, 200},
		{"this machine by address", Local, "[::1]:1", "[::1]:8080", nil, 200},
		{"this machine, mapped", Local, "[::ffff:127.0.0.1]:1", "127.0.0.1", nil, 200},
		{"another machine", Local, "192.168.1.7:1", "192.168.1.5:8080", nil, 403},
		{"another machine that says localhost", Local, "192.168.1.7:1", "localhost", nil, 403},
		{"a proxy on this machine", Local, "127.0.0.1:1", "localhost", []string{"X-Forwarded-For", "203.0.113.9"}, 403},
		{"a proxy that says how it was asked", Local, "127.0.0.1:1", "localhost", []string{"X-Forwarded-Proto", "https"}, 403},
		{"a proxy that says it empty", Local, "127.0.0.1:1", "localhost", []string{"X-Forwarded-For", ""}, 403},
		{"Cloudflare's tunnel", Local, "127.0.0.1:1", "localhost", []string{"CF-Connecting-IP", "203.0.113.9"}, 403},
		{"a network's proxy", Local, "127.0.0.1:1", "localhost", []string{"True-Client-IP", "203.0.113.9"}, 403},
		{"another's", Local, "127.0.0.1:1", "localhost", []string{"X-Client-IP", "203.0.113.9"}, 403},
		{"Fly's proxy", Local, "127.0.0.1:1", "localhost", []string{"Fly-Client-IP", "203.0.113.9"}, 403},
		{"Envoy", Local, "127.0.0.1:1", "localhost", []string{"X-Envoy-External-Address", "203.0.113.9"}, 403},
		{"what browsers and programs send", Local, "127.0.0.1:1", "localhost", []string{"User-Agent", "curl", "Accept", "*/*", "Traceparent", "00-1", "X-Request-Id", "1"}, 200},
		{"rebound DNS", Local, "127.0.0.1:1", "evil.example:8080", nil, 403},
		{"rebound DNS that looks like localhost", Local, "127.0.0.1:1", "localhost.evil.example", nil, 403},
		{"an address of the machine, locally", Local, "127.0.0.1:1", "192.168.1.5", nil, 403},
		{"a script of another site", Local, "127.0.0.1:1", "localhost:8080", []string{"Origin", "https://evil.example"}, 403},
		{"a script of another port", Local, "127.0.0.1:1", "localhost:8080", []string{"Origin", "http://localhost:3000"}, 403},
		{"a script of nobody", Local, "127.0.0.1:1", "localhost:8080", []string{"Origin", "null"}, 403},
		{"our own script", Local, "127.0.0.1:1", "localhost:8080", []string{"Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"}, 200},
		{"an image of another site", Local, "127.0.0.1:1", "localhost:8080", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		{"all, another machine", All, "192.168.1.7:1", "192.168.1.5:8080", nil, 200},
		{"all, through a proxy", All, "10.0.0.1:1", "voice.example", []string{"X-Forwarded-For", "203.0.113.9"}, 200},
		{"all, rebound DNS", All, "192.168.1.7:1", "evil.example", nil, 403},
		{"off", Off, "127.0.0.1:1", "localhost", nil, 404},
	} {
		p := shown(t, path)
		p.Access, p.Hosts = tt.access, []string{"Voice.example"}
		r := httptest.NewRequest("GET", "http://"+tt.host+"/traces/api/turns", nil)
		r.RemoteAddr = tt.from
		for i := 0; i < len(tt.headers); i += 2 {
			r.Header.Set(tt.headers[i], tt.headers[i+1])
		}
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		if w.Code != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.name, w.Code, tt.want, w.Body)
		}
		if got := p.Shows(r); got != (tt.want == 200) {
			t.Errorf("%s: it is shown: %v", tt.name, got)
		}
		if w.Code != 200 && strings.Contains(w.Body.String(), "said") && !strings.Contains(w.Body.String(), "what callers said") {
			t.Errorf("%s: the refusal tells what was said: %s", tt.name, w.Body)
		}
	}
}

// A link on another site may open the page, which shows nothing to that site, and nothing else.
func TestLinkFromElsewhere(t *testing.T) {
	p := shown(t, kept(t, sample.New(1, noon).Turns(5)))
	opens := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	if w := get(p, "/traces?verdict=over", opens...); w.Code != http.StatusOK {
		t.Errorf("the page: %d", w.Code)
	}
	if w := get(p, "/traces/export?format=csv", opens...); w.Code != http.StatusForbidden {
		t.Errorf("an export: %d", w.Code)
	}
	framed := []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}
	if w := get(p, "/traces", framed...); w.Code != http.StatusForbidden {
		t.Errorf("a frame: %d", w.Code)
	}
}

func TestOnlyReads(t *testing.T) {
	p := shown(t, "")
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "http://localhost/traces/api/turns", nil)
	r.RemoteAddr = "127.0.0.1:1"
	p.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") == "" {
		t.Errorf("POST: %d", w.Code)
	}
}

func TestPolicy(t *testing.T) {
	w := get(shown(t, ""), "/traces")
	got := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(got, want) {
			t.Errorf("the policy lacks %s: %s", want, got)
		}
	}
	if strings.Contains(got, "unsafe") || strings.Contains(got, "*") {
		t.Errorf("the policy is %s", got)
	}
	body := w.Body.String()
	for _, inline := range []string{"<style", "style=", "onclick=", "<script>"} {
		if strings.Contains(body, inline) {
			t.Errorf("the page has %s in it", inline)
		}
	}
}
