package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"riposte/audio"
	"riposte/budget"
	"riposte/budget/trace"
	"riposte/caller"
	"riposte/native/nativetest"
	"riposte/remote"
)

// cloud is a server that hears, answers and speaks, and can be told to have a fault.
type cloud struct {
	URL  string
	says string

	hearing, thinking, speaking atomic.Pointer[http.HandlerFunc] // In place of what it does; nil while it works.
	asked                       atomic.Int32
}

// cloudKey is the key that it asks for.
const cloudKey = "sk-of-the-cloud-0123456789"

// newCloud starts one.
func newCloud(t *testing.T, says string) *cloud {
	c := &cloud{says: says}
	mux := http.NewServeMux()
	on := func(path string, fault *atomic.Pointer[http.HandlerFunc], does http.HandlerFunc) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+cloudKey {
				http.Error(w, `{"error":{"message":"no such key"}}`, http.StatusUnauthorized)
				return
			}
			if fault != nil {
				c.asked.Add(1)
				if f := fault.Load(); f != nil {
					(*f)(w, r)
					return
				}
			}
			does(w, r)
		})
	}
	on("GET /v1/models", nil, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"all"}]}`) })
	on("POST /v1/audio/transcriptions", &c.hearing, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"text":"Should I get a dog or a cat?"}`)
	})
	on("POST /v1/chat/completions", &c.thinking, func(w http.ResponseWriter, _ *http.Request) { c.think(w, c.says, true) })
	on("POST /v1/audio/speech", &c.speaking, func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write(hum(time.Duration(len(body.Input))*70*time.Millisecond, 24000).AppendBytes(nil))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.URL = server.URL + "/v1#all"
	return c
}

// think streams an answer, word by word.
func (c *cloud) think(w http.ResponseWriter, says string, whole bool) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, word := range strings.SplitAfter(says, " ") {
		b, _ := json.Marshal(word)
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", b)
		w.(http.Flusher).Flush()
	}
	if whole {
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}
}

func refuses(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", status) }
}

func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// All three stages are served elsewhere, with others in reserve. Whatever goes wrong there, the caller hears an answer; and without a reserve
// an apology, and the verdict says whose fault it is.
func TestRemoteCalls(t *testing.T) {
	nativetest.File(t, "silero-vad")
	nativetest.ONNXRuntime(t)
	first, spare := newCloud(t, "Get a dog. It is a friend."), newCloud(t, "Take the cat. It is quiet.")
	dir := t.TempDir()
	alone := filepath.Join(dir, "alone.yaml") // By which nobody takes over.
	if err := os.WriteFile(alone, []byte("stt:\n  fallback: \"\"\nllm:\n  hedge: \"\"\ntts:\n  fallback: \"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var logged strings.Builder
	s := newService(testSettings(t, "--stt-model="+first.URL, "--stt-fallback="+spare.URL, "--llm-model="+first.URL, "--llm-hedge="+spare.URL, "--tts-voice="+first.URL,
		"--tts-fallback="+spare.URL, "--stt-key="+cloudKey, "--stt-fallback-key="+cloudKey, "--llm-key="+cloudKey, "--llm-hedge-key="+cloudKey, "--tts-key="+cloudKey,
		"--tts-fallback-key="+cloudKey, "--vad-turn=", "--talk-silence=300ms", "--talk-guesses=0", "--talk-stall=2s", "--remote-failures=1000", "--remote-idle=1s",
		"--budget-stt=2s", "--budget-llm=2s", "--budget-tts=2s", // so that a busy machine is not late for other reasons
		"--talk-apology=Sorry.", "--routes=alone="+alone, "--trace-file=none"), slog.New(slog.NewJSONHandler(&logged, nil)))
	turns := make(turnsEnded, 1)
	s.traces = append(s.traces, turns)
	url, stop, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.rehearsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	cut := func(w http.ResponseWriter, _ *http.Request) {
		first.think(w, "Get a dog. It ", false)
		panic(http.ErrAbortHandler)
	}
	broken := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "audio/pcm")
		_, _ = w.Write(hum(300*time.Millisecond, 24000).AppendBytes(nil))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	busy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }
	for _, tt := range []struct {
		name    string
		route   string
		at      *atomic.Pointer[http.HandlerFunc]
		fault   http.HandlerFunc
		answer  string // That is heard.
		verdict budget.Verdict
		blame   budget.Stage
		long    bool
	}{
		{"all is well", "", nil, nil, first.says, "met", "", false},
		{"the recogniser refuses", "", &first.hearing, refuses(500), first.says, "masked", "stt", false},
		{"the recogniser hangs", "", &first.hearing, hangs, first.says, "masked", "stt", true},
		{"the model refuses", "", &first.thinking, busy, spare.says, "masked", "llm", true},
		{"the model hangs", "", &first.thinking, hangs, spare.says, "masked", "llm", false},
		{"the voice refuses", "", &first.speaking, refuses(503), first.says, "masked", "tts", true},
		{"the voice hangs", "", &first.speaking, hangs, first.says, "masked", "tts", true},
		{"the voice breaks off", "", &first.speaking, broken, first.says, "masked", "tts", false},
		{"all is well alone", "alone", nil, nil, first.says, "met", "", true},
		{"the recogniser refuses alone", "alone", &first.hearing, refuses(500), "Sorry.", "failed", "stt", false},
		{"the model refuses alone", "alone", &first.thinking, refuses(401), "Sorry.", "failed", "llm", true},
		{"the model hangs alone", "alone", &first.thinking, hangs, "Sorry.", "failed", "llm", true},
		{"the model breaks off alone", "alone", &first.thinking, cut, "Get a dog. Sorry.", "failed", "llm", false},
		{"the voice refuses alone", "alone", &first.speaking, refuses(500), "Sorry.", "failed", "tts", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.long && os.Getenv("RIPOSTE_TEST_LONG") == "" {
				t.Skip("RIPOSTE_TEST_LONG is not set: it takes some seconds")
			}
			if tt.at != nil {
				tt.at.Store(&tt.fault)
				defer tt.at.Store(nil)
			}
			c := caller.Caller{URL: url, Model: tt.route, Wait: time.Minute}
			line, err := c.Dial(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer line.Close()
			heard, err := line.Say(t.Context(), brief(t))
			if err != nil && !errors.Is(err, caller.ErrFailed) {
				t.Fatal(err)
			}
			turn := <-turns
			t.Logf("said %q, answered %q after %v, %s %s, %+v", turn.Said, turn.Answer, heard.Gap, turn.Report.Verdict, turn.Report.Blame, turn.Events)
			if r := turn.Report; r.Verdict != tt.verdict || r.Blame != tt.blame {
				t.Errorf("it was %s, to blame %q, want %s and %q: %+v", r.Verdict, r.Blame, tt.verdict, tt.blame, r)
			}
			if turn.Answer != tt.answer {
				t.Errorf("the answer was %q, want %q", turn.Answer, tt.answer)
			}
			if _, ok := audio.FirstAudible(heard.Audio, max(heard.Rate, 1)); !ok && tt.verdict != budget.Failed {
				t.Errorf("nothing of %v was to be heard", heard.Audio.Duration(heard.Rate))
			}
		})
	}
	for path, want := range map[string]string{"/readyz": `{"stage":"llm","model":"all","breaker":"closed"}`, "/metrics": `riposte_remote_requests_total{fate="failed",server="` + first.URL + `",stage="tts"}`} {
		body := get(t, strings.Replace(url, "ws://", "http://", 1)+path)
		if !strings.Contains(body, want) || strings.Contains(body, cloudKey) {
			t.Errorf("%s says %s", path, body)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(logged.String(), cloudKey) {
		t.Error("the log has a key in it")
	}
}

// turnsEnded is a sink for turns alone.
type turnsEnded chan trace.Turn

func (c turnsEnded) TurnEnded(t trace.Turn) { c <- t }
func (turnsEnded) CallBegan(trace.Call)     {}
func (turnsEnded) CallEnded(trace.Call)     {}

// get fetches a page.
func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return string(b)
}

// A service holds calls with another one for its engines: what that hears, thinks and says.
func TestRemoteService(t *testing.T) {
	there := strings.Replace(sharedService(t), "ws://", "http://", 1) + "/v1#"
	s := newService(testSettings(t, "--stt-model="+there+"whisper-tiny.en-q8_0", "--llm-model="+there+"smollm2-135m-instruct-q8_0", "--tts-voice="+there+"piper-en_us-joe-medium",
		"--tts-format=mp3", "--vad-turn=", "--talk-stall=20s", "--remote-idle=20s", "--trace-file=none"), slog.New(slog.DiscardHandler))
	url, stop, err := s.alone(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	turn, err := call(t, url).Say(t.Context(), brief(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("heard %q, answered %q after %v, %+v", turn.Transcript, turn.Answer, turn.Gap, turn.Report)
	if !strings.Contains(strings.ToLower(turn.Transcript), "dog or a cat") || len(strings.Fields(turn.Answer)) < 3 || turn.Report == nil || turn.Report.Verdict == "failed" {
		t.Errorf("heard %q, answered %q, %+v", turn.Transcript, turn.Answer, turn.Report)
	}
	if level := turn.Audio.Level(); turn.Audible < 500*time.Millisecond || level < -45 {
		t.Errorf("%v of sound at %.0f dB", turn.Audible, level)
	}
	checked := 0
	for f := range (&doctorCmd{settings: *s.settings}).remote(t) {
		if checked++; f.err != nil {
			t.Errorf("%s: %v", f.what, f.err)
		}
	}
	if checked != 3 {
		t.Errorf("the doctor has looked for %d servers", checked)
	}
}

// remote yields what the doctor finds of servers.
func (c *doctorCmd) remote(t *testing.T) func(yield func(finding) bool) {
	return func(yield func(finding) bool) {
		for _, check := range c.remoteFindings(t.Context()) {
			if !yield(check()) {
				return
			}
		}
	}
}

// What the settings say of engines elsewhere is checked before anything is asked of them. No error repeats what may be a secret.
func TestRemoteSettings(t *testing.T) {
	for args, want := range map[string]string{
		"--llm-model=http://gpu1:8000/v1":           "llm-model: not the address of a remote model: \"http://gpu1:8000/v1\" does not name the model",
		"--tts-fallback=http://me:secret@gpu1/v1#m": "a key belongs into the setting",
		"--stt-headers=secret":                      "stt-headers: header 1 is not NAME: VALUE",
		"--llm-extra=[secret]":                      "llm-extra is no JSON object",
		"--stt-every=10ms":                          "stt-every is 10ms: it must be 200ms or more",
		"--remote-failures=0":                       "remote-failures is 0",
		"--remote-redials=11":                       "remote-redials is 11",
		"--llm-timeout=-1s":                         "must not be negative",
		"--llm-model=http://127.0.0.1:1/v1#m --remote-ca=/nowhere/ca.pem": "remote-ca: open /nowhere/ca.pem",
	} {
		s, err := parse(t, "", strings.Fields(args)...)
		if err == nil {
			_, err = s.engines(nil, nil, slog.New(slog.DiscardHandler))
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// A route names servers of its own, and does not get the keys of the service's; it may say what else is its own.
func TestRemoteRoutes(t *testing.T) {
	s := testSettings(t, "--llm-model=http://a:1/v1#m", "--llm-key=secret", "--llm-hedge=smollm2-135m-instruct-q8_0", "--tts-voice=http://a:1/v1#v", "--tts-key=secret",
		"--stt-model=http://a:1/v1#s", "--vad-turn=",
		"--routes=b="+routeFile(t, "llm:\n  model: http://b:1/v1#m\n  headers: [X-Team:b]\ntts:\n  speaker: other\n"))
	routes, err := s.openRoutes()
	if err != nil {
		t.Fatal(err)
	}
	b := routes["b"].settings
	if b.LLM.Access.Key != "" || len(b.LLM.Access.Headers) != 1 || b.TTS.Access.Key != "secret" || s.LLM.Access.Key != "secret" {
		t.Errorf("the route has %+v and %+v", b.LLM.Access, b.TTS.Access)
	}
	nativetest.File(t, "smollm2-135m-instruct-q8_0")
	nativetest.LlamaDir(t)
	e := &engines{crews: map[string]*crew{}}
	if err := e.enlist(s, routes, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	own, other := e.crew(defaultRoute), e.crew("b")
	if own.stt != other.stt || own.llm == other.llm || own.hedge != other.hedge || own.tts == other.tts || !own.frugal || len(other.servers) != 3 || len(e.servers) != 4 {
		t.Errorf("the service has %+v, the route %+v, of %d servers", own, other, len(e.servers))
	}
	if _, err := remote.Parse(b.LLM.Model); err != nil || shown(b.LLM.Model) != "m" {
		t.Errorf("%v, shown as %s", err, shown(b.LLM.Model))
	}
}
