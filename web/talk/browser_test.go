package talk

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"riposte/web/browsertest"
)

var about = About{
	Version: "v1", Recogniser: "whisper-tiny.en-q8_0", Model: "smollm2-135m-instruct-q8_0", Voice: "piper-en_us-joe-medium", Routes: []string{"default", "sales"},
	Eagerness: "medium", Speed: 1, Keys: true, WebRTC: true,
}

// fake devices beep, and nobody is asked for them.
var (
	fakeDevices = browsertest.Flag{Name: "use-fake-device-for-media-stream", Value: true}
	fakeConsent = browsertest.Flag{Name: "use-fake-ui-for-media-stream", Value: true}
)

// service serves the page, and answers calls as it is told to.
type service struct {
	*httptest.Server
	asked atomic.Int32
	hung  chan string // IDs of calls that were hung up.
	call  http.HandlerFunc
}

func serve(t *testing.T, about About, call http.HandlerFunc) *service {
	t.Helper()
	page, s := New(about, func(*http.Request) bool { return true }), &service{call: call, hung: make(chan string, 100)}
	mux := http.NewServeMux()
	mux.Handle("GET /test/", http.StripPrefix("/test/", http.FileServer(http.Dir("testdata"))))
	mux.HandleFunc("/v1/realtime/calls", func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		s.call(w, r)
	})
	mux.HandleFunc("POST /v1/realtime/calls/{id}/hangup", func(_ http.ResponseWriter, r *http.Request) { s.hung <- r.PathValue("id") })
	mux.Handle("/", page)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// refuses answers as the service does when it takes no call.
func refuses(w http.ResponseWriter, status int, code, message, retry string) {
	w.Header().Set("Content-Type", "application/json")
	if retry != "" {
		w.Header().Set("Retry-After", retry)
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"error":{"type":"server_error","code":"` + code + `","message":"` + message + `"}}`))
}

func nobody(http.ResponseWriter, *http.Request) {}

func click(b *browsertest.Browser, id string) {
	browsertest.Ask[bool](b, "document.getElementById('"+id+"').click() ?? true")
}

const helped = "document.querySelector('.help')?.dataset.code"

// What the page knows without a page.
func TestLogic(t *testing.T) {
	s := serve(t, about, nobody)
	b := browsertest.New(t, s.URL)
	b.Open("/", "!document.getElementById('traces').hidden")
	browsertest.Ask[bool](b, "(import('/test/logic.js').then((m) => { window.logic = m.run() }, (e) => { window.logic = [0, [String(e)]] })) && true")
	b.Until("window.logic")
	if n := browsertest.Ask[int](b, "window.logic[0]"); n < 25 {
		t.Errorf("only %d tests ran", n)
	}
	for _, wrong := range browsertest.Ask[[]string](b, "window.logic[1]") {
		t.Error(wrong)
	}
	b.Calm()
}

// Somebody whose service is full, and then wants a key, is told so; the settings can be reached and changed by keyboard, and stay.
func TestBrowser(t *testing.T) {
	var s *service
	s = serve(t, about, func(w http.ResponseWriter, r *http.Request) {
		if s.asked.Load() == 1 {
			refuses(w, http.StatusServiceUnavailable, "too_many_calls", "All 8 places are taken.", "1")
			return
		}
		refuses(w, http.StatusUnauthorized, "missing_api_key", "This service asks for a key.", "")
	})
	b := browsertest.New(t, s.URL, fakeDevices, fakeConsent)
	b.Look(1280, 800, "light", "reduce")
	b.Open("/", "!document.getElementById('traces').hidden")
	b.Step("before a call", func(t *testing.T) {
		b.Is("there are landmarks", "['header', 'nav[aria-label]', 'main', 'aside[aria-label]', '[role=status]', '[role=log]', '[role=alert]'].every((s) => document.querySelector(s))")
		b.Is("every field has a label", "[...document.querySelectorAll('input, select, textarea, meter')].every((e) => e.labels.length === 1)")
		b.Is("it is ready", "document.getElementById('phase').textContent === 'Ready'")
		b.Fits("before a call")
		browsertest.Contrasts(b)
	})
	b.Step("full, and then a key", func(t *testing.T) {
		for range 10 {
			b.Keys(kb.Tab)
			if browsertest.Ask[bool](b, "document.activeElement.id === 'talk'") {
				break
			}
		}
		b.Keys(kb.Enter)
		b.Until(helped + " === 'too_many_calls'")
		b.Is("the reason is said", "document.querySelector('.help').textContent.includes('All 8 places are taken. It is tried again in 1 s.')")
		b.Is("the microphone is let go", "document.getElementById('mute').hidden")
		b.Until(helped + " === 'missing_api_key'")
		b.Is("the state is said", "document.getElementById('said').textContent === 'Ended' && document.getElementById('talk').textContent.trim() === 'Talk'")
		browsertest.Contrasts(b)
	})
	b.Step("settings", func(t *testing.T) {
		browsertest.Ask[bool](b, "(document.getElementById('open-settings').focus(), true)")
		b.Keys(kb.Enter)
		b.Until("document.getElementById('settings').open && document.querySelectorAll('[name=microphone] option').length > 1")
		b.Is("routes can be chosen", "[...document.querySelectorAll('[name=route] option')].map((o) => o.textContent).join() === 'default,sales'")
		b.Is("it says what answers", "document.getElementById('models').textContent.includes('smollm2')")
		b.Is("all three are on", "['echo', 'noise', 'gain'].every((n) => document.querySelector(`[name=${n}]`).checked)")
		b.Fits("settings")
		browsertest.Contrasts(b)
		browsertest.Ask[bool](b, `(() => {
			const set = (name, value) => { const e = document.querySelector('[name=' + name + ']'); e[e.type === 'checkbox' ? 'checked' : 'value'] = value; e.dispatchEvent(new Event('input', { bubbles: true })); e.dispatchEvent(new Event('change', { bubbles: true })) }
			set('route', 'sales'); set('echo', false); set('speed', '1.25'); set('eagerness', 'low'); set('instructions', 'Be kind.'); set('key', 'a-key-of-the-service')
			return true
		})()`)
		b.Is("the speed is said", "document.getElementById('speed-is').textContent === '1.25 ×'")
		b.Keys(kb.Escape)
		b.Until("!document.getElementById('settings').open")
		b.Open("/", "!document.getElementById('traces').hidden")
		click(b, "open-settings")
		b.Is("they are kept", "document.querySelector('[name=route]').value === 'sales' && !document.querySelector('[name=echo]').checked && document.querySelector('[name=speed]').value === '1.25' && document.querySelector('[name=instructions]').value === 'Be kind.'")
		b.Is("the key is kept in this tab only", "!localStorage.getItem('riposte.talk').includes('a-key') && sessionStorage.getItem('riposte.talk.key') === 'a-key-of-the-service'")
		b.Look(390, 844, "dark", "reduce")
		b.Fits("settings on a phone")
		browsertest.Contrasts(b)
		b.Is("fingers can hit what is there", "[...document.querySelectorAll('dialog button, dialog select, dialog input:not([type=checkbox]), dialog textarea, .checks label')].every((e) => !e.offsetParent || e.offsetHeight >= 40)")
	})
	b.Step("echo test", func(t *testing.T) {
		click(b, "echo-test")
		b.Until("document.getElementById('echo-state').textContent.startsWith('Recording')")
		b.Until("document.getElementById('echo-state').textContent.startsWith('Playing')")
		b.Until("document.getElementById('echo-state').textContent === 'That was it.'")
	})
	b.Step("what a call begins with", func(t *testing.T) {
		type request struct{ route, key, body string }
		got := make(chan request, 1)
		s.call = func(w http.ResponseWriter, r *http.Request) {
			body := make([]byte, r.ContentLength)
			_, _ = r.Body.Read(body)
			got <- request{r.URL.Query().Get("route"), r.Header.Get("Authorization"), string(body)}
			refuses(w, http.StatusForbidden, "origin_not_allowed", "Pages of elsewhere may not connect.", "")
		}
		b.Open("/#key=another-key-of-it", "!document.getElementById('traces').hidden")
		browsertest.Ask[bool](b, "location.reload() ?? true") // what is behind # alone loads nothing
		b.Until("document.readyState === 'complete' && !document.getElementById('traces').hidden && location.hash === ''")
		click(b, "talk")
		b.Until(helped + " === 'origin_not_allowed'")
		r := <-got
		if r.route != "sales" || r.key != "Bearer another-key-of-it" {
			t.Errorf("a call by the route %q with %q", r.route, r.key)
		}
		for _, want := range []string{`"instructions":"Be kind."`, `"eagerness":"low"`, `"speed":1.25`, `"include":["riposte.turn","riposte.hypothesis","riposte.hold"]`, "opus/48000"} {
			if !strings.Contains(r.body, want) {
				t.Errorf("the call lacks %s: %.300s", want, r.body)
			}
		}
	})
	for _, c := range b.Complaints() {
		if !strings.Contains(c, "Failed to load resource") { // the refusals above
			t.Error(c)
		}
	}
}

// Who hangs up while the service takes the call gives its place back: nothing else would tell the service.
func TestHangsUpWhileCalling(t *testing.T) {
	taken, over := make(chan struct{}), make(chan struct{})
	s := serve(t, about, func(w http.ResponseWriter, r *http.Request) {
		taken <- struct{}{}
		<-over
		w.Header().Set("Location", "/v1/realtime/calls/rtc_early")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"sdp":""}`))
	})
	b := browsertest.New(t, s.URL, fakeDevices, fakeConsent)
	b.Open("/", "!document.getElementById('traces').hidden")
	click(b, "talk")
	<-taken
	click(b, "talk")
	b.Until("document.getElementById('talk').textContent.trim() === 'Talk'")
	close(over)
	select {
	case id := <-s.hung:
		if id != "rtc_early" {
			t.Errorf("%q was hung up", id)
		}
	case <-time.After(time.Minute):
		t.Error("the place was not given back")
	}
	b.Calm()
}

// Who has no microphone, or refuses it, or is on a page that browsers give none, is told how to mend it, and can write.
func TestWithoutMicrophone(t *testing.T) {
	for _, tt := range []struct {
		name, code, says string
		host             string
		flags            []browsertest.Flag
	}{
		{"refused", "NotAllowedError", "allow the microphone", "", []browsertest.Flag{fakeDevices}},
		{"absent", "NotFoundError", "Plug one in", "", []browsertest.Flag{fakeConsent}},
		{"not secure", "insecure", "riposte serve --tls-self-signed", "box.example", []browsertest.Flag{{Name: "host-resolver-rules", Value: "MAP box.example 127.0.0.1"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := serve(t, about, func(w http.ResponseWriter, r *http.Request) {
				refuses(w, http.StatusServiceUnavailable, "loading", "The models are still being loaded.", "60")
			})
			base, err := url.Parse(s.URL)
			if err != nil {
				t.Fatal(err)
			}
			if tt.host != "" {
				base.Host = tt.host + ":" + base.Port()
			}
			b := browsertest.New(t, base.String(), tt.flags...)
			b.Look(390, 844, "light", "reduce")
			b.Open("/", "!document.getElementById('traces').hidden")
			if tt.code == "NotAllowedError" { // a browser without a window asks nobody
				browsertest.Ask[bool](b, "(navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', 'NotAllowedError'))) && true")
			}
			click(b, "talk")
			b.Until(helped + " === '" + tt.code + "'")
			b.Is("it says how to mend it", "document.querySelector('.help').textContent.includes('"+tt.says+"')")
			b.Fits(tt.name)
			browsertest.Contrasts(b)
			if s.asked.Load() != 0 {
				t.Error("a call was asked for")
			}
			browsertest.Ask[bool](b, "(() => { document.getElementById('text').value = 'Hello.'; document.getElementById('write').requestSubmit(); return true })()")
			b.Until(helped + " === 'loading'")
			if s.asked.Load() != 1 {
				t.Error("what was written asked for no call")
			}
		})
	}
}

// Without WebRTC calls go over WebSocket. Where a browser has no sound for that either, which is so for pages that are not secure, it is said.
func TestNoCalls(t *testing.T) {
	without := about
	without.WebRTC = false
	s := serve(t, without, nobody)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	base.Host = "box.example:" + base.Port()
	b := browsertest.New(t, base.String(), browsertest.Flag{Name: "host-resolver-rules", Value: "MAP box.example 127.0.0.1"})
	b.Open("/", "!document.getElementById('traces').hidden")
	browsertest.Ask[bool](b, "(() => { document.getElementById('text').value = 'Hello.'; document.getElementById('write').requestSubmit(); return true })()")
	b.Until(helped + " === 'no_webrtc'")
}
