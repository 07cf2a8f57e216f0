package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"riposte/budget/trace"
	"riposte/budget/trace/hook"
)

// hangUp ends a call as clients do.
func (c client) hangUp() {
	_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
}

// What a call came to is kept, printed and told to the webhook, by the prices of its route, whatever wire it came over.
func TestRecords(t *testing.T) {
	type sent struct {
		body   []byte
		signed string
	}
	got := make(chan sent, 4)
	crm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{body, r.Header.Get(hook.SignatureHeader)}
	}))
	defer crm.Close()
	path := filepath.Join(t.TempDir(), "traces.db")
	sales := routeFile(t, "price:\n  call: 0.5\n  input: 0.1\n  output: 1\n")
	s, url := withTools(t, "price:\n  call: 9\n", calling{},
		"--trace-file="+path, "--routes=sales="+sales, "--phone-webhook="+crm.URL, "--phone-webhook-secret=not to be guessed")
	stop := s.keepTraces()
	shut := s.tellCalls()
	c := writing(t, url, "?route=sales")
	c.ask("Hello.")
	c.until("response.done")
	c.ask("Goodbye.")
	c.until("response.done")
	c.hangUp()
	s.calls.Wait()
	shut()
	stop()

	var m struct {
		Event string
		Call  struct {
			ID, Route, Wire, Reason string
			By                      string `json:"ended_by"`
			Turns                   int
			Record                  trace.Record
		}
	}
	hooked := <-got
	if err := json.Unmarshal(hooked.body, &m); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(hooked.signed, ",v1=") {
		t.Errorf("it is signed %q", hooked.signed)
	}
	r := m.Call.Record
	if m.Event != "call.ended" || m.Call.Route != "sales" || m.Call.Wire != "websocket" || m.Call.Reason != "hung_up" || m.Call.By != "caller" || m.Call.Turns != 2 {
		t.Errorf("the webhook is told %s", hooked.body)
	}
	// 0.5 for the call, 2 x 10 tokens read at 0.1 a thousand, 2 x 1 written at 1.
	if r.Input != 20 || r.Output != 2 || r.Cost != 0.504 || r.Currency != "EUR" || r.Consent != trace.NotAsked || r.Recorded {
		t.Errorf("it came to %+v", r)
	}

	out, err := printed(t, "calls", "ls", "--trace-file="+path)
	if err != nil || !strings.Contains(out, m.Call.ID) || !strings.Contains(out, "0.5040") || !strings.Contains(out, "hung_up") {
		t.Errorf("calls ls prints %v\n%s", err, out)
	}
	out, err = printed(t, "calls", "show", m.Call.ID, "--trace-file="+path)
	if err != nil || !strings.Contains(out, "0.504 EUR") || !strings.Contains(out, "20 read") || !strings.Contains(out, "by the caller") {
		t.Errorf("calls show prints %v\n%s", err, out)
	}
	out, err = printed(t, "calls", "export", "--trace-file="+path)
	if err != nil || len(strings.Split(strings.TrimSpace(out), "\n")) != 2 || !strings.Contains(out, ",0.504,EUR,") {
		t.Errorf("calls export prints %v\n%s", err, out)
	}
	out, err = printed(t, "calls", "export", "--format=json", "route=default", "--trace-file="+path)
	if err != nil || out != "" {
		t.Errorf("of another route there are %v\n%s", err, out)
	}
	page, shutPage := s.openPage()
	defer shutPage()
	w := httptest.NewRecorder()
	ask := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/traces/api/calls?format=csv&route=sales", nil)
	ask.RemoteAddr = "127.0.0.1:1234"
	page.ServeHTTP(w, ask)
	if w.Code != 200 || !strings.Contains(w.Body.String(), m.Call.ID) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/csv") {
		t.Errorf("the page answers %d %v\n%s", w.Code, w.Header(), w.Body)
	}
}

// Numbers are kept as the settings say; the webhook has them whole.
func TestNumbersMasked(t *testing.T) {
	for _, masked := range []bool{false, true} {
		args := []string{}
		want := "+493012345678"
		if masked {
			args, want = append(args, "--trace-numbers=masked"), "+49xxxxxxxx78"
		}
		s, _ := telling(t, args...)
		var sink told
		s.traces = append(s.traces, &sink)
		_, r := s.begin(t.Context(), &telephone{}, defaultRoute, s.settings)
		r.end(nil)
		for _, c := range append(sink.began, sink.ended...) {
			if c.Record.From != want || c.Record.Line != "far-1" {
				t.Errorf("masked %v: %+v is kept", masked, c.Record)
			}
		}
		if r.sum.From != "+493012345678" {
			t.Errorf("the call itself knows %q", r.sum.From)
		}
	}
}
