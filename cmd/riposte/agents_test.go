package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"riposte/audio/opus"
	"riposte/native/nativetest"
	"riposte/stt/wer"
	"riposte/web/browsertest"
)

// clientsRequired is the environment variable that, set to required, has other people's clients tested, which npm has to have installed.
// make test-clients does that, and sets it.
const clientsRequired = "RIPOSTE_TEST_CLIENTS"

// agentsApp serves the application that uses the agents SDK, with the SDK's files as npm has installed them, from an origin of its own. Its
// server has the service's key, and gets client secrets for it by that.
func agentsApp(t *testing.T, key string) (app *httptest.Server, at func(service string)) {
	t.Helper()
	if os.Getenv(clientsRequired) != "required" {
		t.Skip("make test-clients installs the agents SDK, and runs this")
	}
	installed := filepath.Join("..", "..", "build", "clients", "agents", "node_modules")
	if _, err := os.Stat(filepath.Join(installed, "@openai", "agents-realtime")); err != nil {
		t.Fatal("the agents SDK is not installed: ", err)
	}
	var service string
	mux := http.NewServeMux()
	mux.Handle("GET /node_modules/", http.StripPrefix("/node_modules/", http.FileServer(http.Dir(installed))))
	mux.Handle("GET /", http.FileServer(http.Dir(filepath.Join("..", "..", "clients", "agents"))))
	mux.HandleFunc("POST /secret", func(w http.ResponseWriter, r *http.Request) {
		q, err := http.NewRequestWithContext(r.Context(), http.MethodPost, service+"/v1/realtime/client_secrets",
			strings.NewReader(`{"expires_after": {"anchor": "created_at", "seconds": 60}, "session": {"type": "realtime", "model": "gpt-realtime"}}`))
		if err != nil {
			t.Error(err)
			return
		}
		q.Header.Set("Authorization", "Bearer "+key)
		q.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body) // the browser may be gone
	})
	app = httptest.NewServer(mux)
	t.Cleanup(app.Close)
	return app, func(address string) { service = address }
}

// An application with the official agents SDK, as it is published, calls this service from a browser. It asks aloud, interrupts, has a
// tool called, interrupts by a button, forgets, and hangs up. Nothing of what the SDK sends is refused.
func TestAgentsSDK(t *testing.T) {
	const key = "a key of this service"
	app, serviceIs := agentsApp(t, key)
	if err := opus.Check(); err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{"whisper-tiny.en-q8_0", "smollm2-135m-instruct-q8_0", "piper-en_us-joe-medium", "silero-vad"} {
		nativetest.File(t, m)
	}
	s := newService(testSettings(t, "--listen=127.0.0.1:0", "--keys="+key, "--origins="+app.URL, "--trace-file="+filepath.Join(t.TempDir(), "traces.db")), slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})))
	url, stop, err := s.alone(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	url = strings.Replace(url, "ws://", "http://", 1)
	serviceIs(url)
	microphone := microphoneFile(t, s.voice, 3*time.Second, 3500*time.Millisecond)
	b := browsertest.New(t, app.URL,
		browsertest.Flag{Name: "use-fake-device-for-media-stream", Value: true}, browsertest.Flag{Name: "use-fake-ui-for-media-stream", Value: true},
		browsertest.Flag{Name: "use-file-for-fake-audio-capture", Value: microphone + "%noloop"})
	b.Open("/", "window.connect")

	count := func(js string) int { t.Helper(); return browsertest.Ask[int](b, js) }
	words := func(item string) string { t.Helper(); return browsertest.Ask[string](b, "words("+item+")") }
	calm := func(t *testing.T) {
		t.Helper()
		if errs := browsertest.Ask[[]string](b, "errors.splice(0)"); len(errs) > 0 {
			t.Errorf("the SDK tells of errors:\n%s", strings.Join(errs, "\n"))
		}
	}

	connect := func(t *testing.T) {
		browsertest.Ask[bool](b, "(connect('"+url+"/v1/realtime/calls').catch((e) => errors.push(String(e))), true)")
		b.Until("window.session || errors.length")
		calm(t)
		b.Is("the SDK knows the call", "session.transport.status === 'connected' && session.transport.callId.startsWith('rtc_')")
	}
	hangUp := func(t *testing.T) {
		browsertest.Ask[bool](b, "(session.close(), delete window.session)")
		for end := time.Now().Add(5 * time.Second); s.status.Calls() > 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the service still holds the call")
			}
		}
		calm(t)
	}

	b.Step("connect", connect)
	b.Step("question", func(t *testing.T) {
		b.Until("said('user').length && words(said('user')[0])")
		if heard := words("said('user')[0]"); wer.WER(asked, heard).Rate() > 0.3 {
			t.Errorf("the SDK has %q, and %q was said", heard, asked)
		}
		b.Until("events['output_audio_buffer.started'] && sound.loud > 200")
	})
	b.Step("interruption", func(t *testing.T) {
		b.Until("responses.some((r) => r.status === 'cancelled' && r.status_details.reason === 'turn_detected')")
		b.Is("the SDK knows that it was not all", "said('assistant')[0].status === 'incomplete'")
		// Its first word may be taken for all of it, and the SDK be told later that it was not.
		b.Until("said('user').length === 2 && words(said('user')[1]).includes('eat')")
		if heard := words("said('user')[1]"); wer.WER(askedThen, heard).Rate() > 0.45 { // its beginning is said over the answer
			t.Errorf("the SDK has %q, and %q was said", heard, askedThen)
		}
	})
	b.Step("answer", func(t *testing.T) {
		browsertest.Ask[bool](b, "(sound.loud = 0) === 0")
		b.Until("said('assistant').length > 1 && said('assistant').at(-1).status !== 'in_progress' && ['completed', 'incomplete'].includes(responses.at(-1).status) && events['output_audio_buffer.stopped']")
		answer, loud := words("said('assistant').at(-1)"), time.Duration(count("sound.loud"))*time.Millisecond
		t.Logf("%q, %v of sound", answer, loud)
		if loud < time.Duration(len(strings.Fields(answer)))*100*time.Millisecond || len(answer) < 10 { // nobody speaks ten words a second
			t.Errorf("of the answer %q %v were heard", answer, loud)
		}
		calm(t)
	})
	b.Step("interruption by a button", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			window.sounding = events['output_audio_buffer.started']
			session.sendMessage('What do dogs like to eat?')
			return true
		})()`)
		b.Until("events['output_audio_buffer.started'] > sounding")
		browsertest.Ask[bool](b, "(session.interrupt(), true)")
		b.Until("said('assistant').at(-1).status === 'incomplete' && events['output_audio_buffer.cleared']")
		calm(t)
	})
	b.Step("forgetting", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			window.kept = session.history.length - 1
			session.updateHistory((history) => history.filter((i) => i.itemId !== said('user')[0].itemId))
			return true
		})()`)
		b.Until("session.history.length === kept && events['conversation.item.deleted']")
		calm(t)
	})
	b.Step("hang up", hangUp)

	// The model is too small to make much of a call of a tool behind other things: this is another conversation, of somebody who is muted.
	b.Step("connect again", func(t *testing.T) {
		connect(t)
		browsertest.Ask[bool](b, "(session.mute(true), true)")
	})
	b.Step("tool", func(t *testing.T) {
		browsertest.Ask[bool](b, `(() => {
			session.transport.sendMessage('What is the weather like in Paris today?', {}, { triggerResponse: false })
			session.transport.requestResponse({ tool_choice: 'required', max_output_tokens: 120 })
			return true
		})()`)
		b.Until("asked.length")
		called := browsertest.Ask[string](b, "JSON.stringify(asked)")
		t.Logf("called with %s", called)
		var arguments []struct{ City, Unit string }
		if err := json.Unmarshal([]byte(called), &arguments); err != nil || !slices.Contains([]string{"C", "F"}, arguments[0].Unit) {
			t.Errorf("the tool was called with %s: %v", called, err)
		}
		b.Is("the SDK says so", "started.includes('get_weather')")
		b.Until("session.history.some((i) => i.type === 'function_call' && i.output === '21 degrees and sunny')")
		// The SDK asks for the answer with the result by itself.
		b.Until("said('assistant').length && responses.at(-1).status === 'completed' && words(said('assistant').at(-1)).length > 10")
		t.Logf("said %q", words("said('assistant').at(-1)"))
		calm(t)
	})
	b.Step("hang up again", hangUp)
	b.Calm()
	t.Log(browsertest.Ask[string](b, "JSON.stringify(events)"))
}
