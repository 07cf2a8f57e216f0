package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"riposte/llm"
	"riposte/tool"
)

func parameters(names ...string) any {
	properties := map[string]any{}
	for _, n := range names {
		properties[n] = map[string]any{}
	}
	return map[string]any{"type": "object", "properties": properties}
}

func env(name string) (string, bool) { return "s3cret", name == "KEY" }

// call makes a tool of a request and calls it.
func call(t *testing.T, r Request, arguments string) (string, error) {
	t.Helper()
	r.Name = "ask"
	made, err := r.Tool(env)
	if err != nil {
		t.Fatal(err)
	}
	s := tool.Set{Sources: []tool.Source{tool.List{made}}}
	return s.Run(t.Context(), llm.ToolCall{Name: "ask", Arguments: json.RawMessage(arguments)})
}

// Arguments find their places in the address, and the rest goes into the query or the body; no argument leads out of its place.
func TestRequest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.RequestURI, body, r.Header.Get("Authorization"))
	}))
	defer server.Close()
	secret := map[string]string{"Authorization": "Bearer ${KEY}"}
	for _, c := range []struct {
		r               Request
		arguments, want string
	}{
		{Request{URL: "/weather/{city}?unit={unit}", Parameters: parameters("city", "unit")}, `{"city": "New York", "unit": "C&x=1"}`, "GET /weather/New%20York?unit=C%26x%3D1  "},
		{Request{URL: "/weather/{city}", Parameters: parameters("city")}, `{"city": "../../admin?x=#y"}`, "GET /weather/..%2F..%2Fadmin%3Fx=%23y  "},
		{Request{URL: "/list?all=1", Parameters: parameters("page", "tags")}, `{"page": 12345678901234567890, "tags": ["a"]}`, "GET /list?all=1&page=12345678901234567890&tags=%5B%22a%22%5D  "},
		{Request{URL: "/keyed/{id}?key=${KEY}", Parameters: parameters("id")}, `{"id": 7}`, "GET /keyed/7?key=s3cret  "},
		{Request{URL: "/orders/{id}", Method: "post", Headers: secret, Parameters: parameters("id", "note")}, `{"id": 7, "note": "now"}`, `POST /orders/7 {"note":"now"} Bearer s3cret`},
		{Request{URL: "/orders", Method: "PUT", Parameters: parameters()}, `{}`, `PUT /orders {} `},
	} {
		c.r.URL = server.URL + c.r.URL
		if got, err := call(t, c.r, c.arguments); got != strings.TrimSpace(c.want) || err != nil {
			t.Errorf("%s became\n%q, %v; want\n%q", c.arguments, got, err, c.want)
		}
	}
	if got, err := call(t, Request{URL: server.URL + "/a/{b}/c", Parameters: parameters("b")}, `{"b": ".."}`); err == nil {
		t.Errorf("it climbed to %q", got)
	}
}

// Whatever a server answers, the model is told something of a bounded length, and never a secret.
func TestAnswers(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "elsewhere") }))
	defer elsewhere.Close()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			io.WriteString(w, strings.Repeat("word ", 1000))
		case "/endless":
			for range 2000 {
				if _, err := io.WriteString(w, strings.Repeat("a", 1024)); err != nil {
					return
				}
			}
		case "/json":
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			io.WriteString(w, "{\n  \"a\": [1,\n 2]\n}\n")
		case "/lies":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, "not json")
		case "/picture":
			w.Header().Set("Content-Type", "image/png")
			w.Write(make([]byte, 100))
		case "/nothing":
			w.WriteHeader(204)
		case "/broken":
			w.WriteHeader(500)
			io.WriteString(w, "no disk")
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
		case "/here":
			http.Redirect(w, r, "/json", http.StatusFound)
		case "/hangs":
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case "/drops":
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "half")
		}
	}))
	defer server.Close()
	defer close(release)
	for path, want := range map[string]string{
		"/long":    strings.TrimSpace(strings.Repeat("word ", 20))[:99] + "… (the rest is cut off)",
		"/endless": strings.Repeat("a", 99) + "… (the rest is cut off)",
		"/json":    `{"a":[1,2]}`, "/lies": "not json", "/picture": "(100 bytes of image/png)", "/nothing": "Done; there is nothing to read.",
		"/broken": "failed: The tool failed with status 500: no disk",
		"/away":   "unavailable: The tool cannot be reached: it was sent on to another host",
		"/here":   `{"a":[1,2]}`,
		"/hangs":  "timed_out: The tool brought no result within 300ms.",
		"/drops":  "unavailable: The tool cannot be reached: unexpected EOF",
	} {
		r := Request{URL: server.URL + path, Bytes: 99, Parameters: parameters()}
		if path == "/hangs" {
			r.Timeout = 300 * time.Millisecond
		}
		got, err := call(t, r, `{}`)
		if e, ok := errors.AsType[*tool.Error](err); ok {
			got = string(e.Kind) + ": " + e.Text
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: the model reads %q, not %q", path, got, want)
		}
	}
	server.CloseClientConnections()
	elsewhere.Close()
	_, err := call(t, Request{URL: elsewhere.URL + "/?key=abc", Parameters: parameters()}, `{}`)
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.Unavailable || strings.Contains(e.Text, "abc") {
		t.Errorf("of a server that is gone the model reads %v", err)
	}
}

// A request that makes no sense is refused when the service starts, with what to mend.
func TestRefused(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want string
	}{
		{Request{URL: "ftp://example.com"}, "http://"},
		{Request{URL: "http://{host}/a", Parameters: parameters("host")}, "no host"},
		{Request{URL: "http://user:pw@example.com/"}, "no host"},
		{Request{URL: "http://example.com/#a"}, "#"},
		{Request{URL: "http://example.com/{a"}, "{name}"},
		{Request{URL: "http://example.com/{b}", Parameters: parameters("a")}, "none of the parameters"},
		{Request{URL: "http://example.com/", Method: "TRACE"}, "method"},
		{Request{URL: "http://example.com/", Headers: map[string]string{"X": "${NONE}"}}, "NONE"},
		{Request{URL: "http://example.com/", Parameters: map[string]any{"type": "objekt"}}, "object"},
		{Request{URL: "http://example.com/", Timeout: -1}, "negative"},
	} {
		c.r.Name = "ask"
		if _, err := c.r.Tool(env); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, not %q", c.r, err, c.want)
		}
	}
}

// No argument leads to another host, or out of the place that the address gives it.
func FuzzFill(f *testing.F) {
	f.Add("/a/{x}/b?c={y}", "..", "&")
	f.Add("/{x}{y}", "//evil", "@evil")
	f.Add("?{x}={y}", "a", "#")
	f.Fuzz(func(t *testing.T, rest, x, y string) {
		if rest != "" && rest[0] != '/' && rest[0] != '?' {
			return // it would be a part of the host
		}
		parsed, err := parse("https://example.com" + rest)
		if err != nil {
			return
		}
		u, _, err := parsed.fill(map[string]any{"x": x, "y": y})
		if err != nil {
			return
		}
		if u.Scheme != "https" || u.Host != "example.com" || u.User != nil || u.Fragment != "" {
			t.Errorf("%q with %q and %q leads to %v", rest, x, y, u)
		}
	})
}
